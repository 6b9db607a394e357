package registry

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// ownGroup begins the keys of the records that are not objects.
const ownGroup = "capstan"

// kind is the form of a built-in kind in etcd.
type kind struct {
	prefix     string // the beginning of its keys in the store
	place      string // the beginning of its keys in etcd
	apiVersion string // in etcd
	namespaced bool
	text       bool   // JSON in the order of the fields; otherwise binary
	older      *older // of an apiVersion that the catalog does not have; nil for others
}

// The groups whose objects are JSON in etcd, under keys with the group.
const (
	definitionGroup = "apiextensions." + profile.GroupSuffix
	serviceGroup    = "apiregistration." + profile.GroupSuffix
)

// oddPlaces are the beginnings of keys in etcd that are not "/<plural>/".
var oddPlaces = map[string]string{
	"core/nodes/":                  "/minions/",
	"core/replicationcontrollers/": "/controllers/",
	"core/services/":               "/services/specs/",
	"core/endpoints/":              "/services/endpoints/",
	"networking." + profile.GroupSuffix + "/ingresses/": "/ingress/",
}

// oddVersions are the versions of kinds in etcd that are not their versions in the store, in the releases that have them.
var oddVersions = map[string]string{
	"autoscaling/horizontalpodautoscalers/":                                          "v1",
	"flowcontrol.apiserver." + profile.GroupSuffix + "/flowschemas/":                 "v1beta1",
	"flowcontrol.apiserver." + profile.GroupSuffix + "/prioritylevelconfigurations/": "v1beta1",
}

// olderKinds are the kinds that lie in etcd in a version that the catalog does not have, by
// the beginnings of their keys.
func olderKinds() map[string]*older {
	return map[string]*older{
		"policy/poddisruptionbudgets/":                          budgetForm(),
		"discovery." + profile.GroupSuffix + "/endpointslices/": sliceForm(),
		definitionGroup + "/customresourcedefinitions/":         definitionForm(),
	}
}

// older is the form of a kind in a version that the catalog does not have.
type older struct {
	version string
	// binary is the binary form of the version, of the types of the storage version; nil for
	// that of the storage version itself.
	binary func(row *catalog.Row) *codec.BinaryCodec
	// encode turns the JSON of an object in the storage version into that of the older one.
	encode func(row *catalog.Row, text []byte) ([]byte, error)
	// text turns the names of the binary form into those of the text of the version; nil where they
	// are the same.
	text func(root document.Value)
	// decode is the way back of encode and text. Its result may lack defaults.
	decode func(text []byte) ([]byte, error)
}

// newKind is the form of a type; nil for those without built-in objects.
func newKind(t *catalog.Type, olders map[string]*older) *kind {
	row := t.Stored
	if row == nil || row.Definition != nil || foreign(row.GV.Group) {
		return nil
	}
	k := &kind{prefix: t.Prefix, place: oddPlaces[t.Prefix], apiVersion: row.GV.APIVersion(), namespaced: row.Namespaced, older: olders[t.Prefix]}
	if k.text = row.GV.Group == definitionGroup || row.GV.Group == serviceGroup; k.text {
		k.place = "/" + t.Prefix
	}
	if k.place == "" {
		k.place = "/" + row.Plural + "/"
	}
	if version := row.GV.Group + "/" + oddVersions[t.Prefix]; t.Version(version) != nil {
		k.apiVersion = version
	}
	if k.older != nil {
		k.apiVersion = row.GV.Group + "/" + k.older.version
	}
	return k
}

// binary is the binary form of a row that the kind lies in, or of its version in etcd.
func (k *kind) binary(row *catalog.Row, older bool) *codec.BinaryCodec {
	if older && k.older.binary != nil {
		return k.older.binary(row)
	}
	return row.Schema.Binary()
}

// foreign reports whether a group is one of the documents of another module, whose objects
// lie in etcd as custom ones do.
func foreign(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, "."+profile.GroupSuffix)
}
