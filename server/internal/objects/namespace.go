package objects

import (
	"hash/maphash"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// IsNamespace reports whether a resource is that of namespaces, which hold
// others and therefore go in steps: a delete makes one terminating, and the
// finalize subresource says that its content is gone.
func IsNamespace(res *catalog.Row) bool { return res.Role == api.RoleNamespaces }

// namespaceLocks keep objects from being born into a namespace that is on its way out.
//
// Invariant: whoever creates an object holds its namespace's lock for reading,
// from the check that the namespace accepts it until it is stored; whoever deletes
// a namespace holds the lock for writing. So what empties a terminating namespace
// sees all that will ever be in it. Several namespaces may share a lock.
type namespaceLocks struct {
	seed  maphash.Seed
	locks [64]sync.RWMutex
}

func newNamespaceLocks() *namespaceLocks { return &namespaceLocks{seed: maphash.MakeSeed()} }

func (b *namespaceLocks) lock(namespace string) *sync.RWMutex {
	return &b.locks[maphash.String(b.seed, namespace)%uint64(len(b.locks))]
}
