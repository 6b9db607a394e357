package addresses

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/store"
)

// Allocations is a store that several servers share. With each write of a service it writes the
// allocations that change: a bit for each address and node port. Kube-apiserver keeps the same
// allocations. Two servers that give two services one address at once write the same allocations,
// so that one of them has to decide again.
//
// Invariant: a service has no address that is not allocated. An allocation without a service is
// left by a server that died before its write, or by a kube-apiserver: Repair removes it.
type Allocations struct {
	store.Store
	services string          // the beginning of the keys of services
	keys     []string        // of the allocations
	spans    []allocate.Span // in the order of keys

	unused map[allocate.Item]bool // allocations without a service in the last repair
}

// The keys of allocations. Their values are the range as a line of text, and the bits.
var (
	addressKeys = []string{"ranges/serviceips", "ranges/secondaryserviceips"} // in the order of the families
	portsKey    = "ranges/servicenodeports"
)

// NewAllocations makes the store of services, whose keys have a prefix, over another one. With portsOnly there are
// allocations of node ports only, as where addresses have objects.
func NewAllocations(cfg *Config, services string, portsOnly bool, s store.Store) (*Allocations, error) {
	all, err := newAllocator(cfg, services, nil)
	if err != nil {
		return nil, err
	}
	r := &Allocations{Store: s, services: services}
	for i, family := range all.Families() {
		if portsOnly {
			break
		}
		r.keys, r.spans = append(r.keys, addressKeys[i]), append(r.spans, all.Span(family))
	}
	r.keys, r.spans = append(r.keys, portsKey), append(r.spans, all.Span(""))
	return r, nil
}

// Update implements store.Transactions.
func (r *Allocations) Update(ctx context.Context, key string, fn func(*store.Entry) (store.Write, error)) (store.Entry, error) {
	if !strings.HasPrefix(key, r.services) {
		return r.Store.Update(ctx, key, fn)
	}
	all, err := r.UpdateAll(ctx, []string{key}, func(current []*store.Entry) ([]store.Write, error) {
		w, err := fn(current[0])
		return []store.Write{w}, err
	})
	if err != nil {
		return store.Entry{}, err
	}
	return all[0], nil
}

// UpdateAll implements store.Transactions.
func (r *Allocations) UpdateAll(ctx context.Context, keys []string, fn func([]*store.Entry) ([]store.Write, error)) ([]store.Entry, error) {
	isService := func(key string) bool { return strings.HasPrefix(key, r.services) }
	if !slices.ContainsFunc(keys, isService) {
		return r.Store.UpdateAll(ctx, keys, fn)
	}
	n := len(keys)
	all, err := r.Store.UpdateAll(ctx, append(slices.Clone(keys), r.keys...), func(current []*store.Entry) ([]store.Write, error) {
		writes, err := fn(current[:n])
		if err != nil {
			return nil, err
		}
		var taken, freed []allocate.Item
		for i, key := range keys {
			if !isService(key) || writes[i].Op == 0 {
				continue
			}
			before, after, err := itemsOf(current[i], writes[i])
			if err != nil {
				return nil, err
			}
			taken, freed = append(taken, without(after, before)...), append(freed, without(before, after)...)
		}
		changes, err := r.change(current[n:], taken, freed)
		return append(writes, changes...), err
	})
	if err != nil {
		return nil, err
	}
	return all[:n], nil
}

// itemsOf are the items of a service before and after a write.
func itemsOf(current *store.Entry, w store.Write) (before, after []allocate.Item, err error) {
	if current != nil {
		items, err := serviceItems(current)
		if err != nil {
			return nil, nil, err
		}
		before = *items
	}
	if w.Op != store.OpDelete {
		items, err := serviceItems(&store.Entry{Value: w.Value})
		if err != nil {
			return nil, nil, err
		}
		after = *items
	}
	return before, after, nil
}

// without is the items of a list that another one lacks, each once: ports with different protocols
// may share a node port.
func without(list, other []allocate.Item) (rest []allocate.Item) {
	for _, i := range list {
		if !slices.Contains(other, i) && !slices.Contains(rest, i) {
			rest = append(rest, i)
		}
	}
	return rest
}

// change is the writes of allocations for items that are taken and freed. Items in no range have
// no allocation. An item that is allocated already is another server's: allocate.ErrElsewhere.
func (r *Allocations) change(current []*store.Entry, taken, freed []allocate.Item) ([]store.Write, error) {
	writes := make([]store.Write, len(r.keys))
	for i, span := range r.spans {
		bits, err := bitsOf(current[i], span)
		if err != nil {
			return nil, err
		}
		changed := false
		set := func(items []allocate.Item, to uint) error {
			for _, item := range items {
				n, in := span.Number(item)
				switch {
				case !in:
				case to == 1 && bits.Bit(n) == 1:
					return allocate.ErrElsewhere
				default:
					bits.SetBit(bits, n, to)
					changed = true
				}
			}
			return nil
		}
		if err := set(freed, 0); err != nil {
			return nil, err
		}
		if err := set(taken, 1); err != nil {
			return nil, err
		}
		if changed {
			writes[i] = bitsWrite(current[i], span, bits)
		}
	}
	return writes, nil
}

// bitsOf reads the allocations of a range; none of a missing entry.
func bitsOf(current *store.Entry, span allocate.Span) (*big.Int, error) {
	if current == nil {
		return new(big.Int), nil
	}
	text, bits, _ := bytes.Cut(current.Body, []byte("\n"))
	if string(text) != span.Range() {
		return nil, fmt.Errorf("the servers of this cluster have allocated from %s, not from %s: give all of them the same --service-cluster-ip-range and --service-node-port-range", text, span.Range())
	}
	return new(big.Int).SetBytes(bits), nil
}

// bitsWrite is the write of the allocations of a range.
func bitsWrite(current *store.Entry, span allocate.Span, bits *big.Int) store.Write {
	w := store.Write{Op: store.OpCreate, Value: store.Value{Body: append([]byte(span.Range()+"\n"), bits.Bytes()...), RevisionAt: -1}}
	if current != nil {
		w.Op = store.OpUpdate
	}
	return w
}

// Repair compares the allocations with the services. A service's missing allocation is made; one
// without a service is removed when two repairs in a row find it.
func (r *Allocations) Repair(ctx context.Context) error {
	unused := map[allocate.Item]bool{}
	_, err := r.Store.UpdateAll(ctx, r.keys, func(current []*store.Entry) ([]store.Write, error) {
		clear(unused)
		owned, err := r.owned(ctx)
		if err != nil {
			return nil, err
		}
		writes := make([]store.Write, len(r.keys))
		for i, span := range r.spans {
			bits, err := bitsOf(current[i], span)
			if err != nil {
				return nil, err
			}
			changed := current[i] == nil
			for n := range span.Size() {
				item := span.Item(n)
				allocated := bits.Bit(n) == 1
				switch {
				case owned[item] && !allocated:
					bits.SetBit(bits, n, 1)
					changed = true
				case owned[item] || !allocated:
				case r.unused[item]:
					bits.SetBit(bits, n, 0)
					changed = true
				default:
					unused[item] = true
				}
			}
			if changed {
				writes[i] = bitsWrite(current[i], span, bits)
			}
		}
		return writes, nil
	})
	if err == nil {
		r.unused = unused
	}
	return err
}

// owned is the items of all services.
func (r *Allocations) owned(ctx context.Context) (map[allocate.Item]bool, error) {
	view, err := r.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	all := map[allocate.Item]bool{}
	var wrong error
	err = view.Scan(ctx, r.services, "", func(e *store.Entry) bool {
		var items *[]allocate.Item
		if items, wrong = serviceItems(e); wrong != nil {
			return false
		}
		for _, item := range *items {
			all[item] = true
		}
		return true
	})
	if err == nil {
		err = wrong
	}
	return all, err
}
