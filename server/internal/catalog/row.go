package catalog

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Type is a resource type in all its versions: they share names, keys, uids and
// revisions.
type Type struct {
	Prefix string // the beginning of its keys in the store: "core/pods/", "apps/deployments/"
	Rows   []*Row // one for each version, in the order of the documents
	Stored *Row   // of the storage version; nil for a type that stores no objects
}

// Served reports whether a version of the type is served.
func (t *Type) Served() bool { return slices.ContainsFunc(t.Rows, func(r *Row) bool { return !r.Off }) }

// ConvertsRemotely reports whether a conversion between its versions may wait.
func (t *Type) ConvertsRemotely() bool {
	return slices.ContainsFunc(t.Rows, func(r *Row) bool { return r.ConvertsRemotely() })
}

// Version finds the row of an apiVersion; nil when the type has none.
func (t *Type) Version(apiVersion string) *Row {
	for _, row := range t.Rows {
		if row.GV.APIVersion() == apiVersion {
			return row
		}
	}
	return nil
}

// Row is one resource type in one version: the facts of its document, and values derived
// from them, which are made on demand and kept with the row. A row never changes.
type Row struct {
	*api.Resource
	Versions *Type   // all versions of the row's type, itself included
	Schema   *Schema // of the row's objects

	ownership func() *Ownership
	subs      map[*schema.Table]*Schema // of the bodies of subresources
}

// Vanishes reports whether the objects are deleted some time after their last write, as events are.
func (r *Row) Vanishes() bool {
	return r.Versions != nil && r.Versions.Stored != nil && r.Versions.Stored.Expires
}

// SchemaOf is the schema of the bodies of one of the row's subresources.
func (r *Row) SchemaOf(sub *api.Subresource) *Schema {
	if sub.Table == nil {
		return r.Schema
	}
	return r.subs[sub.Table]
}

// Storage is the row of the storage version.
func (r *Row) Storage() *Row {
	if r.Conversion == nil {
		return r
	}
	return r.Versions.Stored
}

// Prefix is the beginning of all keys of the type, or of one namespace of it:
// "core/nodes/", "apps/deployments/default/".
func (r *Row) Prefix(namespace string) string {
	if namespace == "" {
		return r.Versions.Prefix
	}
	return r.Versions.Prefix + namespace + "/"
}

// Key is the key of an object in the store; namespace is "" for cluster-scoped types.
func (r *Row) Key(namespace, name string) string {
	if namespace == "" {
		return r.Versions.Prefix + name
	}
	return r.Versions.Prefix + namespace + "/" + name
}

// SplitKey returns the names in a key of the type.
func (r *Row) SplitKey(key string) (namespace, name string) {
	rest := key[len(r.Versions.Prefix):]
	if i := strings.IndexByte(rest, '/'); r.Namespaced && i >= 0 {
		return rest[:i], rest[i+1:]
	}
	return "", rest
}

// Ownership is the field ownership of the row's objects.
func (r *Row) Ownership() *Ownership { return r.ownership() }

// prefix is the beginning of a type's keys. The core group has no name, but its keys have
// one.
func prefix(group, plural string) string {
	if group == "" {
		group = "core"
	}
	return group + "/" + plural + "/"
}

// ResourceOfKey is the resource of the object at a key of the store; ok is false for
// other keys.
func ResourceOfKey(key string) (group, plural string, ok bool) {
	if strings.HasPrefix(key, allocations) {
		return "", "services", true
	}
	prefix := KeyPrefix(key)
	if prefix == "" {
		return "", "", false
	}
	group, plural, _ = strings.Cut(prefix[:len(prefix)-1], "/")
	if group == "core" {
		group = ""
	}
	return group, plural, true
}

// allocations begin the keys of the addresses and ports of services, which kube-apiserver encrypts as
// services.
const allocations = "ranges/"

// KeyPrefix is the beginning of a key that names its type; "" for other keys.
func KeyPrefix(key string) string {
	group := strings.IndexByte(key, '/')
	resource := strings.IndexByte(key[group+1:], '/')
	if group < 0 || resource < 0 {
		return ""
	}
	return key[:group+1+resource+1]
}

// typesOf groups resources by their type. Those of one table share its schema.
func typesOf(resources []*api.Resource) []*Type {
	var all []*Type
	byPrefix := map[string]*Type{}
	schemas := map[*schema.Table]*Schema{}
	for _, res := range resources {
		stored := res.Storage()
		at := prefix(stored.GV.Group, stored.Plural)
		t := byPrefix[at]
		if t == nil {
			t = &Type{Prefix: at}
			byPrefix[at] = t
			all = append(all, t)
		}
		row := &Row{Resource: res, Versions: t}
		var made *api.Made
		if res.Definition != nil {
			made = res.Definition.Made
		}
		if res.GV.Compile != nil {
			row.Schema = newSchema(res.GV.Compile, made)
		} else {
			row.Schema = schemaOf(schemas, res.GV.Table)
		}
		row.subs = map[*schema.Table]*Schema{}
		for i := range res.Subresources {
			if table := res.Subresources[i].Table; table != nil {
				row.subs[table] = schemaOf(schemas, table)
			}
		}
		row.ownership = api.Make(made, func() *Ownership { return newOwnership(row) })
		t.Rows = append(t.Rows, row)
		if res.Stored && res == stored {
			t.Stored = row
		}
	}
	return all
}

// Schema is a table of types with values derived from it on demand.
type Schema struct {
	Table   func() *schema.Table
	Binary  func() *codec.BinaryCodec // the binary form of the types
	CBOR    func() *codec.CBORCodec   // their CBOR
	Merging func() *schema.Table      // the types as apply merges them
}

func newSchema(table func() *schema.Table, made *api.Made) *Schema {
	return &Schema{Table: table, Binary: api.Make(made, func() *codec.BinaryCodec { return codec.NewBinary(table()) }),
		CBOR:    api.Make(made, func() *codec.CBORCodec { return codec.NewCBOR(table()) }),
		Merging: api.Make(made, func() *schema.Table { return apply.Merging(table()) })}
}

func schemaOf(known map[*schema.Table]*Schema, table *schema.Table) *Schema {
	if known[table] == nil {
		known[table] = newSchema(func() *schema.Table { return table }, nil)
	}
	return known[table]
}
