package server

import (
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
)

// serverManager is the manager of what the server writes of its own accord.
const serverManager = "kube-apiserver"

// fieldWrite says in whose name and where a write happens.
func (s *Server) fieldWrite(t target, opts writeOptions) apply.Write {
	w := apply.Write{Manager: opts.manager, Subresource: opts.subresource, Time: s.now(), Reset: t.resource.Ownership().Reset(t.sub)}
	if w.Manager == "" {
		w.Manager = serverManager
	}
	if t.sub != nil {
		w.Subresource = t.sub.Name
	}
	return w
}

// own records in obj who owns what, after a write that is not an apply. old is the
// object that it replaces, absent on create.
func (s *Server) own(t target, old, obj document.Value, opts writeOptions) error {
	if opts.applied {
		return nil
	}
	return t.resource.Ownership().Kind.Update(old, obj, s.fieldWrite(t, opts))
}
