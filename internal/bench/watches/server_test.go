package watches

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// serverVariable makes the test binary the server that is measured: its memory
// and its CPU time are then its own.
const serverVariable = "CAPSTAN_BENCH_SERVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverVariable); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs until its input ends.
func serve(dir string) error {
	cfg := server.Config{DataDir: dir, TokenAuthFile: filepath.Join(dir, "tokens.csv"), Controllers: []string{"-*"}}
	s, err := server.Start(context.Background(), cfg)
	if err != nil {
		return err
	}
	fmt.Println(strings.TrimPrefix(s.URL(), "https://"))
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return s.Shutdown(ctx)
}

// instance is a server in a process of its own.
type instance struct {
	t       *testing.T
	pid     int
	address string
	client  *http.Client // for short requests
}

const token = "bench-token"

func start(t *testing.T) *instance {
	t.Helper()
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("takes a machine of its own for some seconds: make bench-watches")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(token+",admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &instance{t: t, pid: cmd.Process.Pid, address: strings.TrimSpace(address), client: &http.Client{Transport: transport, Timeout: time.Minute}}
}

const (
	collection = "/api/v1/namespaces/default/configmaps"
	object     = collection + "/a"
)

// send sends a request and returns the answer, which must be a success.
func (s *instance) send(method, path, contentType, body string) []byte {
	s.t.Helper()
	req, err := http.NewRequest(method, "https://"+s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", contentType)
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode > 299 {
		s.t.Fatalf("%s %s: %d %v %s", method, path, resp.StatusCode, err, text)
	}
	return text
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
