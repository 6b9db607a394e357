package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// testLinearizable lets clients run all calls on a few keys at once, with restarts and
// trimming in between, and checks their answers.
func testLinearizable(t *testing.T, h Harness) {
	rounds := 3
	if os.Getenv("CAPSTAN_STRESS") != "" {
		rounds = 100
	}
	for range rounds {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		linearRound(t, h, seed)
	}
}

func linearRound(t *testing.T, h Harness, seed uint64) {
	const clients, calls, restarts = 5, 40, 2
	var current atomic.Pointer[store.Store]
	s := h.Open(t)
	first := s // the clients read this variable
	current.Store(&first)
	r := NewRecorder()
	var working sync.WaitGroup
	for client := range clients {
		working.Go(func() {
			c := linearClient{rng: rand.New(rand.NewPCG(seed, uint64(client))), told: map[string]uint64{}}
			for n := range calls {
				call := c.next(fmt.Sprintf("%d/%d", client, n))
				for happened := false; !happened; {
					a := r.Do(client, call, func() (a Answer, ok bool) {
						a, happened = perform(t, *current.Load(), call)
						return a, happened
					})
					if happened {
						c.learn(call, a)
					} else {
						runtime.Gosched() // the next store is being opened
					}
				}
			}
		})
	}
	for n := range restarts {
		for r.Len() < clients*calls*(n+1)/(restarts+1) {
			runtime.Gosched()
		}
		newest := s.Current()
		if err := h.Trim(context.Background(), s, newest-min(newest, 20)); err != nil {
			t.Error(err)
		}
		s = h.Reopen(t, s)
		next := s
		current.Store(&next)
	}
	working.Wait()
	h.finish(t, s)
	r.Check(t)
}

// linearClient chooses calls.
type linearClient struct {
	rng    *rand.Rand
	told   map[string]uint64 // newest known revisions, by key
	newest uint64
}

func (c *linearClient) next(value string) Call {
	call := Call{Key: fmt.Sprintf("key/%d", c.rng.IntN(3)), Value: value}
	switch n := c.rng.IntN(10); {
	case n < 2:
		call.Kind = KindCreate
	case n < 4:
		call.Kind = KindGet
	case n < 7:
		call.Kind = KindUpdate
	case n < 8:
		call.Kind = KindDelete
	default:
		call.Kind, call.Key, call.Value = KindList, "key/", ""
		if c.rng.IntN(2) == 0 {
			call.At = c.newest - min(c.newest, uint64(c.rng.IntN(10)))
		}
	}
	if call.Kind != KindList && c.rng.IntN(2) == 0 {
		call.If = c.told[call.Key]
	}
	return call
}

func (c *linearClient) learn(call Call, a Answer) {
	c.newest = max(c.newest, a.Revision)
	if call.Kind != KindList && a.Outcome == Done {
		c.told[call.Key] = a.Revision
	}
}

// perform makes a call to a store. ok is false when the store was closed: nothing has
// happened.
func perform(t *testing.T, s store.Store, c Call) (a Answer, ok bool) {
	ctx := context.Background()
	outcomes := map[Outcome]error{Missing: store.ErrNotFound, Exists: errExists, Conflict: errConflict}
	var err error
	switch c.Kind {
	case KindGet:
		var e store.Entry
		e, err = s.Get(ctx, c.Key)
		a = Answer{Outcome: Done, Revision: e.Revision, Value: string(e.Body)}
	case KindList:
		a, err = performList(ctx, s, c)
	default:
		var e store.Entry
		e, err = s.Update(ctx, c.Key, func(current *store.Entry) (store.Write, error) { return linearWrite(c, current) })
		a = Answer{Outcome: Done, Revision: e.Revision}
	}
	if errors.Is(err, store.ErrClosed) {
		return Answer{}, false
	}
	for outcome, is := range outcomes {
		if errors.Is(err, is) {
			return Answer{Outcome: outcome}, true
		}
	}
	var trimmed *store.TrimmedError
	if errors.As(err, &trimmed) {
		return Answer{Outcome: Trimmed}, true
	}
	if err != nil {
		t.Errorf("%+v: %v", c, err)
		return Answer{Outcome: Unknown}, true
	}
	return a, true
}

var errExists, errConflict = errors.New("it exists"), errors.New("it has another revision")

func linearWrite(c Call, current *store.Entry) (store.Write, error) {
	value := store.Value{Body: []byte(c.Value), RevisionAt: -1}
	switch {
	case c.Kind == KindCreate && current != nil:
		return store.Write{}, errExists
	case c.Kind == KindCreate:
		return store.Write{Op: store.OpCreate, Value: value}, nil
	case current == nil:
		return store.Write{}, store.ErrNotFound
	case c.If != 0 && current.Revision != c.If:
		return store.Write{}, errConflict
	case c.Kind == KindDelete:
		return store.Write{Op: store.OpDelete, Value: value}, nil
	}
	return store.Write{Op: store.OpUpdate, Value: value}, nil
}

func performList(ctx context.Context, s store.Store, c Call) (Answer, error) {
	view, err := s.At(ctx, c.At)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Outcome: Done, Revision: view.Revision()}
	err = view.Scan(ctx, c.Key, "", func(e *store.Entry) bool {
		a.Items = append(a.Items, Item{e.Key, string(e.Body), e.Revision})
		return true
	})
	return a, errors.Join(err, view.Close())
}
