package etcd

import "github.com/capstan-dev/capstan/internal/store"

// Form is how objects lie in etcd.
type Form interface {
	// Place is the key in etcd of a key of the store, below the prefix: "/pods/shop/web".
	Place(key string) string
	// Key is the key of the store of a place in etcd. ok is false for what others keep there.
	Key(place string) (key string, ok bool)
	// Encode makes the bytes that etcd keeps of a value, which is one of a transaction.
	Encode(key string, v store.Value) ([]byte, error)
	// Decode makes a value of the bytes that etcd keeps, with RevisionAt.
	Decode(key string, data []byte) (store.Value, error)
	// Equal reports whether two values of a key are the same in etcd.
	Equal(key string, a, b store.Value) bool
	// Varies reports whether the value of a key may be Stale.
	Varies(key string) bool
	// Stale reports whether the bytes would be written or encrypted in another way today.
	Stale(key string, data []byte) bool
	// Last is the final state of a deleted key: the value of its last entry, with RevisionAt.
	Last(e store.Entry) (store.Value, error)
}
