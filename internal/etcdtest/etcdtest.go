// Package etcdtest runs upstream's etcd for tests: one member on a free port of loopback, of the
// module tools/etcd.
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

// Start starts an etcd that ends with the test, and returns its URL.
func Start(t testing.TB) string {
	t.Helper()
	path, err := member()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "-dir", t.TempDir())
	var log bytes.Buffer
	c.Stderr = &log
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
	t.Cleanup(func() { _ = stop.Close(); _ = c.Wait() })
	url, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatalf("etcd does not start: %v\n%s", err, log.String())
	}
	return strings.TrimSpace(url)
}
