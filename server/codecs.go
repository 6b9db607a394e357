package server

import (
	"slices"

	"github.com/capstan-dev/capstan/gen/catalog"
	"github.com/capstan-dev/capstan/gen/profile"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/schema"
)

// metaGroup is the group of the representations that every kind has.
const metaGroup = "meta." + profile.GroupSuffix

// codecs holds the prepared binary form of every table.
type codecs map[*schema.Table]*codec.BinaryCodec

func newCodecs(groups []*api.GroupVersion) codecs {
	c := codecs{catalog.Meta(): codec.NewBinary(catalog.Meta())}
	for _, gv := range groups {
		c[gv.Table] = codec.NewBinary(gv.Table)
	}
	return c
}

// of gives the kind another apiVersion.
func (want bodyKind) of(apiVersion string) bodyKind {
	want.apiVersion = apiVersion
	return want
}

// metaKind is a kind that all groups share: options, Status.
func metaKind(kind string) bodyKind {
	table := catalog.Meta()
	return bodyKind{table: table, typ: table.Root(kind), apiVersion: "v1", kind: kind}
}

// everywhere reports whether the kinds that all groups share may name a version:
// clients write the options of a request in the version of its resource.
func (s *Server) everywhere(apiVersion string) bool {
	return apiVersion == metaGroup+"/v1" || slices.ContainsFunc(s.groups, func(gv *api.GroupVersion) bool { return gv.APIVersion() == apiVersion })
}
