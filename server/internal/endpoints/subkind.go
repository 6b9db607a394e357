package endpoints

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// subKind is the kind of a subresource's bodies, if it has one of its own.
func subKind(t request.Target) request.BodyKind {
	version := api.GroupVersion{Group: t.Sub.Group, Version: t.Sub.Version}
	want := request.BodyKind{Schema: t.Row.SchemaOf(t.Sub), Type: t.Sub.Type, APIVersion: version.APIVersion(), Kind: t.Sub.Kind}
	if also := t.Sub.AlsoAccepts; also != nil {
		want.Also = func(version string) bool { return slices.Contains(also, version) }
	}
	return want
}

// ownBody records the ownership of fields in a body that is not stored, as admission and its
// answer show it.
func (x *Endpoints) ownBody(t request.Target, obj document.Value, opts objects.Options) error {
	w := x.objects.FieldWrite(t.Ref, opts)
	w.Reset = apply.Set{}
	kind := &t.Row.Ownership().Kind
	if t.Sub != nil {
		kind = t.Row.Ownership().Bodies[t.Sub.Name]
	}
	return kind.Update(document.Value{}, obj, w)
}
