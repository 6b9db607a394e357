package etcd

import (
	"context"
	"time"
)

// measure asks a member for the size of its database once in each interval, until ctx ends.
func (e *Engine) measure(ctx context.Context, member string) {
	for {
		asked, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		status, err := e.client.Status(asked, member)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			e.cfg.Logger.Warn("etcd: a member does not tell the size of its database, it is asked again", "member", member, "error", err)
		default:
			e.cfg.Size(member, status.DbSize)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(e.cfg.SizeInterval):
		}
	}
}
