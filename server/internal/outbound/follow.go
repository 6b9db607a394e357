package outbound

import (
	"context"
	"sync"

	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Follow calls moved with the name of each service that changes, or whose endpoints do,
// until ctx ends; at first for none. Changes in quick succession may be one.
func (b *Backends) Follow(ctx context.Context, moved func(namespace, name string)) {
	var both sync.WaitGroup
	both.Go(func() { follow(ctx, b.services, b.of, moved) })
	both.Go(func() { follow(ctx, b.endpoints, b.at, moved) })
	both.Wait()
}

func follow[T any](ctx context.Context, all *live.Collection[T], row *catalog.Row, moved func(namespace, name string)) {
	seen := all.View()
	for {
		view, err := all.Next(ctx, seen)
		if err != nil {
			return
		}
		for c := range view.Since(seen) {
			moved(row.SplitKey(c.Key))
		}
		seen = view
	}
}
