package scale

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/etcdtest/member"
)

// binary is the measured server: a process with memory and CPU time of its own.
var binary string

func TestMain(m *testing.M) {
	if dir := os.Getenv("CAPSTAN_FLOOR"); dir != "" {
		log.Fatal(serveFloor(dir))
	}
	if os.Getenv("CAPSTAN_STRESS") == "" {
		os.Exit(m.Run()) // every test skips itself
	}
	dir, err := os.MkdirTemp("", "capstan-scale")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "capstan")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir, "github.com/capstan-dev/capstan/server/cmd/capstan", "github.com/capstan-dev/capstan/server/cmd/capstan-etcd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = etcdtest.Run(m)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// instance is a server in a process of its own.
type instance struct {
	t         *testing.T
	token     string // of the user who sends requests
	cmd       *exec.Cmd
	started   time.Time
	pid       int
	etcd      *member.Member // that the server is on; nil for none
	address   string
	transport *http.Transport
	client    *http.Client // for short requests
}

// The tokens of an administrator, and of a user in the group developers.
const (
	token     = "bench-token"
	userToken = "user-token"
)

func start(t *testing.T) *instance {
	t.Helper()
	s := startOn(t, t.TempDir())
	t.Cleanup(s.stop)
	return s
}

// startOn starts a server on a directory, which may have been used before. The
// caller stops it.
func startOn(t *testing.T, dir string, flags ...string) *instance {
	t.Helper()
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("takes a machine of its own for some minutes: make bench-scale")
	}
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",admin,1,system:masters\n"+userToken+",ann,2,developers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return launch(t, exec.Command(binary, append([]string{"serve", "--data-dir", dir, "--secure-port", "0", "--token-auth-file", tokens}, flags...)...))
}

// startFloor starts a floor on a folder, or on the etcd with a URL. The caller stops it.
func startFloor(t *testing.T, place string) *instance {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CAPSTAN_FLOOR="+place)
	return launch(t, cmd)
}

// launch starts a server, and returns when it listens.
func launch(t *testing.T, cmd *exec.Cmd) *instance {
	t.Helper()
	s := &instance{t: t, token: token, started: time.Now(), cmd: cmd}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = s.cmd.Process.Pid
	lines := bufio.NewScanner(out)
	for s.address == "" && lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), " listens on https://"); ok {
			s.address = address
		}
	}
	if s.address == "" {
		t.Fatal("the server did not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	s.transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 64}
	s.client = &http.Client{Transport: s.transport, Timeout: time.Minute}
	return s
}

// kill ends a server that keeps nothing.
func (s *instance) kill() {
	s.transport.CloseIdleConnections()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// stop ends the server as an operator would.
func (s *instance) stop() {
	s.transport.CloseIdleConnections()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v", err)
	}
}

const (
	collection = "/api/v1/namespaces/default/configmaps"
	object     = collection + "/a"
)

// send sends a request and returns the answer, which must be a success.
func (s *instance) send(method, path, contentType, body string) []byte {
	s.t.Helper()
	text, err := s.exchange(method, path, body, map[string]string{"Content-Type": contentType, "Authorization": "Bearer " + token})
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// try sends a JSON request; only a failed answer matters.
func (s *instance) try(method, path, body string) error {
	_, err := s.exchange(method, path, body, map[string]string{"Content-Type": "application/json"})
	return err
}

// exchange sends a request with those headers that have a value, and returns the answer to a
// success.
func (s *instance) exchange(method, path, body string, headers map[string]string) ([]byte, error) {
	resp, err := s.ask(method, path, body, headers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(resp.Body)
}

// ask is exchange for a caller that reads the answer.
func (s *instance) ask(method, path, body string, headers map[string]string) (*http.Response, error) {
	req, err := http.NewRequest(method, "https://"+s.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	for name, value := range headers {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := s.client.Do(req)
	if err == nil && resp.StatusCode > 299 {
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		err = fmt.Errorf("%s %s: %s %.300s", method, path, resp.Status, text)
	}
	return resp, err
}

// settled is the stable memory of the server in KiB, after a run of the collector, which
// an idle server has every two minutes.
func settled(s *instance) float64 {
	s.t.Helper()
	s.send(http.MethodGet, "/debug/pprof/heap?gc=1", "", "")
	last := s.resident()
	for still, tries := 0, 0; still < 8 && tries < 80; tries++ {
		time.Sleep(250 * time.Millisecond)
		now := s.resident()
		if still++; now < last*0.999 {
			still = 0
		}
		last = now
	}
	return last
}

// filler makes the object about 2 KiB.
var filler = strings.Repeat("0123456789abcdef", 120)

// create makes the watched object and returns its revision.
func (s *instance) create() uint64 {
	s.t.Helper()
	return s.revision(s.send("POST", collection, "application/json", `{"metadata":{"name":"a"},"data":{"n":"0","filler":"`+filler+`"}}`))
}

// update changes the object and returns its revision.
func (s *instance) update(n int) uint64 {
	s.t.Helper()
	return s.revision(s.send("PATCH", object, "application/merge-patch+json", fmt.Sprintf(`{"data":{"n":"%d"}}`, n)))
}

func (s *instance) revision(text []byte) uint64 {
	s.t.Helper()
	var o struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(text, &o); err != nil {
		s.t.Fatal(err)
	}
	rev, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return rev
}

// revisionOf finds the revision in a line of a watch, 0 when there is none.
func revisionOf(line []byte) uint64 {
	_, after, _ := bytes.Cut(line, []byte(`"resourceVersion":"`))
	digits, _, _ := bytes.Cut(after, []byte(`"`))
	rev, _ := strconv.ParseUint(string(digits), 10, 64)
	return rev
}

// resident is the memory of the server's process, in KiB.
func (s *instance) resident() float64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		s.t.Skipf("needs Linux: %v", err)
	}
	_, after, _ := bytes.Cut(text, []byte("VmRSS:"))
	fields := bytes.Fields(after)
	if len(fields) == 0 {
		s.t.Fatal("the kernel does not say how much memory the process has")
	}
	kib, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return kib
}

// cpu is the CPU time of the server's process so far.
func (s *instance) cpu() time.Duration {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		s.t.Skipf("needs Linux: %v", err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// dial opens a watch over HTTP/1.1 on a connection of its own and returns its
// lines.
func (s *instance) dial(after string) (*bufio.Reader, io.Closer, error) {
	conn, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return nil, nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s?watch=1&timeoutSeconds=3000%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: application/json\r\nUser-Agent: bench\r\n\r\n", collection, after, token)
	return bufio.NewReaderSize(conn, 4<<10), conn, err
}
