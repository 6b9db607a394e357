package objects

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// turns lets writes of this process that have met, since each has changed what others have read, go on one after the other:
// otherwise of many writers one would be late again and again. Whether a write is right does not depend on it, the
// store compares what was read.
type turns struct {
	seed  maphash.Seed
	taken [64]chan struct{} // by hash of what was read, with room for one writer
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
