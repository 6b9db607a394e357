package server

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
)

// subKind is the kind of a subresource's bodies, where it has one of its own.
func subKind(t target) bodyKind {
	version := api.GroupVersion{Group: t.sub.Group, Version: t.sub.Version}
	want := bodyKind{schema: t.resource.SchemaOf(t.sub), typ: t.sub.Type, apiVersion: version.APIVersion(), kind: t.sub.Kind}
	if also := t.sub.AlsoAccepts; also != nil {
		want.also = func(version string) bool { return slices.Contains(also, version) }
	}
	return want
}
