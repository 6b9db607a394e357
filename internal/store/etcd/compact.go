package etcd

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// compactKey is the key by which servers agree on compactions. Kube-apiserver has the same, so that
// servers of both kinds compact once together.
const compactKey = "compact_rev_key"

// compact removes etcd's history before the revision of one interval ago, until ctx ends. The
// version of the key counts the compactions: the server that raises it compacts.
func (e *Engine) compact(ctx context.Context, interval time.Duration) {
	if interval <= 0 {
		return
	}
	var version, before int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
		now, current, err := e.compactOnce(ctx, version, before)
		if err != nil {
			if ctx.Err() == nil {
				e.cfg.Logger.Warn("etcd: its history cannot be compacted, it is tried again", "error", err)
			}
			continue
		}
		version, before = now, current
	}
}

// compactOnce compacts up to a revision if no other server has done so since the version was read.
// It returns the version and the revision for the next time.
func (e *Engine) compactOnce(ctx context.Context, version, before int64) (now, current int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	answer, err := e.client.Txn(ctx).If(clientv3.Compare(clientv3.Version(compactKey), "=", version)).
		Then(clientv3.OpPut(compactKey, strconv.FormatInt(before, 10))).Else(clientv3.OpGet(compactKey)).Commit()
	if err != nil {
		return 0, 0, err
	}
	current = answer.Header.Revision
	if !answer.Succeeded {
		for _, kv := range answer.Responses[0].GetResponseRange().Kvs {
			version = kv.Version
		}
		return version, current, nil
	}
	if before == 0 {
		return version + 1, current, nil
	}
	return version + 1, current, e.forget(ctx, before)
}

// forget has etcd compact its history before a revision, unless it has already.
func (e *Engine) forget(ctx context.Context, before int64) error {
	if _, err := e.client.Compact(ctx, before); !errors.Is(err, rpctypes.ErrCompacted) {
		return err
	}
	return nil
}
