package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// put creates or updates a key.
func put(t *testing.T, s store.Store, key string, n int) store.Entry {
	t.Helper()
	e, err := s.Update(t.Context(), key, func(current *store.Entry) (store.Write, error) {
		w := store.Write{Op: store.OpCreate, Value: storetest.Body(n)}
		if current != nil {
			w.Op = store.OpUpdate
		}
		return w, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// remove deletes a key.
func remove(t *testing.T, s store.Store, key string) {
	t.Helper()
	if _, err := s.Update(t.Context(), key, func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{}, store.ErrNotFound
		}
		return store.Write{Op: store.OpDelete, Value: store.Value{Body: current.Body, RevisionAt: -1}}, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// state is all entries of the newest state.
func state(t *testing.T, s store.Store) (all []string) {
	t.Helper()
	r, err := s.At(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if err := r.Scan(t.Context(), "", "", func(e *store.Entry) bool {
		all = append(all, storetest.Text(*e))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTwoServers: what one server writes the other reads at once.
func TestTwoServers(t *testing.T) {
	url := etcdtest.Start(t)
	one, other := open(t, url, vfs.NewMem()), open(t, url, vfs.NewMem())
	defer func() {
		if err := errors.Join(one.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	}()
	for n := range 50 {
		by, reader := one, other
		if n%2 == 1 {
			by, reader = other, one
		}
		written := put(t, by, "a/key", n)
		if got, err := reader.Get(t.Context(), "a/key"); err != nil || storetest.Text(got) != storetest.Text(written) {
			t.Fatalf("the other server reads %s, %v, written was %s", storetest.Text(got), err, storetest.Text(written))
		}
	}
	remove(t, one, "a/key")
	if _, err := other.Get(t.Context(), "a/key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the other server finds a deleted key: %v", err)
	}
	// A decision without a write is made on the newest state, too.
	put(t, one, "a/key", 1)
	refused := errors.New("it exists")
	if _, err := other.Update(t.Context(), "a/key", func(current *store.Entry) (store.Write, error) {
		if current != nil {
			return store.Write{}, refused
		}
		return store.Write{Op: store.OpCreate, Value: storetest.Body(2)}, nil
	}); !errors.Is(err, refused) {
		t.Errorf("a create of what exists gives %v", err)
	}
}

// TestCountTogether: servers count in one key, and in two keys together.
func TestCountTogether(t *testing.T) {
	url := etcdtest.Start(t)
	servers := []store.Store{open(t, url, vfs.NewMem()), open(t, url, vfs.NewMem()), open(t, url, vfs.NewMem())}
	count := func(current *store.Entry) store.Write {
		if current == nil {
			return store.Write{Op: store.OpCreate, Value: storetest.Body(1)}
		}
		n, _ := storetest.Number(t, current.Body)
		return store.Write{Op: store.OpUpdate, Value: storetest.Body(n + 1)}
	}
	var all sync.WaitGroup
	for _, s := range servers {
		for range 3 {
			all.Go(func() {
				for range 20 {
					_, err := s.UpdateAll(t.Context(), []string{"b", "a"}, func(current []*store.Entry) ([]store.Write, error) {
						return []store.Write{count(current[0]), count(current[1])}, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	for _, s := range servers {
		for _, key := range []string{"a", "b"} {
			e, err := s.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if n, at := storetest.Number(t, e.Body); n != 180 || at != e.Revision {
				t.Errorf("%s has counted %d at %d, revision %d", key, n, at, e.Revision)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReadSetsOfServers: a write whose read set another server has changed is not made.
func TestReadSetsOfServers(t *testing.T) {
	url := etcdtest.Start(t)
	one, other := open(t, url, vfs.NewMem()), open(t, url, vfs.NewMem())
	defer func() { _, _ = one.Close(), other.Close() }()
	namespace := put(t, one, "namespaces/shop", 1)
	create := func(key string, seen ...store.Seen) error {
		_, err := one.Update(t.Context(), key, func(*store.Entry) (store.Write, error) {
			return store.Write{Op: store.OpCreate, Value: storetest.Body(1), Seen: seen}, nil
		})
		return err
	}
	if err := create("pods/shop/a", store.Seen{Key: "namespaces/shop", Revision: namespace.Revision}); err != nil {
		t.Fatal(err)
	}
	remove(t, other, "namespaces/shop")
	if err := create("pods/shop/b", store.Seen{Key: "namespaces/shop", Revision: namespace.Revision}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a create in a namespace that is gone gives %v", err)
	}
	empty := one.Current()
	if err := create("pods/other/a", store.Seen{Key: "quotas/other/", Revision: empty, Collection: true}); err != nil {
		t.Errorf("an empty collection that stays empty: %v", err)
	}
	put(t, other, "quotas/other/q", 1)
	if err := create("pods/other/b", store.Seen{Key: "quotas/other/", Revision: empty, Collection: true}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a create beside a new quota gives %v", err)
	}
}

// TestReplicaComesBack: a replica that was closed takes over what it missed, also when etcd has
// compacted it.
func TestReplicaComesBack(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted %v", compacted), func(t *testing.T) {
			url, fs := etcdtest.Start(t), vfs.NewMem()
			one, other := open(t, url, fs), open(t, url, vfs.NewMem())
			defer func() { _ = other.Close() }()
			for i := range 300 {
				put(t, one, fmt.Sprintf("k/%03d", i), i)
			}
			before := one.Current()
			if err := one.Close(); err != nil {
				t.Fatal(err)
			}
			for i := range 250 {
				put(t, other, fmt.Sprintf("k/%03d", i), 1000+i)
			}
			remove(t, other, "k/299")
			remove(t, other, "k/298")
			put(t, other, "k/298", 5)
			put(t, other, "new", 6)
			if compacted {
				compact(t, url, other.Current())
			}
			one = open(t, url, fs)
			defer func() { _ = one.Close() }()
			if got, want := state(t, one), state(t, other); !slices.Equal(got, want) {
				t.Errorf("the replica has\n%q\nthe other\n%q", got, want)
			}
			_, err := one.Changes(t.Context(), "", before, func(*store.Change) bool { return true })
			if trimmed := new(store.TrimmedError); errors.As(err, &trimmed) != compacted {
				t.Errorf("the changes since the end: %v", err)
			}
			put(t, one, "new", 7)
			if got, err := other.Get(t.Context(), "new"); err != nil || string(got.Meta) != "meta-7" {
				t.Errorf("%s, %v", storetest.Text(got), err)
			}
		})
	}
}

func compact(t *testing.T, url string, revision uint64) {
	t.Helper()
	c := etcdtest.Client(t, url)
	if _, err := c.Compact(context.Background(), int64(revision), clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
}

// TestForeignKeys: keys of others move etcd's revision, and are not shown.
func TestForeignKeys(t *testing.T) {
	url := etcdtest.Start(t)
	e := open(t, url, vfs.NewMem())
	defer func() { _ = e.Close() }()
	c := etcdtest.Client(t, url)
	put(t, e, "a", 1)
	for _, key := range []string{"/registry/foreign/x", "/elsewhere"} {
		if _, err := c.Put(t.Context(), key, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(t, e); len(got) != 1 {
		t.Errorf("state %q", got)
	}
	var log bytes.Buffer
	again := openWith(t, url, func(c *etcd.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if got := state(t, again); len(got) != 1 || strings.Contains(log.String(), "foreign") {
		t.Errorf("a new replica has %q, and says %s", got, &log)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	put(t, e, "b", 2)
	if got := state(t, e); len(got) != 2 {
		t.Errorf("state %q", got)
	}
}

// TestMemberIsDown: a member that answers is enough, and none is an error that names all.
func TestMemberIsDown(t *testing.T) {
	const down = "http://127.0.0.1:1"
	config := etcd.Config{Endpoints: []string{down, etcdtest.Start(t)}, Prefix: "/registry", Form: raw{}, Timeout: time.Second,
		Replica: store.Config{Dir: "replica", FS: vfs.NewMem()}}
	e, err := etcd.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	put(t, e, "a", 1)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	config.Endpoints = []string{down}
	if _, err := etcd.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), down+" does not answer") {
		t.Errorf("without a member: %v", err)
	}
}
