package etcd

import (
	"bytes"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/store"
)

// ownWrites are the values of this server's transactions under way. When the watch shows the bytes of
// one of them, its value need not be decoded.
//
// Invariant: a value is only used under the lock, since its bytes belong to the transaction, which
// takes it out before it ends.
type ownWrites struct {
	mu  sync.Mutex
	all map[string]ownWrite // by place
}

type ownWrite struct {
	data  []byte // in etcd
	value store.Value
}

// begin notes the value of a place. The lock of its key lets one transaction do that at a time.
func (o *ownWrites) begin(place string, data []byte, value store.Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[string]ownWrite{}
	}
	o.all[place] = ownWrite{data, value}
}

// end takes places out, those of a transaction that ends.
func (o *ownWrites) end(places []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, place := range places {
		delete(o.all, place)
	}
}

// value copies the value whose bytes the watch shows; ok is false for what others wrote.
func (o *ownWrites) value(place, data []byte) (v store.Value, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok := o.all[string(place)]
	if !ok || !bytes.Equal(w.data, data) {
		return v, false
	}
	return store.Value{Meta: slices.Clone(w.value.Meta), Body: slices.Clone(w.value.Body), RevisionAt: w.value.RevisionAt}, true
}

// decode makes the values of events; those of own writes need not be decoded.
func (e *Engine) decode(page []keyValue, events []*mvccpb.Event) []decoded {
	all := make([]decoded, len(page))
	var others []int
	for i, kv := range page {
		if kv.key == "" || events[i].Type == mvccpb.DELETE {
			continue
		}
		own, ok := e.own.value(kv.Key, kv.Value)
		if !ok {
			others = append(others, i)
			continue
		}
		all[i].value = own
		if invariants.Enabled {
			if v, err := e.cfg.Form.Decode(kv.key, kv.Value); err != nil || !e.cfg.Form.Equal(kv.key, own, v) {
				invariants.Failf("%s was written as %q (%q) and is read as %q (%q), %v", kv.key, own.Body, own.Meta, v.Body, v.Meta, err)
			}
		}
	}
	decodeEach(all, others, func(i int) (store.Value, error) { return e.cfg.Form.Decode(page[i].key, page[i].Value) })
	return all
}
