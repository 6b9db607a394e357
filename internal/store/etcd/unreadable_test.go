package etcd_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// sees lists the keys that scans and reads of a view find, with the key at which they fail.
func sees(t *testing.T, s store.Store, revision uint64) string {
	t.Helper()
	r, err := s.At(t.Context(), revision)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var scans []string
	for _, scan := range []func(visit func(e *store.Entry) bool) error{
		func(visit func(e *store.Entry) bool) error { return r.Scan(t.Context(), "k/", "", visit) },
		func(visit func(e *store.Entry) bool) error { return r.ScanMeta(t.Context(), "k/", "", visit) },
		func(visit func(e *store.Entry) bool) error {
			return r.GetEach(t.Context(), []string{"k/a", "k/b", "k/c"}, visit)
		},
	} {
		var all []string
		err := scan(func(e *store.Entry) bool {
			all = append(all, strings.Clone(e.Key))
			return true
		})
		var unreadable *store.UnreadableError
		if errors.As(err, &unreadable) {
			all = append(all, "!"+unreadable.Key)
		} else if err != nil {
			t.Fatal(err)
		}
		scans = append(scans, strings.Join(all, " "))
	}
	if scans[0] != scans[1] || scans[0] != scans[2] {
		t.Errorf("scans of values, of headers, and reads of keys differ: %q", scans)
	}
	n, err := r.Count(t.Context(), "k/", "")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(scans[0], ", ", n)
}

// TestUnreadable: a value that cannot be read is an error of its key, and of scans that reach it,
// until it is written again or discarded; in the past, after a restart, in a new replica and after
// a compaction, too.
func TestUnreadable(t *testing.T) {
	url, fs := etcdtest.Start(t), vfs.NewMem()
	e, c := open(t, url, fs), etcdtest.Client(t, url)
	defer func() { _ = e.Close() }()
	for i, key := range []string{"k/a", "k/b", "k/c"} {
		put(t, e, key, i)
	}
	foreign := func(key string) {
		t.Helper()
		if _, err := c.Put(t.Context(), "/registry/"+key, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when, want string) {
		t.Helper()
		if got := sees(t, e, 0); got != want {
			t.Errorf("%s: %s, expected %s", when, got, want)
		}
	}
	before := e.Current()
	foreign("k/b")
	expect("a value became unreadable", "k/a !k/b, 3")
	if got := sees(t, e, before); got != "k/a k/b k/c, 3" {
		t.Errorf("before: %s", got)
	}
	var unreadable *store.UnreadableError
	if _, err := e.Get(t.Context(), "k/b"); !errors.As(err, &unreadable) || unreadable.Key != "k/b" || unreadable.Revision != before+1 {
		t.Errorf("a read: %v", err)
	}
	for _, key := range []string{"k/a", "k/c"} {
		if _, err := e.Get(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	if _, err := e.Update(t.Context(), "k/b", func(*store.Entry) (store.Write, error) {
		return store.Write{Op: store.OpCreate, Value: storetest.Body(3)}, nil
	}); !errors.As(err, &unreadable) {
		t.Errorf("a create over it: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, url, fs)
	expect("after a restart", "k/a !k/b, 3")
	var log bytes.Buffer
	other := openWith(t, url, func(c *etcd.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if got := sees(t, other, 0); got != "k/a !k/b, 3" || !strings.Contains(log.String(), "/registry/k/b") {
		t.Errorf("a new replica: %s, log %s", got, &log)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	discard(t, e, "k/b")
	expect("discarded", "k/a k/c, 2")
	put(t, e, "k/b", 4)
	foreign("k/b")
	expect("unreadable again", "k/a !k/b, 3")
	if _, err := c.Delete(t.Context(), "/registry/k/b"); err != nil {
		t.Fatal(err)
	}
	expect("deleted by others", "k/a k/c, 2")
	foreign("k/b")
	rewrite(t, c, "k/b", 5)
	expect("written by others", "k/a k/b k/c, 3")
	foreign("k/a")
	foreign("k/c")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, c, "k/a", 6)
	foreign("k/b")
	answer, err := c.Get(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	compact(t, url, uint64(answer.Header.Revision))
	e = open(t, url, fs)
	expect("after a compaction", "k/a !k/b, 3")
	discard(t, e, "k/b")
	expect("the first one is discarded", "k/a !k/c, 2")
}

// rewrite writes a value as another server does.
func rewrite(t *testing.T, c *clientv3.Client, key string, n int) {
	t.Helper()
	data, err := raw{}.Encode(key, storetest.Body(n))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "/registry/"+key, string(data)); err != nil {
		t.Fatal(err)
	}
}

// discard removes a value that cannot be read.
func discard(t *testing.T, s store.Store, key string) {
	t.Helper()
	if _, err := s.Update(store.Discarding(t.Context()), key, func(current *store.Entry) (store.Write, error) {
		if current == nil || !current.Unreadable {
			t.Errorf("a transaction that discards sees %v", current)
			return store.Write{}, store.ErrNotFound
		}
		return store.Write{Op: store.OpDelete, Value: store.Value{Body: []byte(`"last"`), RevisionAt: -1}}, nil
	}); err != nil {
		t.Fatal(err)
	}
}
