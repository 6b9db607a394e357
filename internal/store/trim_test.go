package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// Trimming takes many steps while views are opened at every kept revision, and others
// stay open over it: each agrees with the model.
func TestTrimUnderViews(t *testing.T) {
	const changes, keys, readers = 1500, 23, 3
	ctx, seed := context.Background(), rand.Uint64()
	t.Logf("seed %d", seed)
	e, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rng, model := rand.New(rand.NewPCG(seed, 0)), storetest.NewModel()
	for n := range changes {
		key := fmt.Sprintf("key/%02d", rng.IntN(keys))
		remove := rng.IntN(6) == 0
		for _, s := range []store.Store{e, model} {
			if _, err := s.Get(ctx, key); remove && err == nil {
				storetest.Delete(t, s, key, n)
			} else {
				storetest.Put(t, s, key, n)
			}
		}
	}
	read := func(s store.Store, at uint64) (lines []string, trimmed bool) {
		r, err := s.At(ctx, at)
		var gone *store.TrimmedError
		if errors.As(err, &gone) {
			return nil, true
		}
		if err != nil {
			t.Errorf("At(%d): %v", at, err)
			return nil, false
		}
		for range 2 { // trimming goes on in between
			lines = lines[:0]
			if err := r.Scan(ctx, "", "", func(e *store.Entry) bool { lines = append(lines, storetest.Text(*e)); return true }); err != nil {
				t.Errorf("the view at %d: %v", at, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		return lines, false
	}
	var working sync.WaitGroup
	done := make(chan struct{})
	for n := range readers {
		working.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(n+1)))
			for views := 0; ; views++ {
				at := max(1, e.Oldest()+uint64(rng.IntN(int(changes-e.Oldest()+1))))
				got, trimmed := read(e, at)
				if want, _ := read(model, at); !trimmed && !cmp.Equal(want, got) {
					t.Errorf("the view at %d, model -, found +:\n%s", at, cmp.Diff(want, got))
				}
				if trimmed && at >= e.Oldest() {
					t.Errorf("the view at %d was refused, the oldest is %d", at, e.Oldest())
				}
				select {
				case <-done:
					if views > 20 {
						return
					}
				default:
				}
			}
		})
	}
	for upTo := uint64(0); upTo < changes; upTo = min(changes, upTo+uint64(rng.IntN(400))+1) {
		if err := e.Trim(ctx, upTo); err != nil {
			t.Error(err)
		}
	}
	close(done)
	working.Wait()
	if err := e.Check(ctx, func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
}

// Objects that come, change and go among many that stay vanish with their trimmed records,
// while the files of the others are seldom written again.
func TestTrimmedRecordsVanish(t *testing.T) {
	const staying, rounds, each = 4000, 40, 200
	ctx := context.Background()
	e, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for n := range staying {
		storetest.Put(t, e, fmt.Sprintf("key/%05d", n), n)
	}
	if err := e.Settle(true); err != nil {
		t.Fatal(err)
	}
	flushedBefore, compactedBefore := e.Written()
	for round := range rounds {
		for n := range each {
			key := fmt.Sprintf("key/%05d+", (round*each+n)*7919%staying)
			storetest.Put(t, e, key, n)
			storetest.Put(t, e, key, n+1)
			storetest.Delete(t, e, key, n)
		}
		if err := errors.Join(e.Trim(ctx, e.Current()), e.Settle(false)); err != nil {
			t.Fatal(err)
		}
	}
	flushed, compacted := e.Written()
	flushed, compacted = flushed-flushedBefore, compacted-compactedBefore
	if compacted > flushed/2 {
		t.Errorf("compactions have written %d bytes for %d of flushes", compacted, flushed)
	}
}
