package endpoints

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// subKind is the kind of a subresource's bodies, if it has one of its own.
func subKind(t front.Target) front.BodyKind {
	version := api.GroupVersion{Group: t.Sub.Group, Version: t.Sub.Version}
	want := front.BodyKind{Schema: t.Row.SchemaOf(t.Sub), Type: t.Sub.Type, APIVersion: version.APIVersion(), Kind: t.Sub.Kind}
	if also := t.Sub.AlsoAccepts; also != nil {
		want.Also = func(version string) bool { return slices.Contains(also, version) }
	}
	return want
}
