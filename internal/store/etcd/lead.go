package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// leadTime is the time in seconds after which etcd ends the lead of a server that is not heard of.
const leadTime = 3

// leadPause is the time between questions whether the lead of another server has ended.
const leadPause = 500 * time.Millisecond

// ErrLost: a write of a server that does not lead any more.
var ErrLost = errors.New("etcd: this server does not lead any more; nothing was written")

// lead is the right to write for a task that one server does at a time. A key of etcd with a lease
// stands for the lead: it exists since the revision.
type lead struct {
	engine   *Engine // whose etcd has the key
	place    string
	revision int64
}

// leading is the key of a lead among the values of a context.
type leading struct{}

// Lead implements shared.Store. The lead is a key with a lease. Each write with the context of do
// compares the key, so that a server which was paused beyond its lease writes nothing.
func (e *Engine) Lead(ctx context.Context, task string, do func(context.Context)) {
	place := e.cfg.Prefix + "/capstan/leads/" + task // no key of the form
	for ctx.Err() == nil {
		if err := e.leadOnce(ctx, place, do); err != nil && ctx.Err() == nil {
			e.cfg.Logger.Warn("etcd: this server cannot try to lead, and tries again", "task", task, "error", e.plain(err))
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// leadOnce leads until the lease is lost, or waits until another server's lead ends.
func (e *Engine) leadOnce(ctx context.Context, place string, do func(context.Context)) error {
	leases := clientv3.NewLease(e.client) // with a stream of its own, which is not that to a member that hangs
	defer func() { _ = leases.Close() }()
	lease, err := e.grant(ctx, leases, leadTime)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = leases.Revoke(last, lease.ID) // else the lease ends by itself
	}()
	bounded, cancel := context.WithTimeout(ctx, e.writeTimeout())
	defer cancel()
	answer, err := e.client.Txn(bounded).If(clientv3.Compare(clientv3.CreateRevision(place), "=", 0)).
		Then(clientv3.OpPut(place, "", clientv3.WithLease(lease.ID))).Commit()
	if err != nil {
		return err
	}
	if !answer.Succeeded {
		return e.awaitEnd(ctx, place)
	}
	alive, err := leases.KeepAlive(ctx, lease.ID)
	if err != nil {
		return err
	}
	led, lost := context.WithCancel(context.WithValue(ctx, leading{}, lead{e, place, answer.Header.Revision}))
	defer lost()
	go func() {
		defer lost()
		for range alive { // it is closed when the lease is lost, or ctx has ended
		}
	}()
	do(led)
	return nil
}

// awaitEnd waits until a key is gone. It asks for the key, since a watch at a member that hangs would
// not end.
func (e *Engine) awaitEnd(ctx context.Context, place string) error {
	for {
		answer, err := e.ask(ctx, place, clientv3.WithCountOnly())
		if err != nil || answer.Count == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leadPause):
		}
	}
}

// leads adds to the comparisons of a transaction that the lead of the context lasts. A transaction in another
// etcd cannot compare the key of the lead, so the etcd that has the key is asked before. Errors: ErrLost, and those of that question.
func (e *Engine) leads(ctx context.Context, request *etcdserverpb.TxnRequest) (*lead, error) {
	l, ok := ctx.Value(leading{}).(lead)
	if !ok {
		return nil, nil
	}
	if l.engine != e {
		return nil, l.engine.lasts(ctx, &l)
	}
	appendCompared(request, clientv3.Compare(clientv3.CreateRevision(l.place), "=", l.revision))
	return &l, nil
}

// lasts asks whether a lead lasts.
func (e *Engine) lasts(ctx context.Context, l *lead) error {
	answer, err := e.ask(ctx, l.place, clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if len(answer.Kvs) == 0 || answer.Kvs[0].CreateRevision != l.revision {
		return ErrLost
	}
	return nil
}
