package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Writers create, update and delete keys while the keys are being counted. In the end the
// counts agree with the existing keys.
func TestPresenceAgreesWithTree(t *testing.T) {
	const keys, writers, writes = 200, 4, 300
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, before := range []int{0, keys, 3 * keys} { // writes before counting begins
		e := openMem(t)
		name := func(i int) string { return fmt.Sprintf("k/%03d", i) }
		write := func(random *rand.Rand) {
			key := name(random.IntN(keys))
			_, err := e.Update(t.Context(), key, func(current *Entry) (Write, error) {
				v := Value{Body: []byte("{}"), RevisionAt: -1}
				switch {
				case current == nil:
					return Write{Op: OpCreate, Value: v}, nil
				case random.IntN(2) == 0:
					return Write{Op: OpDelete, Value: v}, nil
				}
				return Write{Op: OpUpdate, Value: v}, nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		e.presence.state.Store(presenceStarting) // not by itself
		random := rand.New(rand.NewPCG(seed, 0))
		for range before {
			write(random)
		}
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(w+1)))
				for range writes {
					write(random)
				}
			})
		}
		all.Go(e.countKeys)
		all.Wait()
		if e.presence.state.Load() != presenceReady {
			t.Fatal("the keys were not counted")
		}
		there := make(map[string]bool)
		r, err := e.At(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		err = r.ScanMeta(t.Context(), "", "", func(entry *Entry) bool { there[entry.Key] = true; return true })
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for i := range keys {
			if absent := e.presence.absent(name(i)); absent == there[name(i)] {
				t.Errorf("%s: absent is %v, in the tree is %v", name(i), absent, there[name(i)])
			}
		}
		counted := 0
		for i := range e.presence.shards {
			counted += len(e.presence.shards[i].counts)
		}
		if counted != len(there) {
			t.Errorf("%d hashes are counted, there are %d keys", counted, len(there))
		}
	}
}

// The first miss begins the count; until then nothing is held in memory.
func TestPresenceBeginsWithFirstMiss(t *testing.T) {
	e := openMem(t)
	for i := range 10 {
		e.presence.change(podKey(i), 1)
	}
	if e.presence.absent("a") || e.presence.state.Load() != presenceIdle {
		t.Fatal("counting has begun without a miss")
	}
	put(t, e, "a", Value{RevisionAt: -1}) // a create begins with a miss
	for e.presence.state.Load() != presenceReady {
		runtime.Gosched()
	}
	if !e.presence.absent("b") || e.presence.absent("a") {
		t.Errorf("a is absent: %v, b is absent: %v", e.presence.absent("a"), e.presence.absent("b"))
	}
}
