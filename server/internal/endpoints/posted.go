package endpoints

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// posted is the way of a body that is not stored itself: of an action, a binding, an eviction, a request for a token, or a
// review.
type posted struct {
	kind  request.BodyKind
	meta  func(meta document.Value)                          // changes what the author has set
	admit func(obj document.Value, body *objects.Body) error // runs the mutating plug-ins
	check func(obj document.Value) error                     // of what these have made of the body
}

// receive reads a body, which runs through admission as a new object does. The caller releases it.
func (x *Endpoints) receive(r *request.Request, opts objects.Options, p posted) (*document.Document, error) {
	doc, err := x.env.ReadObject(r, p.kind, opts.Validation)
	if err != nil {
		return nil, err
	}
	if err := x.admitPosted(r, opts, p, doc.Root()); err != nil {
		doc.Release()
		return nil, err
	}
	return doc, nil
}

// admitPosted runs admission on a body.
func (x *Endpoints) admitPosted(r *request.Request, opts objects.Options, p posted, obj document.Value) error {
	t, meta := r.Target, obj.SetObject("metadata")
	p.meta(meta)
	if err := objects.MatchNamespace(t.Row, meta, t.Namespace); err != nil {
		return err
	}
	if err := x.ownBody(t, obj, opts); err != nil {
		return err
	}
	body := objects.NewBody(t.Ref, opts, obj)
	if err := p.admit(obj, body); err != nil {
		return err
	}
	if err := p.check(obj); err != nil {
		return err
	}
	return x.objects.CheckBody(r.Context, body)
}

// asContent runs the mutating plug-ins on bodies that count as new content of their namespace.
func (x *Endpoints) asContent(r *request.Request) func(document.Value, *objects.Body) error {
	return func(_ document.Value, body *objects.Body) error { return x.objects.AdmitContent(r.Context, body) }
}

// bodyKind is the kind of the bodies of a target.
func bodyKind(t request.Target) request.BodyKind {
	if t.Sub == nil {
		return request.KindOf(t.Row)
	}
	return subKind(t)
}
