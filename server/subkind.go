package server

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
)

// subKind is the kind of a subresource's bodies, where it has one of its own.
func subKind(t target) bodyKind {
	version := api.GroupVersion{Group: t.Sub.Group, Version: t.Sub.Version}
	want := bodyKind{schema: t.Row.SchemaOf(t.Sub), typ: t.Sub.Type, apiVersion: version.APIVersion(), kind: t.Sub.Kind}
	if also := t.Sub.AlsoAccepts; also != nil {
		want.also = func(version string) bool { return slices.Contains(also, version) }
	}
	return want
}
