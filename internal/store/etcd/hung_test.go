package etcd_test

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// longestOutage bounds the time for which a hung member of etcd stops reads and writes: 3 s, which make
// stress asks for. Elsewhere the machine may be busy with other tests.
var longestOutage = func() time.Duration {
	if os.Getenv("CAPSTAN_STRESS") != "" {
		return 3 * time.Second
	}
	return 15 * time.Second
}()

// TestHungMember: a member of etcd that hangs, each one in turn, stops reads and writes for a moment
// only. No read is stale, no write is lost, and the lead among servers lasts, or begins anew.
func TestHungMember(t *testing.T) {
	members := etcdtest.Cluster(t, 3)
	var urls []string
	for _, m := range members {
		urls = append(urls, m.URL)
	}
	var engines []*etcd.Engine
	for range 2 {
		engines = append(engines, openWith(t, urls[0], func(c *etcd.Config) { c.Endpoints = urls }))
	}
	ctx, stop := context.WithCancel(t.Context())
	var leads atomic.Bool
	var leading sync.WaitGroup
	leading.Go(func() {
		engines[1].Lead(ctx, "task", func(led context.Context) {
			leads.Store(true)
			<-led.Done()
			leads.Store(false)
		})
	})
	defer leading.Wait()
	defer stop()
	w := work{t: t, writer: engines[0]}
	for i, m := range members {
		if err := m.Pause(); err != nil {
			t.Fatal(err)
		}
		w.run(engines)
		soon(t, longestOutage, "the server leads", leads.Load)
		opened := time.Now()
		third, err := etcd.Open(t.Context(), etcd.Config{Endpoints: urls, Prefix: "/registry", Form: raw{}, Replica: store.Config{Dir: "replica", FS: vfs.NewMem()}})
		if took := time.Since(opened); err != nil || took > longestOutage {
			t.Errorf("while member %d hangs a server opens in %v, %v", i, took, err)
		}
		if err == nil {
			_ = third.Close()
		}
		if err := m.Resume(); err != nil {
			t.Fatal(err)
		}
		if _, err := etcdtest.Client(t, m.URL).Get(t.Context(), "a", clientv3.WithCountOnly()); err != nil { // it is one of the cluster again
			t.Fatal(err)
		}
	}
	w.run(engines)
}

// soon waits for something that has to be so within a time.
func soon(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("not within %v: %s", within, what)
			return
		}
	}
}

// work counts in a key, and compares what servers read with it.
type work struct {
	t                      *testing.T
	writer                 *etcd.Engine
	acknowledged, attempts atomic.Int64
}

// run works for a while.
func (w *work) run(readers []*etcd.Engine) {
	end := time.Now().Add(3 * time.Second)
	var all sync.WaitGroup
	all.Go(func() {
		for time.Now().Before(end) {
			w.soon("write", w.write)
		}
	})
	for _, reader := range readers {
		for range 2 {
			all.Go(func() {
				for time.Now().Before(end) {
					w.soon("read", func() error { return w.read(reader) })
				}
			})
		}
	}
	all.Wait()
}

// soon tries until there is an answer, which has to come soon.
func (w *work) soon(what string, try func() error) {
	begin, tries := time.Now(), 1
	err := try()
	for ; err != nil && time.Since(begin) < 2*longestOutage; tries++ {
		err = try()
	}
	if took := time.Since(begin); err != nil || took > longestOutage {
		w.t.Errorf("a %s takes %v and %d attempts, %v", what, took, tries, err)
	}
}

func (w *work) write() error {
	var n int
	_, err := w.writer.Update(w.t.Context(), "count", func(current *store.Entry) (store.Write, error) {
		op := store.OpCreate
		if n = 1; current != nil {
			before, _ := storetest.Number(w.t, current.Body)
			op, n = store.OpUpdate, before+1
		}
		return store.Write{Op: op, Value: storetest.Body(n)}, nil
	})
	w.attempts.Add(1)
	if err == nil {
		if before := w.acknowledged.Swap(int64(n)); int64(n) <= before {
			w.t.Errorf("the write of %d is lost", before)
		}
	}
	return err
}

func (w *work) read(reader *etcd.Engine) error {
	before := w.acknowledged.Load()
	if before == 0 {
		return nil
	}
	e, err := reader.Get(w.t.Context(), "count")
	if err != nil {
		return err
	}
	if n, _ := storetest.Number(w.t, e.Body); int64(n) < before || int64(n) > w.attempts.Load()+1 {
		w.t.Errorf("%d is read after %d was written", n, before)
	}
	return nil
}
