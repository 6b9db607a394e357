package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// fromZero is a store of the engine whose revisions begin at 0, as the acceptance suite has them:
// the suites of one run use one etcd, one after the other.
//
// Etcd keeps no final state of a deleted key: its watches show the last stored one. The suite wants
// the final states that its functions gave, so they are kept here, by the revision before.
type fromZero struct {
	*etcd.Engine
	base uint64
	ends *sync.Map // final states by key and revision before
	fs   vfs.FS
	open func(fs vfs.FS) *etcd.Engine
}

func (s *fromZero) entry(e store.Entry) store.Entry {
	if e.Key == "" || e.Revision == 0 {
		return e
	}
	v, _ := raw{}.Last(e)
	e.Revision -= s.base
	e.Value = store.Encode(v, e.Revision).Value
	return e
}

func (s *fromZero) err(err error) error {
	trimmed, future := new(store.TrimmedError), new(store.FutureError)
	switch {
	case errors.As(err, &trimmed):
		return &store.TrimmedError{Asked: trimmed.Asked - s.base, Oldest: trimmed.Oldest - s.base}
	case errors.As(err, &future):
		return &store.FutureError{Asked: future.Asked - s.base, Current: future.Current - s.base}
	}
	return err
}

func (s *fromZero) Current() uint64 { return s.Engine.Current() - s.base }
func (s *fromZero) Oldest() uint64  { return s.Engine.Oldest() - s.base }

func (s *fromZero) WaitFor(ctx context.Context, revision uint64) error {
	return s.Engine.WaitFor(ctx, revision+s.base)
}

func (s *fromZero) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := s.Engine.Get(ctx, key)
	return s.entry(e), s.err(err)
}

func (s *fromZero) At(ctx context.Context, at uint64) (store.Reader, error) {
	if at > 0 {
		at += s.base
	}
	r, err := s.Engine.At(ctx, at)
	if err != nil {
		return nil, s.err(err)
	}
	return &fromZeroReader{r, s}, nil
}

func (s *fromZero) Update(ctx context.Context, key string, fn func(*store.Entry) (store.Write, error)) (store.Entry, error) {
	e, err := s.Engine.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
		w, err := fn(s.pointer(current))
		if current != nil && w.Op == store.OpDelete {
			s.ends.Store(fmt.Sprint(key, "@", current.Revision), w.Value)
		}
		return s.write(w), err
	})
	return s.entry(e), s.err(err)
}

func (s *fromZero) UpdateAll(ctx context.Context, keys []string, fn func([]*store.Entry) ([]store.Write, error)) ([]store.Entry, error) {
	all, err := s.Engine.UpdateAll(ctx, keys, func(current []*store.Entry) ([]store.Write, error) {
		shown := make([]*store.Entry, len(current))
		for i, e := range current {
			shown[i] = s.pointer(e)
		}
		writes, err := fn(shown)
		for i := range writes {
			writes[i] = s.write(writes[i])
		}
		return writes, err
	})
	for i := range all {
		all[i] = s.entry(all[i])
	}
	return all, s.err(err)
}

func (s *fromZero) pointer(e *store.Entry) *store.Entry {
	if e == nil {
		return nil
	}
	shown := s.entry(*e)
	return &shown
}

func (s *fromZero) write(w store.Write) store.Write {
	seen := make([]store.Seen, 0, len(w.Seen))
	for _, one := range w.Seen {
		if one.Revision > 0 || one.Collection {
			one.Revision += s.base
		}
		seen = append(seen, one)
	}
	w.Seen = seen
	return w
}

func (s *fromZero) change(c *store.Change) *store.Change {
	shown := &store.Change{Op: c.Op, Entry: s.entry(c.Entry), Prev: s.entry(c.Prev)}
	if end, ok := s.ends.Load(fmt.Sprint(c.Entry.Key, "@", c.Prev.Revision)); ok && c.Op == store.OpDelete {
		shown.Entry.Value = store.Encode(end.(store.Value), shown.Entry.Revision).Value
	}
	return shown
}

func (s *fromZero) Changes(ctx context.Context, prefix string, after uint64, visit func(*store.Change) bool) (uint64, error) {
	to, err := s.Engine.Changes(ctx, prefix, after+s.base, func(c *store.Change) bool { return visit(s.change(c)) })
	if err != nil {
		return 0, s.err(err)
	}
	return to - s.base, nil
}

func (s *fromZero) Subscribe(turn store.Turn, fn func(store.Batch)) (uint64, func()) {
	current, cancel := s.Engine.Subscribe(turn, func(b store.Batch) {
		shown := make([]*store.Change, len(b.Changes))
		for i, c := range b.Changes {
			shown[i] = s.change(c)
		}
		fn(store.Batch{Changes: shown, Revision: b.Revision - s.base, Gap: b.Gap})
	})
	return current - s.base, cancel
}

type fromZeroReader struct {
	store.Reader
	of *fromZero
}

func (r *fromZeroReader) Revision() uint64 { return r.Reader.Revision() - r.of.base }

func (r *fromZeroReader) Get(key string) (store.Entry, error) {
	e, err := r.Reader.Get(key)
	return r.of.entry(e), r.of.err(err)
}

func (r *fromZeroReader) shown(visit func(*store.Entry) bool) func(*store.Entry) bool {
	return func(e *store.Entry) bool {
		shown := r.of.entry(*e)
		return visit(&shown)
	}
}

func (r *fromZeroReader) GetEach(ctx context.Context, keys []string, visit func(*store.Entry) bool) error {
	return r.Reader.GetEach(ctx, keys, r.shown(visit))
}

func (r *fromZeroReader) Scan(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return r.Reader.Scan(ctx, prefix, from, r.shown(visit))
}

func (r *fromZeroReader) ScanMeta(ctx context.Context, prefix, from string, visit func(*store.Entry) bool) error {
	return r.Reader.ScanMeta(ctx, prefix, from, func(e *store.Entry) bool {
		shown := *e
		shown.Revision -= r.of.base
		return visit(&shown)
	})
}

// TestAcceptance runs the acceptance suite of stores.
func TestAcceptance(t *testing.T) {
	url := etcdtest.Start(t)
	var prefixes struct {
		sync.Mutex
		n int
	}
	storetest.Run(t, storetest.Harness{
		Remote: true,
		Open: func(tb storetest.TB) store.Store {
			prefixes.Lock()
			prefixes.n++
			prefix := fmt.Sprintf("/registry-%d", prefixes.n)
			prefixes.Unlock()
			s := &fromZero{fs: vfs.NewMem(), ends: new(sync.Map)}
			s.open = func(fs vfs.FS) *etcd.Engine {
				e, err := etcd.Open(context.Background(), etcd.Config{Endpoints: []string{url}, Prefix: prefix, Form: raw{},
					Replica: store.Config{Dir: "replica", FS: fs}})
				if err != nil {
					tb.Fatal(err)
				}
				return e
			}
			s.Engine = s.open(s.fs)
			s.base = s.Engine.Current()
			return s
		},
		Reopen: func(tb storetest.TB, s store.Store) store.Store {
			was := s.(*fromZero)
			if err := was.Close(); err != nil {
				tb.Fatal(err)
			}
			return &fromZero{Engine: was.open(was.fs), base: was.base, fs: was.fs, open: was.open, ends: was.ends}
		},
		Trim: func(ctx context.Context, s store.Store, upTo uint64) error {
			of := s.(*fromZero)
			return of.err(of.Trim(ctx, upTo+of.base))
		},
		Check: func(ctx context.Context, s store.Store, report func(string)) error {
			return s.(*fromZero).Check(ctx, report)
		},
	})
}
