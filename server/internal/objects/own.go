package objects

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// serverManager is the manager of the server's own writes.
const serverManager = "kube-apiserver"

// FieldWrite is the manager and endpoint of a write.
func (o *Objects) FieldWrite(t Ref, opts Options) apply.Write {
	w := apply.Write{Manager: opts.Manager, Subresource: opts.Subresource, Time: o.Now(), Reset: t.Row.Ownership().Reset(t.Sub), Lists: o.since("1.29")}
	if w.Manager == "" {
		w.Manager = serverManager
	}
	if t.Sub != nil {
		w.Subresource = t.Sub.Name
	}
	return w
}

// Own records the ownership of fields in obj, after a write that is not an apply. old is
// the object that it replaces, absent on create.
func (o *Objects) Own(ctx context.Context, t Ref, old, obj document.Value, opts Options) error {
	if opts.Applied {
		return nil
	}
	err := t.Row.Ownership().For(ctx).Update(old, obj, o.FieldWrite(t, opts))
	if err != nil && t.Row.Versions.ConvertsRemotely() {
		// A write does not need the versions of its earlier managers: the record stays.
		keepMember(obj.SetObject("metadata"), old.Get("metadata"), "managedFields")
		return ctx.Err()
	}
	return err
}

// DecodeOwn decodes an object that the server itself makes. Its kind may be missing.
func (o *Objects) DecodeOwn(res *catalog.Row, text []byte) (*document.Document, error) {
	decoder := document.Decoder{Table: res.GV.Types(), Defaults: res.GV.Defaults, Limits: o.decodeLimits}
	doc, _, err := decoder.Decode(res.Type, text)
	if err != nil {
		return nil, err
	}
	doc.Root().SetString("kind", res.Kind)
	doc.Root().SetString("apiVersion", res.GV.APIVersion())
	return doc, nil
}

// ErrNothing leaves a transaction that has nothing to write.
var ErrNothing = errors.New("nothing to write")
