package server

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// admitter is what writes ask: all admission plug-ins that are on (admission.Chain).
type admitter interface {
	Admit(ctx context.Context, r *admission.Request) error
	Check(ctx context.Context, r *admission.Request) error
	Waits(o admission.Operation, resource *api.Resource, subresource string) bool
}

// admission is what the admission plug-ins see of the write.
func (e *evaluation) admission() admission.Request {
	r := admission.Request{Operation: admission.Create, Resource: e.stored.resource.Resource, Namespace: e.namespace, User: e.opts.user, Object: e.obj, Old: e.old}
	if e.sub != nil {
		r.Subresource = e.sub.Name
	}
	if e.via != nil {
		r.Subresource, r.Object, r.Old = e.via.subresource, e.via.obj, e.via.old
	}
	switch {
	case e.via == nil && e.deletes != nil:
		r.Operation, r.Object = admission.Delete, document.Value{}
	case r.Old.Exists():
		r.Operation = admission.Update
	}
	return r
}
