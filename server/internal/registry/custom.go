package registry

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// encodeCustom makes the JSON of a custom object: members in the order of their names, and
// no revision.
func encodeCustom(body []byte) ([]byte, error) {
	doc, err := document.ReadStored(nil, schema.None, body)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	doc.Root().Get("metadata").Remove("resourceVersion")
	return escaped(appendSorted(make([]byte, 0, len(body)), doc.Root())), nil
}

// member is a member of an object.
type member struct {
	name  string
	value document.Value
}

// appendSorted appends a value with the members of all objects in the order of their names.
func appendSorted(dst []byte, v document.Value) []byte {
	switch v.Kind() {
	case document.Object:
		members := make([]member, 0, 8)
		for name, value := range v.Members() {
			members = append(members, member{name, value})
		}
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		dst = append(dst, '{')
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(document.AppendQuoted(dst, m.name), ':')
			dst = appendSorted(dst, m.value)
		}
		return append(dst, '}')
	case document.Array:
		dst = append(dst, '[')
		for i, value := range v.Elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSorted(dst, value)
		}
		return append(dst, ']')
	case document.Number:
		return appendNumber(dst, v.AppendJSON(nil))
	}
	return v.AppendJSON(dst)
}

// decodeCustom makes a value of a custom object, whose type is nil when its definition is
// not known yet.
//
// Definitions change, and this server may learn of a change later than of an object that was written
// after the change. So the value has all that etcd has, and nothing more: an object that would lose or get something
// by the definition known here is kept as it is, in its own version. Reads show each object by the definition of their time.
func (f *Form) decodeCustom(t *catalog.Type, at named, data []byte) (store.Value, error) {
	o, err := open(data)
	if err != nil {
		return store.Value{}, err
	}
	if o.binary {
		return store.Value{}, errBinaryCustom
	}
	if t == nil || t.Stored == nil {
		return f.sealUnknown(o, at)
	}
	row := t.Version(o.apiVersion)
	switch {
	case t.ConvertsRemotely() && row == nil:
		return f.sealUnknown(o, at)
	case t.ConvertsRemotely():
		return seal(row, row, at, o.content)
	case row != t.Stored:
		return f.sealUnknown(o, at)
	}
	v, err := seal(row, row, at, o.content)
	if err != nil {
		return v, err
	}
	if again, err := encodeCustom(v.Body); err != nil || !bytes.Equal(again, data) {
		return f.sealUnknown(o, at)
	}
	return v, nil
}

// Equal implements etcd.Form: custom objects are equal if etcd keeps the same of them.
func (f *Form) Equal(key string, a, b store.Value) bool {
	if prefix := catalog.KeyPrefix(key); prefix == "" || ranges[key] || f.kinds[prefix] != nil {
		return bytes.Equal(a.Body, b.Body) && bytes.Equal(a.Meta, b.Meta) && a.RevisionAt == b.RevisionAt
	}
	one, err := encodeCustom(a.Body)
	other, wrong := encodeCustom(b.Body)
	return err == nil && wrong == nil && bytes.Equal(one, other)
}

var errBinaryCustom = errors.New("it is in the binary form, which no kind of its group has; remove it")

// sealUnknown makes the value of an object of which only the metadata are known.
func (f *Form) sealUnknown(o content, at named) (store.Value, error) {
	table := f.unknown()
	doc, err := document.ReadTyped(table, table.Root(unknownRoot), o.content)
	if err != nil {
		return store.Value{}, err
	}
	defer doc.Release()
	if err := at.check(doc.Root()); err != nil {
		return store.Value{}, err
	}
	return stored.Seal(&catalog.Row{Resource: &api.Resource{}}, doc.Root(), new(stored.Space))
}

const unknownRoot = "Object"

// newUnknown makes the table of objects of which only the metadata are known, with the types
// of metadata of a table. It has them as the tables of custom kinds do.
func newUnknown(meta *schema.Table) *schema.Table {
	text := schema.Ref(len(meta.Types))
	root := schema.Type{Kind: schema.Object, Elem: schema.None, Open: true, Fields: []schema.Field{
		{Name: "kind", Type: text, Presence: schema.Explicit}, {Name: "apiVersion", Type: text, Presence: schema.Explicit},
		{Name: "metadata", Type: meta.Root("ObjectMeta"), Presence: schema.Explicit}}}
	t := &schema.Table{Custom: true, Roots: []schema.Root{{Name: unknownRoot, Type: text + 1}}}
	t.Types = append(slices.Clone(meta.Types), schema.Type{Kind: schema.String, Elem: schema.None}, root)
	t.MakeIndex()
	return t
}
