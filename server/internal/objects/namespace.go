package objects

import (
	"hash/maphash"
	"strconv"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// IsNamespace reports whether a resource is that of namespaces, which contain others and
// are therefore deleted in steps: a delete makes one terminating, and the finalize
// subresource reports that its content is gone.
func IsNamespace(res *catalog.Row) bool { return res.Role == api.RoleNamespaces }

// namespaceLocks prevent creates in a namespace that is being deleted.
//
// Invariant: a create holds its namespace's lock for reading, from the check that the
// namespace accepts it until the object is stored; a delete of a namespace holds the lock
// for writing. So the controller that empties a terminating namespace sees all objects
// that will ever be in it. Several namespaces may share a lock. The locks hold in one
// process, the only one that writes the store.
type namespaceLocks struct {
	seed  maphash.Seed
	locks [64]sync.RWMutex
}

func newNamespaceLocks() *namespaceLocks { return &namespaceLocks{seed: maphash.MakeSeed()} }

func (b *namespaceLocks) lock(namespace string) *sync.RWMutex {
	return &b.locks[maphash.String(b.seed, namespace)%uint64(len(b.locks))]
}

// lockEnding keeps objects from being created in a namespace while its deletion is stored.
func (e *Evaluation) lockEnding() {
	if e.deletes != nil && e.ends == nil && IsNamespace(e.Row) { // a commit may run again
		e.ends = e.s.namespaces.lock(e.Name)
		e.ends.Lock()
	}
}

func (e *Evaluation) unlockEnding() {
	if e.ends != nil {
		e.ends.Unlock()
		e.ends = nil
	}
}

// OpenNamespace checks that the namespace of a new object exists and accepts it. A missing
// one is created, where the server does that.
func (e *Evaluation) OpenNamespace(name string) error {
	o := e.s
	err := o.NamespaceAccepts(e.ctx, e.Row, e.Namespace, name)
	if !o.cfg.ProvidesNamespaces || e.Opts.DryRun || !api.IsReason(err, api.ReasonNotFound) {
		return err
	}
	row := o.catalog.Snapshot().Core("namespaces")
	_, err = o.Write(e.ctx, &Write{Ref: Ref{Row: row}, Creates: true, Change: NewObject(nil, func() (*document.Document, error) {
		return o.DecodeOwn(row, []byte(`{"metadata":{"name":`+strconv.Quote(e.Namespace)+`}}`))
	})})
	if err != nil && !api.IsReason(err, api.ReasonAlreadyExists) {
		return api.Forbidden(e.Row.GroupResource(), name, err.Error())
	}
	return o.NamespaceAccepts(e.ctx, e.Row, e.Namespace, name)
}
