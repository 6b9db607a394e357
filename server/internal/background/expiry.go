package background

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

const (
	stepsOfLife = 60   // steps in the life of an object, at least
	pageKeys    = 1024 // objects looked up before they are removed
	writers     = 8    // objects removed at once: their commits share syncs of the disk
)

// expiryConfig names the objects that expire, and their lifetime.
type expiryConfig struct {
	Store    store.Snapshots
	Prefixes []string      // of the keys that expire
	Life     time.Duration // from the last write of an object
	// Remove removes the object at a key, whatever its finalizers, unless it has been
	// written after a revision or is gone.
	Remove func(ctx context.Context, key string, since uint64) error
}

// expiry removes objects some time after their last write. It has no list of them: it
// notes the newest revision at each time, and removes objects not written since a
// revision that is old enough. A new one has no notes, so a start of the server gives
// every object its whole lifetime again, as a new leader of etcd does.
type expiry struct {
	expiryConfig
	seen []moment // in order of time and of revision; all but the first are younger than a life
	gone uint64   // objects not written since this revision have been removed
}

// moment notes the newest revision at a time.
type moment struct {
	at       time.Time
	revision uint64
}

// newExpiry makes an expiry that has seen nothing yet.
func newExpiry(cfg expiryConfig) *expiry { return &expiry{expiryConfig: cfg} }

// Pause is the time between two steps.
func (x *expiry) Pause() time.Duration { return min(x.Life/stepsOfLife, time.Minute) }

// Step notes the present and removes expired objects. While nothing is written it does
// not read the store. The next step retries failed removals.
func (x *expiry) Step(ctx context.Context, now time.Time) error {
	if current, n := x.Store.Current(), len(x.seen); n == 0 || x.seen[n-1].revision < current {
		x.seen = append(x.seen, moment{now, current})
	}
	for len(x.seen) > 1 && now.Sub(x.seen[1].at) >= x.Life {
		x.seen = x.seen[1:]
	}
	due := x.seen[0]
	if now.Sub(due.at) < x.Life || due.revision <= x.gone {
		return nil
	}
	for _, prefix := range x.Prefixes {
		if err := x.remove(ctx, prefix, due.revision); err != nil {
			return err
		}
	}
	x.gone = due.revision
	return nil
}

// remove removes the objects not written since a revision.
func (x *expiry) remove(ctx context.Context, prefix string, since uint64) error {
	keys, from := make([]string, 0, pageKeys), ""
	var failed error
	for {
		var err error
		if keys, err = x.page(ctx, keys[:0], prefix, from, since); err != nil || len(keys) == 0 {
			return errors.Join(failed, err)
		}
		var work sync.WaitGroup
		var first [writers]error // the first error of each writer
		for w := range writers {
			work.Go(func() {
				for i := w; i < len(keys) && ctx.Err() == nil; i += writers {
					if err := x.Remove(ctx, keys[i], since); first[w] == nil {
						first[w] = err
					}
				}
			})
		}
		work.Wait()
		if failed == nil {
			failed = errors.Join(first[:]...)
		}
		from = keys[len(keys)-1] + "\x00"
	}
}

// page finds the keys of the next such objects.
func (x *expiry) page(ctx context.Context, keys []string, prefix, from string, since uint64) ([]string, error) {
	reader, err := x.Store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	err = reader.ScanMeta(ctx, prefix, from, func(e *store.Entry) bool {
		if e.Revision <= since {
			keys = append(keys, strings.Clone(e.Key))
		}
		return len(keys) < pageKeys
	})
	return keys, err
}
