package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capstan-dev/capstan/internal/etcdtest"
)

// etcdServers are the processes of servers on one etcd.
type etcdServers struct {
	t   *testing.T
	url string // of etcd
	dir string
	all []*instance
}

// startOnEtcd starts servers on a new etcd. They have the certificates of the first one.
func startOnEtcd(t *testing.T, n int) *etcdServers {
	t.Helper()
	s := &etcdServers{t: t, url: etcdtest.Start(t), dir: t.TempDir()}
	program := filepath.Join(binaries.dir, "capstan-etcd") // which capstan starts
	build := exec.Command("go", "build", "-ldflags", noSymbols, "-o", program, "./server/cmd/capstan-etcd")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building capstan-etcd: %v\n%s", err, out)
	}
	t.Setenv("PATH", binaries.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for i := range n {
		s.all = append(s.all, nil)
		s.start(i)
	}
	t.Cleanup(func() {
		for _, one := range s.all {
			if err := one.stop(); err != nil {
				t.Errorf("capstan: %v\n%s", err, one.log.String())
			}
		}
	})
	return s
}

// start starts a server, for the first time or again.
func (s *etcdServers) start(i int) {
	s.t.Helper()
	one, err := start(filepath.Join(s.dir, fmt.Sprint(i)), "--etcd-servers", s.url, "--cert-dir", filepath.Join(s.dir, "pki"))
	if err != nil {
		s.t.Fatal(err)
	}
	one.awaitReady(s.t)
	s.all[i] = one
}

// ledger is the names of the objects whose creation was acknowledged.
type ledger struct {
	mu      sync.Mutex
	names   map[string]bool
	longest time.Duration // between two acknowledgments of one writer
}

// write creates objects through the servers in turn, until ctx ends. A server that does not answer in
// a second is left for the next one.
func (l *ledger) write(ctx context.Context, writer int, clients func() []*kubernetes.Clientset) {
	last := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("w%d-%d", writer, i)
		for ctx.Err() == nil {
			all := clients()
			soon, cancel := context.WithTimeout(ctx, time.Second)
			_, err := all[rand.IntN(len(all))].CoreV1().ConfigMaps("default").Create(soon, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			cancel()
			if err == nil || apierrors.IsAlreadyExists(err) { // of an attempt without an answer
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		l.names[name] = true
		l.longest = max(l.longest, time.Since(last))
		l.mu.Unlock()
		last = time.Now()
	}
}

// TestServersOnEtcd: servers on one etcd are killed and paused while clients write through all of
// them. No acknowledged write is lost, and the controllers go on.
func TestServersOnEtcd(t *testing.T) {
	s := startOnEtcd(t, 3)
	ctx := testContext(t)
	var mu sync.Mutex
	clients := func() (all []*kubernetes.Clientset) {
		mu.Lock()
		defer mu.Unlock()
		for _, one := range s.all {
			all = append(all, one.client(t))
		}
		return all
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	l := &ledger{names: map[string]bool{}}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() { l.write(writing, i, clients) })
	}
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	for i := range 2 { // the first one leads the controllers
		wait(500 * time.Millisecond)
		if err := s.all[i].cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-s.all[i].exited
		wait(500 * time.Millisecond)
		again := &etcdServers{t: t, url: s.url, dir: s.dir, all: make([]*instance, len(s.all))}
		again.start(i)
		mu.Lock()
		s.all[i] = again.all[i]
		mu.Unlock()
	}
	paused := s.all[0].cmd.Process
	if err := paused.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait(4 * time.Second) // longer than the lease of a leader
	for i, one := range s.all[1:] {
		name := fmt.Sprint("paused-", i)
		if _, err := one.client(t).CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		for _, err := one.client(t).CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{}); err != nil; _, err = one.client(t).CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{}) {
			if ctx.Err() != nil {
				t.Fatalf("no server runs the controllers: %v", err)
			}
			wait(50 * time.Millisecond)
		}
	}
	if err := paused.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wait(time.Second)
	stop()
	writers.Wait()
	t.Logf("%d writes, the longest pause of a writer was %s", len(l.names), l.longest)
	if len(l.names) < 100 {
		t.Errorf("%d writes are too few to tell", len(l.names))
	}
	for i, c := range clients() {
		list, err := c.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, object := range list.Items {
			found[object.Name] = true
		}
		for name := range l.names {
			if !found[name] {
				t.Errorf("server %d lacks %s, whose creation was acknowledged", i, name)
			}
		}
	}
	for i, one := range s.all {
		if text := one.log.String(); strings.Contains(text, "panic") {
			t.Errorf("server %d: %s", i, text)
		}
	}
}
