package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// openWith opens a store with further settings.
func openWith(t *testing.T, url string, change func(*etcd.Config)) *etcd.Engine {
	t.Helper()
	config := etcd.Config{Endpoints: []string{url}, Prefix: "/registry", Form: raw{}, Replica: store.Config{Dir: "replica", FS: vfs.NewMem()}}
	change(&config)
	e, err := etcd.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 seconds: %s", what)
		}
	}
}

// TestLead: one server leads at a time. When it has lost the lead, as after a pause, its writes for
// the task are not made, and another server leads.
func TestLead(t *testing.T) {
	url := etcdtest.Start(t)
	one, other := openWith(t, url, func(*etcd.Config) {}), openWith(t, url, func(*etcd.Config) {})
	ctx, stop := context.WithCancel(t.Context())
	leads := make(chan context.Context)
	var leading sync.WaitGroup
	for _, e := range []*etcd.Engine{one, other} {
		leading.Go(func() {
			e.Lead(ctx, "task", func(led context.Context) {
				leads <- led
				<-led.Done()
			})
		})
	}
	first := <-leads
	select {
	case <-leads:
		t.Fatal("two servers lead")
	case <-time.After(100 * time.Millisecond):
	}
	write := func(led context.Context, e *etcd.Engine, key string) error {
		_, err := e.Update(led, key, func(*store.Entry) (store.Write, error) {
			return store.Write{Op: store.OpCreate, Value: storetest.Body(1)}, nil
		})
		return err
	}
	if err := write(first, one, "a"); err != nil {
		t.Error(err)
	}
	// The lease ends as that of a server which is paused.
	if _, err := etcdtest.Client(t, url).Delete(t.Context(), "/registry/capstan/leads/task"); err != nil {
		t.Fatal(err)
	}
	second := <-leads
	if err := write(context.WithoutCancel(first), one, "b"); !errors.Is(err, etcd.ErrLost) {
		t.Errorf("a write of the server that lost the lead: %v", err)
	}
	if err := write(second, other, "b"); err != nil {
		t.Error(err)
	}
	stop()
	leading.Wait()
}

// TestLives: values vanish some time after their last write, others stay, and few leases do for all.
func TestLives(t *testing.T) {
	url := etcdtest.Start(t)
	e := openWith(t, url, func(c *etcd.Config) {
		c.Reuse = time.Second
		c.Lives = func(key string) time.Duration {
			if strings.HasPrefix(key, "events/") {
				return time.Second
			}
			return 0
		}
	})
	put(t, e, "pods/a", 1)
	for _, key := range []string{"events/a", "events/b", "events/c"} {
		put(t, e, key, 1)
	}
	leases, err := etcdtest.Client(t, url).Leases(t.Context())
	if err != nil || len(leases.Leases) > 2 {
		t.Errorf("%d leases, %v", len(leases.Leases), err)
	}
	eventually(t, "events vanish", func() bool { return len(state(t, e)) == 1 })
	if got := state(t, e); !strings.HasPrefix(got[0], "pods/a@") {
		t.Errorf("what is left: %q", got)
	}
}

// TestCompaction: two servers compact the history together, and go on.
func TestCompaction(t *testing.T) {
	url := etcdtest.Start(t)
	var all []*etcd.Engine
	for range 2 {
		all = append(all, openWith(t, url, func(c *etcd.Config) { c.Compaction = 100 * time.Millisecond }))
	}
	first := put(t, all[0], "a", 1)
	c := etcdtest.Client(t, url)
	eventually(t, "the history is compacted", func() bool {
		put(t, all[1], "a", 2)
		_, err := c.Get(t.Context(), "a", clientv3.WithRev(int64(first.Revision)))
		return errors.Is(err, rpctypes.ErrCompacted)
	})
	put(t, all[0], "b", 3)
	if one, other := state(t, all[0]), state(t, all[1]); !slices.Equal(one, other) || len(one) != 2 {
		t.Errorf("%q and %q", one, other)
	}
}

// TestPresent: all servers that live have a record.
func TestPresent(t *testing.T) {
	url := etcdtest.Start(t)
	one, other := openWith(t, url, func(*etcd.Config) {}), openWith(t, url, func(*etcd.Config) {})
	for range 2 {
		if _, err := one.Present(t.Context(), "192.0.2.1", storetest.Body(1)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := other.Present(t.Context(), "192.0.2.2", storetest.Body(1)); err != nil || !slices.Equal(all, []string{"192.0.2.1", "192.0.2.2"}) {
		t.Errorf("%q, %v", all, err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if all, err := other.Present(t.Context(), "192.0.2.2", storetest.Body(1)); err != nil || !slices.Equal(all, []string{"192.0.2.2"}) {
		t.Errorf("after the end of one: %q, %v", all, err)
	}
}

// proxy is a way to etcd that can be cut, in each direction.
type proxy struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	cut  [2]chan struct{} // by direction: not nil while nothing passes; closed when it does again
	open map[net.Conn]bool
}

// The directions of a proxy.
const (
	toEtcd = iota
	fromEtcd
)

// turn leads to another etcd, and breaks all connections.
func (p *proxy) turn(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = strings.TrimPrefix(url, "http://")
	for c := range p.open {
		_ = c.Close()
	}
}

func newProxy(t *testing.T, url string) (*proxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: strings.TrimPrefix(url, "http://"), open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p, "http://" + l.Addr().String()
}

func (p *proxy) serve(c net.Conn) {
	p.mu.Lock()
	to := p.to
	p.open[c] = true
	p.mu.Unlock()
	up, err := net.Dial("tcp", to)
	if err != nil {
		_ = c.Close()
		return
	}
	go p.copy(up, c, toEtcd)
	p.copy(c, up, fromEtcd)
}

func (p *proxy) copy(to, from net.Conn, direction int) {
	defer func() { _ = errors.Join(to.Close(), from.Close()) }()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if wait := p.waits(direction); wait != nil {
			<-wait
		}
		if _, failed := to.Write(b[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (p *proxy) waits(direction int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[direction]
}

// pass cuts directions, or lets them pass again.
func (p *proxy) pass(on bool, directions ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range directions {
		if on {
			close(p.cut[d])
			p.cut[d] = nil
		} else {
			p.cut[d] = make(chan struct{})
		}
	}
}

// TestCutOff: a server that is cut off from etcd, in one direction or in both, answers no read of the
// newest state, and acknowledges no write; reads of any state go on. Afterwards it has what others wrote
// meanwhile.
func TestCutOff(t *testing.T) {
	for name, directions := range map[string][]int{"both": {toEtcd, fromEtcd}, "to etcd": {toEtcd}, "from etcd": {fromEtcd}} {
		t.Run(name, func(t *testing.T) { cutOff(t, directions) })
	}
}

func cutOff(t *testing.T, directions []int) {
	url := etcdtest.Start(t)
	p, way := newProxy(t, url)
	one := openWith(t, way, func(c *etcd.Config) { c.Timeout = 300 * time.Millisecond })
	other := openWith(t, url, func(*etcd.Config) {})
	put(t, one, "a", 1)
	p.pass(false, directions...)
	put(t, other, "a", 2)
	if e, err := one.Get(t.Context(), "a"); err == nil {
		t.Errorf("a newest read without etcd: %s", storetest.Text(e))
	}
	if _, err := one.Newest(t.Context()); err == nil {
		t.Error("the newest revision is known without etcd")
	}
	follows := !slices.Contains(directions, fromEtcd) // what etcd says still arrives
	if e, err := one.Get(store.Stale(t.Context()), "a"); err != nil || !follows && !strings.Contains(storetest.Text(e), `"n":1`) {
		t.Errorf("a read of any state: %s, %v", storetest.Text(e), err)
	}
	if _, err := one.Update(t.Context(), "b", func(*store.Entry) (store.Write, error) {
		return store.Write{Op: store.OpCreate, Value: storetest.Body(3)}, nil
	}); err == nil {
		t.Error("a write without etcd is acknowledged")
	}
	p.pass(true, directions...)
	eventually(t, "etcd is reached again", func() bool {
		e, err := one.Get(t.Context(), "a")
		return err == nil && strings.Contains(storetest.Text(e), `"n":2`)
	})
}

// TestOtherEtcd: a server whose etcd was replaced by another one, as by one that was restored from an
// old backup, serves nothing from its replica, and writes nothing.
func TestOtherEtcd(t *testing.T) {
	old, restored := etcdtest.Start(t), etcdtest.Start(t)
	p, way := newProxy(t, old)
	e := openWith(t, way, func(c *etcd.Config) { c.Timeout = 2 * time.Second })
	for n := range 5 {
		put(t, e, "a", n)
	}
	p.turn(restored)
	eventually(t, "the server is not well", func() bool {
		if _, err := e.Newest(t.Context()); err == nil {
			t.Fatal("the state before is the newest")
		}
		return strings.Contains(fmt.Sprint(e.Healthy()), "restart this server")
	})
	if got, err := e.Get(t.Context(), "a"); err == nil {
		t.Errorf("a read: %s", storetest.Text(got))
	}
	if got, err := e.Get(store.Stale(t.Context()), "a"); err == nil {
		t.Errorf("a read of any state: %s", storetest.Text(got))
	}
	if _, err := e.Update(t.Context(), "b", func(*store.Entry) (store.Write, error) {
		return store.Write{Op: store.OpCreate, Value: storetest.Body(3)}, nil
	}); err == nil {
		t.Error("a write is acknowledged")
	}
	again := openWith(t, way, func(*etcd.Config) {})
	if got := state(t, again); len(got) != 0 {
		t.Errorf("after a restart: %q", got)
	}
}
