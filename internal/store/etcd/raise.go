package etcd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

const (
	// raisers is the number of writes that Raise has under way: etcd syncs those that come together once.
	raisers = 128
	// raisedApart is the number of revisions after which Raise has etcd forget those before.
	raisedApart = 10_000
)

// Raise has etcd's newest revision be at least a given one, and etcd forget all before it: clients that know the
// revisions of another store then find no lower ones, and are sent to list anew where they ask for changes since one of
// them. Each revision that is missing costs etcd a small write. report is called from one goroutine at a time.
// Errors: those of etcd.
func (c *Copy) Raise(ctx context.Context, least uint64, report func(done, total int64)) error {
	var newest atomic.Uint64
	begin := c.at.revision
	newest.Store(begin)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for range raisers {
		all.Go(func() {
			for newest.Load() < least && ctx.Err() == nil {
				if err := c.write(ctx, &newest); err != nil {
					cancel(err)
				}
			}
		})
	}
	for forgotten := begin; newest.Load() < least && ctx.Err() == nil; {
		if err := c.write(ctx, &newest); err != nil {
			cancel(err)
			break
		}
		at := min(newest.Load(), least)
		report(int64(at-begin), int64(least-begin))
		if at >= forgotten+raisedApart {
			if err := c.forget(ctx, at); err != nil {
				cancel(err)
				break
			}
			forgotten = at
		}
	}
	all.Wait()
	err := errors.Join(context.Cause(ctx), c.unmark(context.WithoutCancel(ctx)))
	if err == nil {
		err = c.forget(ctx, max(least, begin))
	}
	return err
}

// raisePlace is the key that Raise writes, and deletes at its end.
func (c *Copy) raisePlace() string { return c.engine.markPlace("raised") }

// Raises reports whether a key is the one that Raise writes, which stays where Raise was cut off.
func (c *Copy) Raises(place string) bool { return place == c.raisePlace() }

// write makes a revision. It waits for etcd's answer whatever becomes of ctx: no write is made after unmark.
func (c *Copy) write(ctx context.Context, newest *atomic.Uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.engine.cfg.Timeout)
	defer cancel()
	answer, err := c.engine.client.Put(ctx, c.raisePlace(), "")
	if err != nil {
		return c.engine.plain(err)
	}
	for made := uint64(answer.Header.Revision); ; {
		before := newest.Load()
		if made <= before || newest.CompareAndSwap(before, made) {
			return nil
		}
	}
}

// unmark deletes the key of write.
func (c *Copy) unmark(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.engine.cfg.Timeout)
	defer cancel()
	if _, err := c.engine.client.Delete(ctx, c.raisePlace()); err != nil {
		return c.engine.plain(err)
	}
	return nil
}

// forget compacts the history before a revision.
func (c *Copy) forget(ctx context.Context, before uint64) error {
	ctx, cancel := context.WithTimeout(ctx, c.engine.cfg.Timeout)
	defer cancel()
	if err := c.engine.forget(ctx, int64(before)); err != nil {
		return c.engine.plain(err)
	}
	return nil
}
