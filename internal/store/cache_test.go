package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

func newTestCache(bytes int64, current uint64) *cache {
	c := new(cache)
	c.init(bytes, current)
	return c
}

// The invariants of the cache, one step after the other.
func TestCacheShowsWhatViewsSee(t *testing.T) {
	c := newTestCache(1<<20, 4)
	expect := func(at, want uint64) {
		t.Helper()
		stored, revision, ok := c.get("a", at, 0)
		if ok != (want != 0) || revision != want || ok && string(stored) != fmt.Sprint(want) {
			t.Errorf("at %d: %q of revision %d, expected %d", at, stored, revision, want)
		}
	}
	fill := func(at, revision uint64) { c.fill("a", at, revision, 0, []byte(fmt.Sprint(revision))) }
	put := func(revision uint64) { c.put("a", revision, 0, []byte(fmt.Sprint(revision))) }

	fill(3, 2) // a view before the store was opened
	expect(4, 0)
	fill(4, 2)
	expect(4, 2)
	expect(1, 0) // a view before the version
	put(5)
	expect(4, 0) // 5 is not visible to this view
	expect(5, 5)
	fill(4, 2) // a slow reader
	expect(5, 5)
	c.drop("a", 6)
	expect(6, 0)
	fill(5, 5) // a slow reader again: nothing newer is known
	expect(6, 0)
	put(7)
	expect(6, 0)
	expect(9, 7)
}

func TestCacheIsBounded(t *testing.T) {
	const limit = 1 << 20
	c := newTestCache(limit, 0)
	c.put("hot", 1, 0, make([]byte, 1000))
	c.put("huge", 2, 0, make([]byte, limit/cacheShards)) // more than its share
	for i := range uint64(10_000) {
		c.put(podKey(int(i)), i+3, 0, make([]byte, 1000))
		if _, _, ok := c.get("hot", i+3, 0); !ok && i < 100 {
			t.Fatalf("what is used all the time left after %d others", i)
		}
	}
	if _, _, ok := c.get("huge", 1<<40, 0); ok {
		t.Error("a version larger than its share is held")
	}
	total := int64(0)
	for i := range c.shards {
		s, size := &c.shards[i], int64(0)
		for key, v := range s.newest {
			size += weight(key, v.stored)
		}
		if size != s.size || size > s.limit {
			t.Errorf("shard %d holds %d bytes, counts %d, may have %d", i, size, s.size, s.limit)
		}
		total += size
	}
	if total < limit/2 {
		t.Errorf("only %d of %d bytes are used", total, limit)
	}
}

// Values read together are cached while there is room; of the later ones only a few are.
func TestCacheWantsFewWhenFull(t *testing.T) {
	c := newTestCache(1<<20, 0)
	wanted := [2]int{} // before and after the cache is full
	for i := range 4000 {
		key, value := podKey(i), make([]byte, 1000)
		s := c.shard(key)
		full := 0
		if s.size+weight(key, value) > s.limit {
			full = 1
		}
		if c.wants(key, 5, len(value)) {
			wanted[full]++
			c.fill(key, 5, 1, 0, value)
		} else if full == 0 {
			t.Fatalf("a shard with %d of %d bytes does not want %s", s.size, s.limit, key)
		}
	}
	if after := 4000 - wanted[0]; wanted[0] < 500 || wanted[1] < after/8 || wanted[1] > after/2 {
		t.Errorf("kept %d until it was full, %d of %d after that", wanted[0], wanted[1], after)
	}
	if c.wants("a", 5, 1<<20) || c.wants("a", 5, 1<<14) {
		t.Error("a version larger than its share is wanted")
	}
	c.put("a", 6, 0, nil)
	for range 100 {
		if c.wants("a", 5, 10) {
			t.Fatal("a view that may be behind is to fill the cache")
		}
	}
}

// Writers count up in the bodies of a few keys and now and then delete one. Every read,
// from the cache or the tree, agrees with the revision that it reports and is not older
// than the changes announced before. The cache is small, so that versions come and go.
func TestCacheUnderConcurrency(t *testing.T) {
	const keys, writers, writes = 96, 6, 200
	e := openMem(t)
	e.cache.init(12<<10, 0) // three or four of a shard's six keys
	ctx, key := t.Context(), func(i int) string { return "k" + strconv.Itoa(i) }
	var shown [keys]atomic.Uint64 // newest announced revision of each key
	_, cancel := e.Subscribe(Streams, func(b Batch) {
		for _, c := range b.Changes {
			i, _ := strconv.Atoi(c.Entry.Key[1:])
			shown[i].Store(c.Entry.Revision)
		}
	})
	defer cancel()
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	for range writers {
		writing.Go(func() {
			for range writes {
				i := rand.IntN(keys)
				_, err := e.Update(ctx, key(i), func(current *Entry) (Write, error) {
					v := Value{Body: make([]byte, 16), RevisionAt: 0}
					switch {
					case current == nil:
						return Write{Op: OpCreate, Value: v}, nil
					case i%2 == 1 && rand.IntN(3) == 0:
						return Write{Op: OpDelete, Value: v}, nil
					}
					return Write{Op: OpUpdate, Value: v}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			all := make([]string, keys)
			for i := range all {
				all[i] = key(i)
			}
			slices.Sort(all)
			for !done.Load() {
				i := rand.IntN(keys)
				before := shown[i].Load()
				got, err := e.Get(ctx, key(i))
				switch {
				case errors.Is(err, ErrNotFound):
					if before != 0 && i%2 == 0 {
						t.Errorf("k%d: not found after %d was announced, and it is never deleted", i, before)
					}
				case err != nil:
					t.Error(err)
				case got.Revision < before:
					t.Errorf("%s: a get returned revision %d after %d was announced", got.Key, got.Revision, before)
				case got.Revision > e.Current():
					t.Errorf("%s: a get returned revision %d, the newest visible is %d", got.Key, got.Revision, e.Current())
				default:
					checkBody(t, &got)
				}
				checkView(t, e, all)
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
}

// TestCacheRefusesOldReads: a key that was read from an iterator of the time before its
// deletion is not in the cache after it.
func TestCacheRefusesOldReads(t *testing.T) {
	e := openMem(t)
	ctx := t.Context()
	write := func(op Op) {
		t.Helper()
		if _, err := e.Update(ctx, "k", func(*Entry) (Write, error) {
			return Write{Op: op, Value: Value{Body: make([]byte, 16), RevisionAt: 0}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	write(OpCreate)
	e.cache.drop("k", 0)
	held := e.Current()
	it, err := e.db.NewIter(&pointOptions)
	if err != nil {
		t.Fatal(err)
	}
	write(OpDelete)
	if got, err := e.seekEntry(it, "k", e.Current(), held); err != nil || got.Revision != held {
		t.Errorf("the old iterator shows %+v, %v", got, err)
	}
	if got, err := e.Get(ctx, "k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the deleted key is %+v, %v", got, err)
	}
}

// checkView compares a view's gets with its scan, which does not use the cache.
func checkView(t *testing.T, e *Engine, keys []string) {
	r, err := e.At(context.Background(), 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	var each, scanned []uint64
	if err := r.GetEach(context.Background(), keys, func(entry *Entry) bool {
		checkBody(t, entry)
		each = append(each, entry.Revision)
		return true
	}); err != nil {
		t.Error(err)
	}
	if err := r.Scan(context.Background(), "k", "", func(entry *Entry) bool {
		scanned = append(scanned, entry.Revision)
		return true
	}); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(each) != fmt.Sprint(scanned) {
		t.Errorf("the view at %d shows %v one by one, %v in a scan", r.Revision(), each, scanned)
	}
}

func checkBody(t *testing.T, e *Entry) {
	if want := strconv.FormatUint(e.Revision, 10); string(e.Body[:len(want)]) != want || e.Body[len(want)] != 0 {
		t.Errorf("%s at %d has the body %q", e.Key, e.Revision, e.Body[:len(want)+1])
	}
}
