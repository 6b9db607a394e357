package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// testSeveralKeys: a transaction on several keys is all or nothing.
func testSeveralKeys(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	Put(t, s, "b", 1)
	var batches [][]string
	_, cancel := s.Subscribe(store.Streams, func(batch store.Batch) {
		var keys []string
		for _, c := range batch.Changes {
			keys = append(keys, Text(c.Entry))
		}
		batches = append(batches, keys)
	})
	defer cancel()
	write := func(keys []string, writes ...store.Write) ([]store.Entry, error) {
		return s.UpdateAll(ctx, keys, func(current []*store.Entry) ([]store.Write, error) {
			for i, key := range keys {
				if e, err := s.Get(ctx, key); (err == nil) != (current[i] != nil) || err == nil && Text(e) != Text(*current[i]) {
					t.Errorf("the function was given %v for %s", current[i], key)
				}
			}
			return writes, nil
		})
	}
	all, err := write([]string{"c", "b", "a", "d"}, store.Write{Op: store.OpCreate, Value: Body(2)}, store.Write{Op: store.OpUpdate, Value: Body(3)},
		store.Write{}, store.Write{Op: store.OpCreate, Value: Body(4)})
	c, b, d := `c@2=meta-2 {"n":2,"rev":"2"}`, `b@3=meta-3 {"n":3,"rev":"3"}`, `d@4=meta-4 {"n":4,"rev":"4"}`
	if h.Remote {
		b, d = `b@2=meta-3 {"n":3,"rev":"2"}`, `d@2=meta-4 {"n":4,"rev":"2"}`
	}
	if err != nil || Text(all[0]) != c || Text(all[1]) != b || Text(all[2]) != "none" || Text(all[3]) != d {
		t.Errorf("%v: %v", err, all)
	}
	if len(batches) != 1 || len(batches[0]) != 3 {
		t.Errorf("announced %v, expected three changes together", batches)
	}
	if _, err := write([]string{"e", "a"}, store.Write{Op: store.OpCreate, Value: Body(5)}, store.Write{Op: store.OpUpdate, Value: Body(5)}); err == nil {
		t.Error("an update of nothing was accepted")
	}
	if _, err := write([]string{"b", ""}, store.Write{}, store.Write{}); err == nil {
		t.Error("an empty key was accepted")
	}
	if all, err := write([]string{"a", "b"}, store.Write{}, store.Write{}); err != nil || Text(all[1]) != b {
		t.Errorf("a write of nothing: %v, %v", all, err)
	}
	_, err = s.UpdateAll(ctx, []string{"a", "b"}, func([]*store.Entry) ([]store.Write, error) { return nil, errRefused })
	if err != errRefused {
		t.Errorf("UpdateAll returned %v, expected the function's error itself", err)
	}
	if _, err := s.Get(ctx, "e"); !errors.Is(err, store.ErrNotFound) || s.Current() != all[3].Revision {
		t.Errorf("%v at %d: a part of a refused transaction was written", err, s.Current())
	}
	if h.Remote {
		return
	}
	view(t, s, 3, func(r store.Reader) {
		if _, err := r.Get("d"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a view between the revisions of a transaction: %v", err)
		}
	})
}

// testSeveralKeysAtOnce: transactions that take the same keys in different orders end,
// and lose nothing.
func testSeveralKeysAtOnce(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	Put(t, s, "a", 0)
	Put(t, s, "b", 0)
	const writers, rounds = 8, 20
	var wg sync.WaitGroup
	for n := range writers {
		keys := []string{"a", "b"}
		if n%2 == 1 {
			slices.Reverse(keys)
		}
		wg.Go(func() {
			for range rounds {
				_, err := s.UpdateAll(ctx, keys, func(current []*store.Entry) ([]store.Write, error) {
					var writes []store.Write
					for _, e := range current {
						n, _ := Number(t, e.Body)
						writes = append(writes, store.Write{Op: store.OpUpdate, Value: Body(n + 1)})
					}
					return writes, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, key := range []string{"a", "b"} {
		e, err := s.Get(ctx, key)
		if n, _ := Number(t, e.Body); err != nil || n != writers*rounds {
			t.Errorf("%s: %v, %d transactions, expected %d", key, err, n, writers*rounds)
		}
	}
}
