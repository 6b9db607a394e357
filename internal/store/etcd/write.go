package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/store"
)

// Update implements store.Transactions.
func (e *Engine) Update(ctx context.Context, key string, fn func(current *store.Entry) (store.Write, error)) (store.Entry, error) {
	all, err := e.UpdateAll(ctx, []string{key}, func(current []*store.Entry) ([]store.Write, error) {
		w, err := fn(current[0])
		return []store.Write{w}, err
	})
	if err != nil {
		return store.Entry{}, err
	}
	return all[0], nil
}

// UpdateAll implements store.Transactions. All writes have one revision.
func (e *Engine) UpdateAll(ctx context.Context, keys []string, fn func(current []*store.Entry) ([]store.Write, error)) ([]store.Entry, error) {
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if err := store.CheckKey(key); err != nil {
			return nil, err
		}
		lock, err := e.locks.Acquire(ctx, key)
		if err != nil {
			return nil, err
		}
		defer e.locks.Release(key, lock)
	}
	for confirmed := store.MayBeStale(ctx); ; { // a request has asked at its begin
		current, err := e.current(ctx, keys)
		if err != nil {
			return nil, err
		}
		writes, err := fn(current)
		if !confirmed && (err != nil || !writesAny(writes)) {
			// The decision has no transaction that compares what it depends on.
			if err := e.reachNewest(ctx); err != nil {
				return nil, err
			}
			confirmed = true
			continue
		}
		if err != nil {
			return nil, err
		}
		entries, again, err := e.commit(ctx, keys, current, writes)
		if !again {
			return entries, err
		}
		confirmed = true
	}
}

func writesAny(writes []store.Write) bool {
	return slices.ContainsFunc(writes, func(w store.Write) bool { return w.Op != 0 })
}

// current reads the entries of keys from the replica; nil for keys without one.
func (e *Engine) current(ctx context.Context, keys []string) ([]*store.Entry, error) {
	all := make([]*store.Entry, len(keys))
	for i, key := range keys {
		entry, err := e.get(ctx, key)
		if all[i], err = store.Seeable(ctx, key, entry, err); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// commit performs writes as one transaction. again says that a key has changed since it was read:
// the writes have to be decided again, on the state that the replica has by now.
func (e *Engine) commit(ctx context.Context, keys []string, current []*store.Entry, writes []store.Write) (entries []store.Entry, again bool, err error) {
	entries = entriesOf(current)
	if !writesAny(writes) {
		if writes, err = e.stale(ctx, keys, entries); err != nil || !writesAny(writes) {
			return entries, false, err
		}
	}
	places := e.places(keys)
	defer e.own.end(places)
	request, err := e.request(ctx, keys, places, entries, writes, current)
	if err != nil {
		return nil, false, err
	}
	lead, err := e.leads(ctx, request)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, false, err
	}
	if !e.writing.enter() {
		return nil, false, store.ErrClosed
	}
	defer e.writing.leave()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.writeTimeout()) // to know whether it was made
	defer cancel()
	if e.other.Load() {
		return nil, false, errOther
	}
	had, begin := e.replica.Current(), time.Now()
	stop := e.overdue()
	answer, err := e.transactions.Txn(ctx, request)
	stop()
	e.observe(keys, writes, time.Since(begin))
	if err = clientv3.ContextError(ctx, err); err != nil {
		return nil, false, e.plain(err)
	}
	if err := e.same(answer.Header, had); err != nil {
		return nil, false, err
	}
	if err := e.reach(ctx, uint64(answer.Header.Revision)); err != nil {
		return nil, false, fmt.Errorf("etcd: the write was made at revision %d, which the replica does not reach: %w", answer.Header.Revision, err)
	}
	e.replica.Announced()
	if !answer.Succeeded {
		if lead != nil {
			if err := e.lasts(ctx, lead); err != nil {
				return nil, false, err
			}
		}
		return nil, e.changed(answer, entries), store.ErrChanged
	}
	for i, w := range writes {
		if w.Op != 0 {
			entries[i] = store.Entry{Key: keys[i], Revision: uint64(answer.Header.Revision)}
			entries[i].Value = e.own.written(places[i], w.Value, entries[i].Revision)
		}
	}
	return entries, false, nil
}

// observe reports a transaction.
func (e *Engine) observe(keys []string, writes []store.Write, took time.Duration) {
	operation, key := "", ""
	for i, w := range writes {
		switch {
		case w.Op == 0:
		case operation != "":
			e.cfg.Observe("txn", key, took)
			return
		default:
			operation, key = [...]string{store.OpCreate: "create", store.OpUpdate: "update", store.OpDelete: "delete"}[w.Op], keys[i]
		}
	}
	e.cfg.Observe(operation, key, took)
}

// entriesOf copies entries; missing ones are empty.
func entriesOf(current []*store.Entry) []store.Entry {
	entries := make([]store.Entry, len(current))
	for i, e := range current {
		if e != nil {
			entries[i] = *e
		}
	}
	return entries
}

// places are the keys in etcd of keys.
func (e *Engine) places(keys []string) []string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = e.place(key)
	}
	return all
}

// request makes a transaction: the comparisons of its keys and read sets, its operations, and the questions
// that are asked when the comparisons fail. The values are not copied, as the operations of the client would.
func (e *Engine) request(ctx context.Context, keys, places []string, entries []store.Entry, writes []store.Write, current []*store.Entry) (
	*etcdserverpb.TxnRequest, error) {
	r := &etcdserverpb.TxnRequest{}
	for i, w := range writes {
		appendCompared(r, clientv3.Compare(clientv3.ModRevision(places[i]), "=", int64(entries[i].Revision)))
		r.Failure = append(r.Failure, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestRange{
			RequestRange: &etcdserverpb.RangeRequest{Key: []byte(places[i]), KeysOnly: true}}})
		e.appendSeen(r, w.Seen)
		operation, err := e.operation(ctx, keys[i], places[i], w, current[i])
		if err != nil {
			return nil, err
		}
		if w.Op == 0 {
			continue
		}
		r.Success = append(r.Success, operation)
		if err := e.appendMarks(ctx, r, w.Marks); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func appendCompared(r *etcdserverpb.TxnRequest, c clientv3.Cmp) {
	r.Compare = append(r.Compare, (*etcdserverpb.Compare)(&c))
}

// stale are writes of values that are as they should be, and written or encrypted in another way than
// today's: an update of an object as it is takes an old key or format out of use.
func (e *Engine) stale(ctx context.Context, keys []string, entries []store.Entry) ([]store.Write, error) {
	writes := make([]store.Write, len(keys))
	for i, key := range keys {
		if entries[i].Key == "" || !e.cfg.Form.Varies(key) {
			continue
		}
		answer, err := e.ask(ctx, e.place(key))
		if err != nil {
			return nil, e.plain(err)
		}
		for _, kv := range answer.Kvs {
			if uint64(kv.ModRevision) != entries[i].Revision || !e.cfg.Form.Stale(key, kv.Value) {
				continue
			}
			writes[i].Op = store.OpUpdate
			if writes[i].Value, err = e.cfg.Form.Decode(key, kv.Value); err != nil {
				return nil, err
			}
		}
	}
	return writes, nil
}

// changed reports whether a transaction failed because of its keys, not of its read set alone.
func (e *Engine) changed(answer *etcdserverpb.TxnResponse, before []store.Entry) bool {
	for i, r := range answer.Responses {
		var found uint64
		if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
			found = uint64(kvs[0].ModRevision)
		}
		if found != before[i].Revision {
			return true
		}
	}
	return false
}

// operation is the part of a transaction that performs a write.
func (e *Engine) operation(ctx context.Context, key, place string, w store.Write, current *store.Entry) (*etcdserverpb.RequestOp, error) {
	if err := store.CheckWrite(key, w, current); err != nil || w.Op == 0 {
		return nil, err
	}
	if w.Op == store.OpDelete {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: []byte(place)}}}, nil
	}
	data, err := e.cfg.Form.Encode(key, w.Value)
	if err != nil {
		return nil, err
	}
	e.own.begin(place, data, w.Value)
	var id clientv3.LeaseID
	if e.cfg.Lives != nil {
		if life := e.cfg.Lives(key); life > 0 {
			if id, err = e.lease(ctx, life); err != nil {
				return nil, err
			}
		}
	}
	return put(place, data, id), nil
}

// put is the operation that writes a value with a lease; 0 for none.
func put(place string, data []byte, lease clientv3.LeaseID) *etcdserverpb.RequestOp {
	return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{
		RequestPut: &etcdserverpb.PutRequest{Key: []byte(place), Value: data, Lease: int64(lease)}}}
}

// appendSeen adds the comparisons of a read set.
func (e *Engine) appendSeen(r *etcdserverpb.TxnRequest, all []store.Seen) {
	for _, s := range all {
		switch {
		case s.Mark:
			appendCompared(r, clientv3.Compare(clientv3.ModRevision(e.markPlace(s.Key)), "<", int64(s.Revision)+1))
		case s.Collection:
			appendCompared(r, clientv3.Compare(clientv3.CreateRevision(e.place(s.Key)).WithPrefix(), "<", int64(s.Revision)+1))
		default:
			appendCompared(r, clientv3.Compare(clientv3.ModRevision(e.place(s.Key)), "=", int64(s.Revision)))
		}
	}
}

// markLife is the time for which etcd keeps a mark after its last write. It is longer than any decision
// that was made before that write and is not committed yet.
const markLife = 30 * time.Minute

// markPlace is the key of a mark, whose revision is that of the last write with the mark.
func (e *Engine) markPlace(mark string) string { return e.cfg.Prefix + "/capstan/marks/" + mark } // no key of the form

// appendMarks adds the writes of marks to a transaction.
func (e *Engine) appendMarks(ctx context.Context, r *etcdserverpb.TxnRequest, marks []string) error {
	if len(marks) == 0 {
		return nil
	}
	id, err := e.lease(ctx, markLife)
	if err != nil {
		return err
	}
	for _, mark := range marks {
		r.Success = append(r.Success, put(e.markPlace(mark), nil, id))
	}
	return nil
}

// writing counts the transactions under way, so that Close can wait for them.
type writing struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// enter reports whether a transaction may begin; then leave has to be called.
func (w *writing) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.all.Add(1)
	}
	return !w.closed
}

func (w *writing) leave() { w.all.Done() }

func (w *writing) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.all.Wait()
}

// plain is an error of etcd in the store's terms.
func (e *Engine) plain(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace), errors.Is(err, rpctypes.ErrGRPCNoSpace):
		e.space.lacks()
		return errNoSpace
	case errors.Is(err, clientv3.ErrNoAvailableEndpoints):
		return fmt.Errorf("etcd: no member answers: %w", err)
	case slices.ContainsFunc(withoutLeader, func(known error) bool { return errors.Is(err, known) }):
		return fmt.Errorf("etcd: %w (%w)", err, context.DeadlineExceeded)
	}
	select {
	case <-e.stopped:
		return store.ErrClosed
	default:
		return fmt.Errorf("etcd: %w", err)
	}
}

// withoutLeader are the errors of members that have lost their leader, or lose it. As after a time without an answer, a
// write may have been made.
var withoutLeader = []error{rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
	rpctypes.ErrTimeoutWaitAppliedIndex, rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrNotLeader}
