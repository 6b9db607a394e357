package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/store"
)

// history records what the clients of a store saw while many of them wrote at once.
// Afterwards each promise of the contract is checked on it by a function of its own.
type history struct {
	mu        sync.Mutex
	announced []*store.Change // by the subscription, in the order of arrival
	writes    []written
	views     []seen
}

// written is an acknowledged write.
type written struct {
	entry     store.Entry
	before    int    // number in the body before the write, -1 for none
	current   uint64 // Current() when the write was acknowledged
	announced uint64 // newest announced revision at that time
}

// seen is the content of a view.
type seen struct {
	revision uint64
	lines    []string
}

// testConcurrent lets writers count up numbers in a few keys, some shared, some their
// own, while views are read and history is trimmed.
func testConcurrent(t *testing.T, h Harness) {
	const writers, writes, readers = 8, 60, 3
	s, ctx := h.Open(t), context.Background()
	var log history
	_, cancel := s.Subscribe(store.Streams, func(b store.Batch) {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.announced = append(log.announced, b.Changes...)
	})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for range writes {
				key := fmt.Sprintf("own/%d", w)
				if r.IntN(2) == 0 {
					key = fmt.Sprintf("shared/%d", r.IntN(3))
				}
				log.write(t, s, key, r.IntN(5) == 0)
			}
		})
	}
	stop := make(chan struct{})
	for range readers {
		reading.Go(func() {
			for {
				log.look(t, s)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if current := s.Current(); current > 50 {
					if err := h.Trim(ctx, s, current-50); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}
	})
	writing.Wait()
	close(stop)
	reading.Wait()
	cancel()
	log.checkOrdered(t, 1)
	log.checkAcknowledged(t)
	log.checkChains(t)
	log.checkViews(t)
	final := log.contents(t, s.Current())
	s = h.Reopen(t, s)
	defer h.finish(t, s)
	if diff := cmp.Diff(final, contentsAt(t, s, 0)); diff != "" {
		t.Errorf("S3: after reopening, announced -, found +:\n%s", diff)
	}
}

// write counts a key's number up, or deletes the key.
func (l *history) write(t *testing.T, s store.Store, key string, remove bool) {
	var record written
	calls := 0
	entry, err := s.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		calls++
		if record.before = -1; current == nil {
			return store.Write{Op: store.OpCreate, Value: Body(0)}, nil
		}
		n, revision := Number(t, current.Body)
		if revision != current.Revision {
			t.Errorf("%s carries revision %d and is of %d", key, revision, current.Revision)
		}
		record.before = n
		if remove {
			return store.Write{Op: store.OpDelete, Value: Body(n + 1)}, nil
		}
		return store.Write{Op: store.OpUpdate, Value: Body(n + 1)}, nil
	})
	if err != nil || calls == 0 {
		t.Errorf("Update: %v after %d calls of the function", err, calls)
		return
	}
	record.entry, record.current = entry, s.Current()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.announced); n > 0 {
		record.announced = l.announced[n-1].Entry.Revision
	}
	l.writes = append(l.writes, record)
}

// look opens a view, new or a little old, and reads it twice.
func (l *history) look(t *testing.T, s store.Store) {
	at := s.Current()
	if at%2 == 0 {
		at = at - min(at, 20)
	}
	r, err := s.At(context.Background(), at)
	var trimmed *store.TrimmedError
	if errors.As(err, &trimmed) {
		return
	}
	if err != nil {
		t.Errorf("At(%d): %v", at, err)
		return
	}
	v := seen{r.Revision(), contents(t, r, "", "")}
	if diff := cmp.Diff(v.lines, contents(t, r, "", "")); diff != "" {
		t.Errorf("S4: a view changed, first -, then +:\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.views = append(l.views, v)
}

// checkOrdered: S1 and the second half of S2. Announced revisions are all
// revisions, one after the other.
func (l *history) checkOrdered(t *testing.T, next uint64) {
	for _, c := range l.announced {
		if c.Entry.Revision != next {
			t.Fatalf("S1, S2: revision %d was announced where %d is due", c.Entry.Revision, next)
		}
		next++
	}
}

// checkAcknowledged: an acknowledged write was visible and announced before, in the
// announced state.
func (l *history) checkAcknowledged(t *testing.T) {
	if len(l.writes) != len(l.announced) {
		t.Errorf("%d writes were acknowledged, %d announced", len(l.writes), len(l.announced))
	}
	for _, w := range l.writes {
		revision := w.entry.Revision
		if w.current < revision || w.announced < revision {
			t.Errorf("S2: %d was acknowledged when the newest visible revision was %d and the newest announced %d", revision, w.current, w.announced)
		}
		i, ok := slices.BinarySearchFunc(l.announced, revision, func(c *store.Change, r uint64) int { return int(c.Entry.Revision) - int(r) })
		if !ok || Text(l.announced[i].Entry) != Text(w.entry) {
			t.Errorf("%s was acknowledged and announced otherwise", Text(w.entry))
		}
	}
}

// checkChains: the changes of a key follow each other without a lost update.
func (l *history) checkChains(t *testing.T) {
	last := map[string]*store.Change{}
	for _, c := range l.announced {
		n, revision := Number(t, c.Entry.Body)
		if revision != c.Entry.Revision {
			t.Errorf("%s carries revision %d", Text(c.Entry), revision)
		}
		before, exists := last[c.Entry.Key]
		exists = exists && before.Op != store.OpDelete
		switch {
		case exists != (c.Op != store.OpCreate):
			t.Errorf("%s: existed before: %v", ChangeText(c), exists)
		case exists:
			if m, _ := Number(t, before.Entry.Body); n != m+1 || Text(c.Prev) != Text(before.Entry) {
				t.Errorf("%s follows %s: a lost update", ChangeText(c), ChangeText(before))
			}
		case n != 0 || Text(c.Prev) != "none":
			t.Errorf("%s is a creation", ChangeText(c))
		}
		last[c.Entry.Key] = c
	}
}

// checkViews: S4. Every view held exactly the announced changes up to its
// revision.
func (l *history) checkViews(t *testing.T) {
	if len(l.views) == 0 {
		t.Error("no view was recorded")
	}
	for _, v := range l.views {
		if diff := cmp.Diff(l.contents(t, v.revision), v.lines); diff != "" {
			t.Fatalf("S4: the view at %d, announced -, found +:\n%s", v.revision, diff)
		}
	}
}

// contents replays the announced changes up to a revision.
func (l *history) contents(t *testing.T, at uint64) []string {
	t.Helper()
	state := map[string]string{}
	for _, c := range l.announced {
		if c.Entry.Revision > at {
			break
		}
		if c.Op == store.OpDelete {
			delete(state, c.Entry.Key)
		} else {
			state[c.Entry.Key] = Text(c.Entry)
		}
	}
	lines := []string{}
	for _, line := range state {
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b string) int {
		a, _, _ = strings.Cut(a, "@")
		b, _, _ = strings.Cut(b, "@")
		return strings.Compare(a, b)
	})
	return lines
}
