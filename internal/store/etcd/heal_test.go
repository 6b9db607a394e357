package etcd_test

import (
	"context"
	"errors"
	"strings"
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

// guarded are values whose keys a service guards: all of keys that begin with "k/b".
type guarded struct {
	raw
	service *atomic.Int32
}

// States of the service.
const (
	answers int32 = iota
	silent
	refuses
)

func (g guarded) Decode(key string, data []byte) (store.Value, error) {
	if state := g.service.Load(); state != answers && strings.HasPrefix(key, "k/b") {
		return store.Value{}, &store.KeyError{Refused: state == refuses, Err: errors.New("no key")}
	}
	return g.raw.Decode(key, data)
}

// guardedServer is a server of which the test rules the service.
func guardedServer(t *testing.T, url string, state int32, change func(*etcd.Config)) (*etcd.Engine, *atomic.Int32) {
	service := new(atomic.Int32)
	service.Store(state)
	return openWith(t, url, func(c *etcd.Config) {
		c.Form, c.Timeout, c.Patience = guarded{service: service}, 500*time.Millisecond, 200*time.Millisecond
		change(c)
	}), service
}

// history are the changes of the keys of a test, once the newest state is shown.
func history(t *testing.T, e *etcd.Engine) string {
	t.Helper()
	if _, err := e.Newest(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all []string
	if _, err := e.Changes(t.Context(), "k/", e.Oldest(), func(c *store.Change) bool {
		all = append(all, string("?+~-"[c.Op])+strings.Clone(c.Entry.Key))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestReplicaWaitsForKeys: while the service of a value's key gives no answer, the replica goes no further,
// and nobody sees the state before as the newest one. After that nothing is missing, and nothing was deleted.
func TestReplicaWaitsForKeys(t *testing.T) {
	url := etcdtest.Start(t)
	writer := open(t, url, vfs.NewMem())
	defer func() { _ = writer.Close() }()
	e, service := guardedServer(t, url, answers, func(*etcd.Config) {})
	put(t, writer, "k/b", 1)
	if _, err := e.Get(t.Context(), "k/b"); err != nil {
		t.Fatal(err)
	}
	service.Store(silent)
	put(t, writer, "k/b", 2)
	put(t, writer, "k/c", 3)
	waiting, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := e.Get(waiting, "k/c"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a newest read while the replica waits: %v", err)
	}
	for range 100 { // the watch begins anew again and again meanwhile
		if err := e.Healthy(); err == nil || !strings.Contains(err.Error(), "no key") {
			t.Fatalf("the health says %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	service.Store(answers)
	eventually(t, "the service is back", func() bool { return e.Healthy() == nil })
	if got := history(t, e); got != "+k/b ~k/b +k/c" {
		t.Error(got)
	}
}

// TestRefusedKeys: a value whose service goes on refusing its key is unreadable, with all others served. When it
// can be read it is touched, which views and watches of each server show.
func TestRefusedKeys(t *testing.T) {
	url := etcdtest.Start(t)
	c := etcdtest.Client(t, url)
	writer := open(t, url, vfs.NewMem())
	defer func() { _ = writer.Close() }()
	e, service := guardedServer(t, url, refuses, func(*etcd.Config) {})
	lease, err := c.Grant(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	value, err := raw{}.Encode("k/b", storetest.Body(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "/registry/k/b", string(value), clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	put(t, writer, "k/c", 2)
	eventually(t, "the service is back", func() bool { return e.Healthy() == nil && e.Current() >= writer.Current() })
	if got := sees(t, e, 0); !strings.HasPrefix(got, "!k/b") {
		t.Error(got)
	}
	before, err := writer.Get(t.Context(), "k/b")
	if err != nil {
		t.Fatal(err)
	}
	service.Store(answers)
	eventually(t, "the service is back", func() bool { _, err := e.Get(t.Context(), "k/b"); return err == nil })
	after, err := e.Get(t.Context(), "k/b")
	if err != nil || after.Revision == before.Revision || string(after.Body) == string(before.Body) {
		t.Errorf("%v, revision %d after %d", err, after.Revision, before.Revision)
	}
	if got := history(t, e); got != "+k/c +k/b" {
		t.Errorf("the server that could not read: %s", got)
	}
	if got := history(t, writer); got != "+k/b +k/c ~k/b" {
		t.Errorf("the server that could: %s", got)
	}
	if left, err := c.TimeToLive(t.Context(), lease.ID, clientv3.WithAttachedKeys()); err != nil || len(left.Keys) != 1 {
		t.Errorf("the touched value has lost its lease: %v, %v", left, err)
	}
}

// TestLoadWithoutKeys: a new replica waits for keys for a time, then serves all others.
func TestLoadWithoutKeys(t *testing.T) {
	url := etcdtest.Start(t)
	writer := open(t, url, vfs.NewMem())
	defer func() { _ = writer.Close() }()
	for i, key := range []string{"k/a", "k/b", "k/c"} {
		put(t, writer, key, i)
	}
	e, service := guardedServer(t, url, silent, func(*etcd.Config) {})
	if got := sees(t, e, 0); got != "k/a !k/b, 3" {
		t.Errorf("without keys: %s", got)
	}
	service.Store(answers)
	eventually(t, "the service is back", func() bool { return sees(t, e, 0) == "k/a k/b k/c, 3" })
	soon := new(atomic.Int32)
	soon.Store(silent)
	time.AfterFunc(100*time.Millisecond, func() { soon.Store(answers) })
	patient := openWith(t, url, func(c *etcd.Config) { c.Form, c.Patience = guarded{service: soon}, time.Minute })
	if got := sees(t, patient, 0); got != "k/a k/b k/c, 3" {
		t.Errorf("after a wait: %s", got)
	}
}
