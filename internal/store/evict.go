package store

// EvictWhile removes entries, in the random order of the map, while the cache is full; one that
// was used since its last turn is spared once. Under repeated scans of a collection larger
// than the cache, random order keeps a part of it where the order of use would keep nothing.
func EvictWhile[K comparable, V any](full func() bool, entries map[K]V, used func(V) *bool, remove func(K, V)) {
	for full() {
		for k, v := range entries {
			if u := used(v); *u {
				*u = false
				continue
			}
			if remove(k, v); !full() {
				return
			}
		}
	}
}
