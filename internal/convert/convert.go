// Package convert turns objects of one version of a kind into another. Objects are stored
// in the storage version; a row of the catalog that serves another version has an
// api.Conversion, whose plan this package follows.
//
// Where two versions differ only in their name, the text of an object is used as it is,
// without a tree.
package convert

import (
	"bytes"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// errHead means that a stored object does not begin with its kind and version.
var errHead = errors.New("a stored object does not begin as its version says: it is damaged, or was stored in a version that this server does not store")

// Head is the beginning of the text of an object in the version of a row.
func Head(res *api.Resource) []byte {
	return []byte(`{"kind":"` + res.Kind + `","apiVersion":"` + res.GV.APIVersion() + `"`)
}

// ToStorage converts an object from the version of res to the storage version. The caller
// releases the document; obj must not change before.
func ToStorage(res *api.Resource, obj document.Value) (*document.Document, error) {
	to := res.Storage()
	if res.Conversion.Same {
		text, err := rename(nil, res, to, obj.AppendJSON(nil))
		if err != nil {
			return nil, err
		}
		return document.ReadCanonical(to.GV.Types(), to.Type, text)
	}
	return follow(&res.Conversion.ToStorage, obj, to), nil
}

// FromStorage converts an object from the storage version to the version of res. The
// caller releases the document; obj must not change before.
func FromStorage(res *api.Resource, obj document.Value) (*document.Document, error) {
	if res.Conversion.Same {
		text, err := rename(nil, res.Storage(), res, obj.AppendJSON(nil))
		if err != nil {
			return nil, err
		}
		return document.ReadStored(res.GV.Types(), res.Type, text)
	}
	return follow(&res.Conversion.FromStorage, obj, res), nil
}

// AppendServed appends the text of a stored object in the version of res. The error means
// that the text is not that of such an object.
func AppendServed(dst []byte, res *api.Resource, stored []byte) ([]byte, error) {
	from := res.Storage()
	if res.Conversion.Same {
		return rename(dst, from, res, stored)
	}
	doc, err := document.ReadStored(from.GV.Types(), from.Type, stored)
	if err != nil {
		return dst, err
	}
	defer doc.Release()
	made := follow(&res.Conversion.FromStorage, doc.Root(), res)
	defer made.Release()
	return made.Root().AppendJSON(dst), nil
}

// rename appends the text of an object with the version of another row.
func rename(dst []byte, from, to *api.Resource, text []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, Head(from))
	if !ok {
		return dst, errHead
	}
	return append(append(dst, Head(to)...), rest...), nil
}

// follow makes an object of the row to from an object by a plan.
func follow(p *api.Plan, from document.Value, to *api.Resource) *document.Document {
	doc := document.New(to.GV.Types(), to.Type)
	root := doc.Root()
	root.SetString("kind", to.Kind)
	root.SetString("apiVersion", to.GV.APIVersion())
	copyFields(p.Copy, from, root)
	if p.Hook != nil {
		p.Hook(from, root)
	}
	return doc
}

func copyFields(fields []api.Copy, from, to document.Value) {
	for i := range fields {
		f := &fields[i]
		v := from.Get(f.Name)
		switch {
		case !v.Exists():
		case f.Below == nil:
			to.Put(f.Name, v)
		case v.Kind() == document.Object:
			copyFields(f.Below, v, to.SetObject(f.Name))
		}
	}
	to.DropZeros()
}
