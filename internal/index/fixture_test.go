package index

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/store"
)

// fixture is a store in memory, an index of it, and a clock that tests set.
type fixture struct {
	testing.TB
	*Index
	store store.Store
	now   time.Time
	told  func() // called when the index asks for the time
}

func open(tb testing.TB, cfg Config, wrap func(store.Store) store.Store) *fixture {
	tb.Helper()
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		tb.Fatal(err)
	}
	f := &fixture{TB: tb, store: s, now: time.Unix(1e9, 0)}
	cfg.Clock = func() time.Time {
		if f.told != nil {
			f.told()
		}
		return f.now
	}
	if cfg.Bits == nil {
		cfg.Bits = bitPerByte
	}
	given := f.store
	if wrap != nil {
		given = wrap(s)
	}
	f.Index = New(given, cfg)
	tb.Cleanup(func() {
		f.Index.Close()
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return f
}

func bitPerByte(meta []byte) (bits [2]uint64) {
	for _, c := range meta {
		bits[c%2] |= 1 << (c / 2 % 64)
	}
	return bits
}

func headers(v View, prefix, from string, need [2]uint64) (list []string) {
	v.Scan(prefix, from, need, func(key string, meta []byte) bool {
		list = append(list, key+"="+string(meta))
		return true
	})
	return list
}

func (f *fixture) put(key, meta string) uint64 {
	f.Helper()
	e, err := f.store.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		w := store.Write{Op: store.OpUpdate, Value: store.Value{Meta: []byte(meta), Body: []byte("the object"), RevisionAt: -1}}
		if current == nil {
			w.Op = store.OpCreate
		}
		return w, nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return e.Revision
}

func (f *fixture) remove(key string) uint64 {
	f.Helper()
	e, err := f.store.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{}, nil
		}
		return store.Write{Op: store.OpDelete, Value: store.Value{Meta: current.Meta, Body: current.Body, RevisionAt: -1}}, nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return e.Revision
}

// check takes a view and compares it with a scan of the store at its revision.
// It reports whether there was a view.
func (f *fixture) check(prefix, from string) bool {
	f.Helper()
	acknowledged := f.store.Current()
	v, ok := f.View(context.Background(), prefix)
	if !ok {
		return false
	}
	if v.Revision() < acknowledged {
		f.Errorf("the view is at %d, %d was acknowledged before", v.Revision(), acknowledged)
	}
	for _, need := range [][2]uint64{{}, f.cfg.Bits([]byte("1")), f.cfg.Bits([]byte("no"))} {
		got, want := headers(v, prefix, from, need), f.scan(v.Revision(), prefix, from, need)
		if !slices.Equal(got, want) {
			f.Errorf("%q from %q at %d with bits %b:\n got %q\nwant %q", prefix, from, v.Revision(), need, got, want)
		}
	}
	return true
}

func (f *fixture) scan(revision uint64, prefix, from string, need [2]uint64) (list []string) {
	r, err := f.store.At(context.Background(), revision)
	if err != nil {
		f.Error(err)
		return nil
	}
	defer r.Close()
	err = r.Scan(context.Background(), prefix, from, func(e *store.Entry) bool {
		if h := f.header(e.Meta); h.has(need) {
			list = append(list, e.Key+"="+string(e.Meta))
		}
		return true
	})
	if err != nil {
		f.Error(err)
	}
	return list
}

// bound checks that the accounts are right and within the bound, while no build is
// running.
func (f *fixture) bound() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	total := int64(0)
	for _, r := range f.resources {
		total += r.waiting
		if r.tree == nil {
			continue
		}
		size := int64(0)
		r.tree.Scan(func(key string, h header) bool {
			size += cost(key, h.meta)
			if [2]uint64{h.low, h.high} != f.cfg.Bits(h.bytes()) {
				f.Errorf("%s has the bits %b %b beside %q", key, h.low, h.high, h.meta)
			}
			return true
		})
		if size != r.size {
			f.Errorf("%s takes %d bytes, its account says %d", r.prefix, size, r.size)
		}
		total += size
	}
	if total != f.held || f.held > f.cfg.Bytes {
		f.Errorf("%d bytes are in use, the account says %d, the bound is %d", total, f.held, f.cfg.Bytes)
	}
}

// within checks the bound while builders may hold a part.
func (f *fixture) within() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held > f.cfg.Bytes {
		f.Errorf("%d bytes are held, the bound is %d", f.held, f.cfg.Bytes)
	}
}
