package live

import (
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// View holds the objects of a collection at one revision. A view never changes, and the values
// in it must not be changed. The zero View has no objects.
type View[T any] struct {
	state    *state[T]
	revision uint64
}

// Change is the change of an object: Before is nil when it was missing or left out, After
// when it is so now.
type Change[T any] struct {
	Key           string
	Before, After T
}

// Revision is that of the newest change in the store up to which the view is complete.
func (v View[T]) Revision() uint64 { return v.revision }

func (v View[T]) objects() *btree.Map[string, T] {
	if v.state == nil {
		return new(btree.Map[string, T])
	}
	return v.state.objects
}

// Get returns the object of a key, nil for none.
func (v View[T]) Get(key string) T {
	value, _ := v.objects().Get(key)
	return value
}

// Under visits the objects whose keys have a prefix, in the order of keys.
func (v View[T]) Under(prefix string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		v.objects().Ascend(prefix, func(key string, value T) bool {
			return strings.HasPrefix(key, prefix) && yield(key, value)
		})
	}
}

// Since visits the differences from an earlier view: in the order of keys the new and
// changed objects, then the removed ones. It costs as much as the changes between them,
// unless before is the zero View.
func (v View[T]) Since(before View[T]) iter.Seq[Change[T]] {
	return func(yield func(Change[T]) bool) {
		if before.state == nil {
			for key, value := range v.Under("") {
				if !yield(Change[T]{Key: key, After: value}) {
					return
				}
			}
			return
		}
		var none T
		changes := v.between(before.state)
		for _, removed := range [...]bool{false, true} {
			for _, c := range changes {
				if same(c.After, none) == removed && !same(c.Before, c.After) && !yield(c) {
					return
				}
			}
		}
	}
}

// between are the differences from an earlier state, in the order of keys: one for each
// object that changed, even if it is again as it was.
func (v View[T]) between(earlier *state[T]) []Change[T] {
	var all []Change[T]
	for s := earlier; s != v.state; {
		s = s.next.Load()
		all = append(all, s.changes...)
	}
	slices.SortStableFunc(all, func(a, b Change[T]) int { return strings.Compare(a.Key, b.Key) })
	n := 0
	for i, c := range all {
		if i > 0 && all[n-1].Key == c.Key {
			all[n-1].After = c.After
		} else {
			all[n], n = c, n+1
		}
	}
	return all[:n]
}

// Index is a value derived from the objects of a collection.
type Index[T, I any] struct{ at int }

// Derive adds an index to a collection. fold makes the next index from the one before,
// which it may not change, since views have it, and some changes, in their order; first
// from the zero I and all objects as new ones, in the order of keys. Copy a small index;
// for a large one use a copy-on-write tree such as tidwall's. Like Decode, fold may
// neither block nor call the store. An index that is changed in place has to guard
// itself, and belongs to no revision.
func Derive[T, I any](c *Collection[T], fold func(index I, changes []Change[T]) I) Index[T, I] {
	derive := func(index any, changes []Change[T]) any {
		next := fold(*index.(*I), changes)
		return &next
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.latest.Load()
	var all []Change[T]
	for key, value := range (View[T]{state: now}).Under("") {
		all = append(all, Change[T]{Key: key, After: value})
	}
	c.derived = append(c.derived, derive)
	c.follow(&state[T]{revision: now.revision, objects: now.objects, indexes: append(slices.Clone(now.indexes), derive(new(I), all))})
	return Index[T, I]{len(c.derived) - 1}
}

// Of returns the index in a view that was taken after Derive, of the same collection. The
// zero View has the zero I.
func (x Index[T, I]) Of(v View[T]) (none I) {
	if v.state == nil {
		return none
	}
	return *v.state.indexes[x.at].(*I)
}
