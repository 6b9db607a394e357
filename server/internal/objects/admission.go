package objects

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Admitter runs the enabled admission plug-ins (admission.Chain).
type Admitter interface {
	Admit(ctx context.Context, r *admission.Request) error
	Check(ctx context.Context, r *admission.Request) error
	Waits(o admission.Operation, resource *api.Resource, subresource string) bool
}

// admission is the write as admission plug-ins see it.
func (e *Evaluation) admission() admission.Request {
	of, old := e.judged()
	r := admission.Request{Operation: admission.Create, Resource: of.Row.Resource, Namespace: e.Namespace, User: e.Opts.User, Object: e.obj, Old: old}
	if e.Sub != nil {
		r.Subresource = e.Sub.Name
	}
	if e.Via != nil {
		r.Subresource, r.Object, r.Old = e.Via.Subresource, e.Via.Obj, e.Via.Old
	}
	switch {
	case e.Via == nil && e.deletes != nil:
		r.Operation, r.Object = admission.Delete, document.Value{}
	case r.Old.Exists():
		r.Operation = admission.Update
	}
	return r
}
