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

// ledger is the objects whose creation was acknowledged, with the time of that.
type ledger struct {
	patience time.Duration // with one request

	mu      sync.Mutex
	acked   map[string]time.Time
	pause   time.Duration  // the longest between two acknowledgments of one writer
	refused map[string]int // answers other than the expected ones, by reason
}

func newLedger(patience time.Duration) *ledger {
	return &ledger{patience: patience, acked: map[string]time.Time{}, refused: map[string]int{}}
}

// tries repeats a request until it succeeds or ctx ends.
func (l *ledger) tries(ctx context.Context, do func(ctx context.Context) error) bool {
	for ctx.Err() == nil {
		soon, cancel := context.WithTimeout(ctx, l.patience)
		err := do(soon)
		cancel()
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			l.mu.Lock()
			l.refused[reason(err)]++
			l.mu.Unlock()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// reason is a word for an error.
func reason(err error) string {
	if r := apierrors.ReasonForError(err); r != metav1.StatusReasonUnknown {
		return string(r)
	}
	return "no answer"
}

// write creates objects until ctx ends, each attempt with the client that comes next.
func (l *ledger) write(ctx context.Context, writer string, client func() *kubernetes.Clientset) {
	last := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(writer, "-", i)}}
		if !l.tries(ctx, func(ctx context.Context) error {
			_, err := client().CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) { // of an attempt without an answer
				return nil
			}
			return err
		}) {
			return
		}
		l.mu.Lock()
		l.acked[object.Name] = time.Now()
		l.pause = max(l.pause, time.Since(last))
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
	l := newLedger(time.Second) // a server that does not answer in that time is left for the next one
	any := func() *kubernetes.Clientset {
		all := clients()
		return all[rand.IntN(len(all))]
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() { l.write(writing, fmt.Sprint("w", i), any) })
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
	t.Logf("%d writes, the longest pause of a writer was %s", len(l.acked), l.pause)
	if len(l.acked) < 100 {
		t.Errorf("%d writes are too few to tell", len(l.acked))
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
		for name := range l.acked {
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
