package objects

import (
	"cmp"
	"context"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Body is the object of a request that is not stored itself, on its way through
// admission: a review, a binding, an eviction, or the options of a connection.
type Body struct {
	of      Ref
	request admission.Request
	opts    Options
	meter   expression.Meter
}

// NewBody makes the body of a create of the target.
func NewBody(of Ref, opts Options, obj document.Value) *Body {
	b := &Body{of: of, opts: opts}
	b.request = admission.Request{Operation: admission.Create, Resource: of.Row.Resource, Asked: of.Row.Resource, Subresource: of.subName(),
		OtherKind: true, Namespace: of.Namespace,
		Name: cmp.Or(of.Name, obj.At("metadata", "name").Text()), User: opts.User, DryRun: opts.DryRun, Object: obj, By: b}
	return b
}

// NewConnection makes the options of a connection to the target.
func NewConnection(of Ref, opts Options, obj document.Value) *Body {
	b := NewBody(of, opts, obj)
	b.request.Operation = admission.Connect
	return b
}

// Options implements admission.Author. Connections have none.
func (b *Body) Options(r *admission.Request) []byte {
	if r.Operation == admission.Connect {
		return []byte("null")
	}
	return optionsText(r.Operation, &b.opts, nil)
}

// Warn implements admission.Author.
func (b *Body) Warn(text string) {
	if b.opts.Author != nil {
		b.opts.Author.Warn(text)
	}
}

// Audited implements admission.Author.
func (b *Body) Audited(bodies bool) bool {
	return b.opts.Author != nil && b.opts.Author.Audited(bodies)
}

// Annotate implements admission.Author.
func (b *Body) Annotate(key, value string) {
	if b.opts.Author != nil {
		b.opts.Author.Annotate(key, value)
	}
}

// Undo implements admission.Author. A body is admitted once: nothing is given back.
func (b *Body) Undo(func()) {}

// AdmitBody runs the mutating admission plug-ins, which may change the body.
func (o *Objects) AdmitBody(ctx context.Context, b *Body) error {
	return o.admission.Admit(b.meter.In(ctx), &b.request)
}

// AdmitContent is AdmitBody for a body that counts as new content of its namespace.
func (o *Objects) AdmitContent(ctx context.Context, b *Body) error {
	if err := o.NamespaceAccepts(ctx, b.of.Row, b.of.Namespace, b.request.Name); err != nil {
		return err
	}
	return o.AdmitBody(ctx, b)
}

// CheckBody runs the validating admission plug-ins on the valid body.
func (o *Objects) CheckBody(ctx context.Context, b *Body) error {
	return o.admission.Check(b.meter.In(ctx), &b.request)
}
