package etcd

import (
	"bytes"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/store"
)

// ownWrites are the values of this server's transactions under way. When the watch shows the bytes of
// one of them, its value need not be decoded, and the replica and the answer share it.
//
// Invariant: a value is only used under the lock, since its bytes belong to the transaction, which
// takes it out before it ends. What the watch has shown is a copy with the revision.
type ownWrites struct {
	mu  sync.Mutex
	all map[string]*ownWrite // by place
}

type ownWrite struct {
	data     []byte // in etcd
	value    store.Value
	revision uint64 // of shown; 0 before the watch has shown the write
	shown    store.Encoded
}

// begin notes the value of a place. The lock of its key lets one transaction do that at a time.
func (o *ownWrites) begin(place string, data []byte, value store.Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[string]*ownWrite{}
	}
	o.all[place] = &ownWrite{data: data, value: value}
}

// end takes places out, those of a transaction that ends.
func (o *ownWrites) end(places []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, place := range places {
		delete(o.all, place)
	}
}

// shows is the value whose bytes the watch shows at a revision; nil for those that others wrote.
func (o *ownWrites) shows(kv *mvccpb.KeyValue) *store.Encoded {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.all[string(kv.Key)]
	if w == nil || !bytes.Equal(w.data, kv.Value) {
		return nil
	}
	w.revision = uint64(kv.ModRevision)
	w.shown = store.Encode(w.value, w.revision)
	return &w.shown
}

// written is the value of a transaction that was made at a revision.
func (o *ownWrites) written(place string, value store.Value, revision uint64) store.Value {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w := o.all[place]; w != nil && w.revision == revision {
		return w.shown.Value
	}
	return store.Encode(value, revision).Value
}

// decode makes the values of events; those of own writes need not be decoded.
func (e *Engine) decode(page []keyValue, events []*mvccpb.Event) []decoded {
	all := make([]decoded, len(page))
	var others []int
	for i, kv := range page {
		if kv.key == "" || events[i].Type == mvccpb.DELETE {
			continue
		}
		if all[i].own = e.own.shows(kv.KeyValue); all[i].own == nil {
			others = append(others, i)
		} else if invariants.Enabled {
			e.checkOwn(kv, all[i].own)
		}
	}
	decodeEach(all, others, func(i int) (store.Value, error) { return e.cfg.Form.Decode(page[i].key, page[i].Value) })
	return all
}

// checkOwn compares the value of an own write with the one that its bytes in etcd give.
func (e *Engine) checkOwn(kv keyValue, own *store.Encoded) {
	v, err := e.cfg.Form.Decode(kv.key, kv.Value)
	if err == nil {
		v = store.Encode(v, uint64(kv.ModRevision)).Value
	}
	if err != nil || !e.cfg.Form.Equal(kv.key, own.Value, v) {
		invariants.Failf("%s was written as %q (%q) and is read as %q (%q), %v", kv.key, own.Value.Body, own.Value.Meta, v.Body, v.Meta, err)
	}
}
