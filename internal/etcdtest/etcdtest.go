// Package etcdtest runs upstream's etcd for tests, of the module tools/etcd: members on free ports of
// loopback.
package etcdtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest/member"
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

// program builds the program, once in a process.
var program = sync.OnceValues(func() (string, error) {
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
	return launch(t, t.TempDir(), append([]string{"-dir", t.TempDir()}, arguments...))[0].URL
}

// Client is a client of an etcd, which ends with the test.
func Client(t testing.TB, url string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Cluster starts an etcd with some members, which end with the test.
func Cluster(t testing.TB, size int) []*member.Member {
	t.Helper()
	return launch(t, t.TempDir(), member.Names(size)...)
}

// launch starts members in a working directory, each with its arguments, and waits until they serve.
func launch(t testing.TB, dir string, arguments ...[]string) (all []*member.Member) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	logs := make([]bytes.Buffer, len(arguments))
	for i, own := range arguments {
		m, err := member.Start(path, dir, &logs[i], own...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Stop)
		all = append(all, m)
	}
	for i, m := range all {
		if err := m.Await(); err != nil {
			t.Fatalf("%v\n%s", err, &logs[i])
		}
	}
	return all
}
