package request

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// metaGroup is the group of the representations of every kind.
const metaGroup = "meta." + profile.GroupSuffix

// Of returns the kind with another apiVersion.
func (want BodyKind) Of(apiVersion string) BodyKind {
	want.APIVersion = apiVersion
	return want
}

// MetaKind is a kind common to all groups: options, Status.
func (env *Env) MetaKind(kind string) BodyKind {
	meta := env.catalog.Meta
	return BodyKind{Schema: meta, Type: meta.Table().Root(kind), APIVersion: "v1", Kind: kind}
}

// Everywhere reports whether the common kinds may have a version: clients write the
// options of a request in the version of its resource, or in one that is not served any more.
func Everywhere(apiVersion string) bool { return strings.Count(apiVersion, "/") < 2 }
