// Package etcdtest runs upstream's etcd for tests, of the module tools/etcd: members on free ports of
// loopback.
package etcdtest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Run runs the tests of a package, for its TestMain, and removes what Start has built.
func Run(m *testing.M) int {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(filepath.Dir(built))
	}
	return code
}

// built is the path of the program once it is there.
var built string

// member builds the program, once in a process.
var member = sync.OnceValues(func() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	dir, err := os.MkdirTemp("", "etcd-member-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "etcd")
	source := filepath.Join(filepath.Dir(file), "..", "..", "tools", "etcd")
	if text, err := exec.Command("go", "-C", source, "build", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	built = path
	return path, nil
})

// Start starts an etcd that ends with the test, and returns its URL. The arguments are those of
// tools/etcd.
func Start(t testing.TB, arguments ...string) string {
	t.Helper()
	m := launch(t, t.TempDir(), arguments)
	m.await(t)
	return m.URL
}

// Member is a member of an etcd with several.
type Member struct {
	URL     string
	process *os.Process
	said    *bufio.Reader
	log     bytes.Buffer
}

// Cluster starts an etcd with some members, which end with the test.
func Cluster(t testing.TB, size int) (all []*Member) {
	t.Helper()
	var names []string
	for i := range size {
		names = append(names, fmt.Sprint("m", i))
	}
	dir := t.TempDir()
	for _, name := range names {
		all = append(all, launch(t, dir, []string{"-name", name, "-members", strings.Join(names, ",")}))
	}
	for _, m := range all {
		m.await(t)
	}
	return all
}

// PID is the number of the member's process.
func (m *Member) PID() int { return m.process.Pid }

// Pause has the member hang until Resume: its connections stay open, and it answers nothing.
func (m *Member) Pause() error { return m.process.Signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (m *Member) Resume() error { return m.process.Signal(syscall.SIGCONT) }

// launch starts a member in a working directory. It ends with the test.
func launch(t testing.TB, dir string, arguments []string) *Member {
	t.Helper()
	path, err := member()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, append([]string{"-dir", t.TempDir()}, arguments...)...)
	m := &Member{}
	c.Dir, c.Stderr = dir, &m.log
	stop, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	m.process, m.said = c.Process, bufio.NewReader(said)
	t.Cleanup(func() { _ = m.Resume(); _ = stop.Close(); _ = c.Wait() })
	return m
}

// await waits until the member serves.
func (m *Member) await(t testing.TB) {
	t.Helper()
	url, err := m.said.ReadString('\n')
	if err != nil {
		t.Fatalf("etcd does not start: %v\n%s", err, m.log.String())
	}
	m.URL = strings.TrimSpace(url)
}
