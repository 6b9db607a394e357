package server

import "github.com/capstan-dev/capstan/internal/gen/profile"

// metaGroup is the group of the representations that every kind has.
const metaGroup = "meta." + profile.GroupSuffix

// of gives the kind another apiVersion.
func (want bodyKind) of(apiVersion string) bodyKind {
	want.apiVersion = apiVersion
	return want
}

// metaKind is a kind that all groups share: options, Status.
func (s *Server) metaKind(kind string) bodyKind {
	meta := s.catalog.Meta
	return bodyKind{schema: meta, typ: meta.Table().Root(kind), apiVersion: "v1", kind: kind}
}

// everywhere reports whether the kinds that all groups share may name a version:
// clients write the options of a request in the version of its resource.
func (s *Server) everywhere(apiVersion string) bool {
	return apiVersion == metaGroup+"/v1" || s.catalog.Snapshot().Has(apiVersion)
}
