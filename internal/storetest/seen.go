package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// putSeen creates or updates a key by a write with a read set.
func putSeen(s store.Store, key string, seen ...store.Seen) error {
	_, err := s.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		w := store.Write{Op: store.OpCreate, Value: Body(1), Seen: seen}
		if current != nil {
			w.Op = store.OpUpdate
		}
		return w, nil
	})
	return err
}

// testReadSets: a write is committed exactly while the keys of its read set have the
// revisions at which the writer saw them.
func testReadSets(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	Put(t, s, "parent", 1)
	two := Put(t, s, "parent", 2)
	stands := store.Seen{Key: "parent", Revision: two.Revision}
	absent := store.Seen{Key: "missing"}
	for i, c := range []struct {
		seen  []store.Seen
		stand bool
	}{
		{nil, true},
		{[]store.Seen{stands}, true},
		{[]store.Seen{absent}, true},
		{[]store.Seen{stands, absent}, true},
		{[]store.Seen{{Key: "parent", Revision: two.Revision - 1}}, false},
		{[]store.Seen{{Key: "parent", Revision: two.Revision + 1}}, false},
		{[]store.Seen{{Key: "parent"}}, false},
		{[]store.Seen{{Key: "missing", Revision: 1}}, false},
		{[]store.Seen{stands, {Key: "parent"}}, false},
	} {
		before := s.Current()
		err := putSeen(s, fmt.Sprintf("child-%d", i), c.seen...)
		if (err == nil) != c.stand || !c.stand && !errors.Is(err, store.ErrChanged) {
			t.Errorf("%+v: %v", c.seen, err)
		}
		if !c.stand && s.Current() != before {
			t.Errorf("%+v: the refused write has a revision", c.seen)
		}
	}
	if err := putSeen(s, "child-0", stands); err != nil {
		t.Errorf("an update: %v", err)
	}
	if err := putSeen(s, "child-0", store.Seen{Key: "parent"}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("an update: %v", err)
	}
	Delete(t, s, "parent", 3)
	again := Put(t, s, "parent", 4)
	if err := putSeen(s, "late", stands); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a key that was deleted and created: %v", err)
	}
	_, err := s.UpdateAll(ctx, []string{"x", "y"}, func([]*store.Entry) ([]store.Write, error) {
		return []store.Write{{Op: store.OpCreate, Value: Body(1)}, {Op: store.OpCreate, Value: Body(2), Seen: []store.Seen{stands}}}, nil
	})
	if _, missing := s.Get(ctx, "x"); !errors.Is(err, store.ErrChanged) || !errors.Is(missing, store.ErrNotFound) {
		t.Errorf("of several writes one does not stand: %v, then %v", err, missing)
	}
	if err := putSeen(s, "late", store.Seen{Key: "parent", Revision: again.Revision}); err != nil {
		t.Errorf("seen again: %v", err)
	}
}

// testCollections: a write that depends on a collection is refused once a key was created
// there, and only there.
func testCollections(t *testing.T, h Harness) {
	s := h.open(t)
	Put(t, s, "things/shop/a", 1)
	shop := store.Seen{Key: "things/shop/", Revision: s.Current(), Collection: true}
	Put(t, s, "things/shop/a", 2)
	Delete(t, s, "things/shop/a", 3)
	if !h.Remote {
		Put(t, s, "things/shop/deeper/b", 4)
	}
	Put(t, s, "things/c", 5)
	if err := putSeen(s, "one", shop); err != nil {
		t.Errorf("nothing was created in the collection: %v", err)
	}
	Put(t, s, "things/shop/d", 6)
	if err := putSeen(s, "two", shop); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a key was created in the collection: %v", err)
	}
	shop.Revision = s.Current()
	if err := putSeen(s, "two", shop); err != nil {
		t.Errorf("the collection was read again: %v", err)
	}
}

// testMarks: a write that depends on a mark is refused once another write had the mark, whatever that
// did to which key, and a write without an effect has none.
func testMarks(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	marked := func(key string, op store.Op) {
		t.Helper()
		if _, err := s.Update(ctx, key, func(*store.Entry) (store.Write, error) {
			return store.Write{Op: op, Value: Body(1), Marks: []string{"trucks/shop/", "trucks/"}}, nil
		}); err != nil {
			t.Error(err)
		}
	}
	Put(t, s, "things/a", 1)
	for _, step := range []struct {
		what string
		do   func()
		kept bool
	}{
		{"nothing", func() {}, true},
		{"a create", func() { marked("things/b", store.OpCreate) }, false},
		{"a write without the mark", func() { Put(t, s, "things/b", 2) }, true},
		{"a write of nothing", func() { marked("things/b", 0) }, true},
		{"an update", func() { marked("things/b", store.OpUpdate) }, false},
		{"a delete", func() { marked("things/b", store.OpDelete) }, false},
	} {
		seen := store.Seen{Key: "trucks/", Revision: s.Current(), Mark: true}
		step.do()
		if err := putSeen(s, "reader", seen); (err == nil) != step.kept || err != nil && !errors.Is(err, store.ErrChanged) {
			t.Errorf("%s: %v", step.what, err)
		}
	}
	before := s.Current()
	marked("things/c", store.OpCreate)
	for mark, stands := range map[string]bool{"trucks/": false, "trucks/shop/": false, "trucks/yard/": true} {
		if err := putSeen(s, "reader", store.Seen{Key: mark, Revision: before, Mark: true}); (err == nil) != stands {
			t.Errorf("seen %s before the write: %v", mark, err)
		}
	}
	if err := putSeen(s, "reader", store.Seen{Key: "trucks/", Revision: s.Current(), Mark: true}); err != nil {
		t.Errorf("seen again: %v", err)
	}
}

// testReadSetsAtOnce: writers create children while a parent is open, and another one
// closes it: what a view shows after the close is all there will ever be. The parent
// opens again, so that an old decision meets an open parent of another revision.
func testReadSetsAtOnce(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	const writers, rounds = 8, 30
	parent := Put(t, s, "parent", 1)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				now, err := s.Get(ctx, "parent")
				if err != nil || closed(t, now) {
					continue
				}
				key := fmt.Sprintf("child/%d/%d-%d", now.Revision, n, i)
				if err := putSeen(s, key, store.Seen{Key: "parent", Revision: now.Revision}); err != nil && !errors.Is(err, store.ErrChanged) {
					t.Errorf("create: %v", err)
				}
			}
		})
	}
	children := func(revision uint64) (n int64) {
		view(t, s, 0, func(r store.Reader) {
			n, _ = r.Count(ctx, fmt.Sprintf("child/%d/", revision), "")
		})
		return n
	}
	revision, seen := parent.Revision, map[uint64]int64{}
	for range rounds {
		for until := time.Now().Add(10 * time.Second); children(revision) == 0 && time.Now().Before(until); {
			runtime.Gosched()
		}
		Put(t, s, "parent", 0)
		seen[revision] = children(revision)
		revision = Put(t, s, "parent", 1).Revision
	}
	Put(t, s, "parent", 0)
	seen[revision] = children(revision)
	stop.Store(true)
	wg.Wait()
	total := int64(0)
	for revision, n := range seen {
		if now := children(revision); now != n {
			t.Errorf("%d children of the parent at %d when it was closed, %d later", n, revision, now)
		}
		total += n
	}
	t.Logf("%d children in %d rounds", total, rounds)
}

// closed reports whether a parent accepts no children: its number is 0.
func closed(t TB, e store.Entry) bool {
	n, _ := Number(t, e.Body)
	return n == 0
}

// testCollectionsAtOnce: each of several writers counts a collection and creates a key that
// has the number as its value. Since a create is refused when another one came between, no
// two keys have the same number.
func testCollectionsAtOnce(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				for done := false; !done; {
					view(t, s, 0, func(r store.Reader) {
						count, err := r.Count(ctx, "tickets/", "")
						if err != nil {
							t.Error(err)
						}
						_, err = s.Update(ctx, fmt.Sprintf("tickets/%d-%d", n, i), func(*store.Entry) (store.Write, error) {
							return store.Write{Op: store.OpCreate, Value: Body(int(count)), Seen: []store.Seen{{Key: "tickets/", Revision: r.Revision(), Collection: true}}}, nil
						})
						done = err == nil
						if err != nil && !errors.Is(err, store.ErrChanged) {
							t.Errorf("create: %v", err)
							done = true
						}
					})
				}
			}
		})
	}
	wg.Wait()
	numbers := map[int]bool{}
	view(t, s, 0, func(r store.Reader) {
		_ = r.Scan(ctx, "tickets/", "", func(e *store.Entry) bool {
			n, _ := Number(t, e.Body)
			numbers[n] = true
			return true
		})
	})
	if len(numbers) != writers*each {
		t.Errorf("%d different numbers of %d", len(numbers), writers*each)
	}
}
