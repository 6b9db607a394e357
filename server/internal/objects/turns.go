package objects

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// turns orders writes of this process that have met, each a change of a set on which the others depend: of many writers
// at once, one would be late again and again. The order is for progress only. The store compares the read sets.
type turns struct {
	seed  maphash.Seed
	taken [64]chan struct{} // by hash of a part of the read set, with room for one writer
}

func newTurns() *turns {
	t := &turns{seed: maphash.MakeSeed()}
	for i := range t.taken {
		t.taken[i] = make(chan struct{}, 1)
	}
	return t
}

// turnTime bounds the wait: the writer before may itself wait for this one, by way of a webhook.
const turnTime = time.Second

// take waits for the turn of a write by a set that it has read, or else a key. The writer leaves when the write has
// ended.
func (t *turns) take(ctx context.Context, reads []store.Seen) (leave func()) {
	at := max(0, slices.IndexFunc(reads, func(s store.Seen) bool { return s.Mark }))
	turn := t.taken[maphash.String(t.seed, reads[at].Key)%uint64(len(t.taken))]
	wait, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }
	case <-wait.Done():
		return func() {}
	}
}
