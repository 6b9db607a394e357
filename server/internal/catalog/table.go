package catalog

import (
	"hash/maphash"
	"iter"
	"maps"
)

// table is a map whose copies are independent and cheap: it is copied by assignment, and
// a change of one copy copies the part of the map that has the key. The zero table is
// empty. Copies may be read while others are changed.
type table[K comparable, V any] struct {
	fixed map[K]V              // the keys that seldom change, found first: a part of its own
	parts *[tableParts]map[K]V // of the other keys; neither the array nor a map in it changes
}

// tableParts makes parts of some 40 keys when there are 10,000.
const tableParts = 256

var tableSeed = maphash.MakeSeed()

func partOf[K comparable](key K) int { return int(maphash.Comparable(tableSeed, key) % tableParts) }

// get is the value of a key, the zero V for one that is not there.
func (t *table[K, V]) get(key K) (none V) {
	if value, ok := t.fixed[key]; ok || t.parts == nil {
		return value
	}
	return t.parts[partOf(key)][key]
}

// fix makes all present keys those that seldom change.
func (t *table[K, V]) fix() {
	fixed := map[K]V{}
	for part := range t.all {
		maps.Copy(fixed, part)
	}
	t.fixed, t.parts = fixed, nil
}

func (t *table[K, V]) set(key K, value V) {
	t.change(key, func(part map[K]V) { part[key] = value })
}

func (t *table[K, V]) remove(key K) {
	t.change(key, func(part map[K]V) { delete(part, key) })
}

func (t *table[K, V]) change(key K, edit func(part map[K]V)) {
	if _, ok := t.fixed[key]; ok {
		t.fixed = maps.Clone(t.fixed)
		edit(t.fixed)
		return
	}
	parts := new([tableParts]map[K]V)
	if t.parts != nil {
		*parts = *t.parts
	}
	at := partOf(key)
	part := maps.Clone(parts[at])
	if part == nil {
		part = map[K]V{}
	}
	edit(part)
	parts[at], t.parts = part, parts
}

// all visits the maps that the table consists of.
func (t *table[K, V]) all(yield func(map[K]V) bool) {
	if !yield(t.fixed) || t.parts == nil {
		return
	}
	for _, part := range t.parts {
		if !yield(part) {
			return
		}
	}
}

func (t *table[K, V]) values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for part := range t.all {
			for _, value := range part {
				if !yield(value) {
					return
				}
			}
		}
	}
}

func (t *table[K, V]) len() (n int) {
	for part := range t.all {
		n += len(part)
	}
	return n
}
