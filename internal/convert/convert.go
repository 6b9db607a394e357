// Package convert turns objects of one version of a kind into another. Objects are stored
// in the storage version; a row of the catalog that serves another version has an
// api.Conversion, whose plan this package follows.
//
// Where two versions differ only in their name, the text of an object is used as it is,
// without a tree. Remote converters (api.Converter) get as few calls as possible.
package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"

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
func ToStorage(ctx context.Context, res *api.Resource, obj document.Value) (*document.Document, error) {
	to := res.Storage()
	if res.ConvertsRemotely() {
		return ask(ctx, res, res, to, obj)
	}
	if res.Conversion.Reread {
		return reread(res, to, obj.AppendJSON(nil))
	}
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
func FromStorage(ctx context.Context, res *api.Resource, obj document.Value) (*document.Document, error) {
	if res.ConvertsRemotely() {
		return ask(ctx, res, res.Storage(), res, obj)
	}
	if res.Conversion.Reread {
		return reread(res.Storage(), res, obj.AppendJSON(nil))
	}
	if res.Conversion.Same {
		text, err := rename(nil, res.Storage(), res, obj.AppendJSON(nil))
		if err != nil {
			return nil, err
		}
		return document.ReadStored(res.GV.Types(), res.Type, text)
	}
	return follow(&res.Conversion.FromStorage, obj, res), nil
}

// ask calls the converter for an object of the row from, to get one of the row to.
func ask(ctx context.Context, res, from, to *api.Resource, obj document.Value) (*document.Document, error) {
	texts, err := askAll(ctx, res, from, to, [][]byte{obj.AppendJSON(nil)})
	if err != nil {
		return nil, err
	}
	return document.ReadTyped(to.GV.Types(), to.Type, texts[0])
}

func askAll(ctx context.Context, res, from, to *api.Resource, objects [][]byte) ([][]byte, error) {
	texts, err := res.Conversion.Remote.Convert(ctx, from, to, objects)
	if err == nil && len(texts) != len(objects) {
		err = fmt.Errorf("the converter of %s returned %d objects for %d", res.Plural, len(texts), len(objects))
	}
	return texts, err
}

// MaxBatch is the number of objects for one call of Served with a converter.
const MaxBatch = 500

// Served visits the texts of stored objects in the version of res, in their order; a text
// is valid during the visit only. A converter is called once. Errors: those of the visits
// and of a converter, and one for a text that is not that of such an object.
func Served(ctx context.Context, res *api.Resource, stored [][]byte, visit func(text []byte) error) error {
	if res.ConvertsRemotely() {
		texts, err := askAll(ctx, res, res.Storage(), res, stored)
		if err != nil {
			return err
		}
		for _, text := range texts {
			doc, err := document.ReadTyped(res.GV.Types(), res.Type, text)
			if err != nil {
				return fmt.Errorf("the converter of %s returned what is none: %w", res.Plural, err)
			}
			err = visit(doc.Root().AppendJSON(nil))
			doc.Release()
			if err != nil {
				return err
			}
		}
		return nil
	}
	var text []byte
	for _, body := range stored {
		var err error
		if text, err = appendServed(text[:0], res, body); err != nil {
			return err
		}
		if err := visit(text); err != nil {
			return err
		}
	}
	return nil
}

// AppendServed appends the text of a stored object in the version of res. Errors are those
// of Served.
func AppendServed(ctx context.Context, dst []byte, res *api.Resource, stored []byte) ([]byte, error) {
	if !res.ConvertsRemotely() {
		return appendServed(dst, res, stored)
	}
	err := Served(ctx, res, [][]byte{stored}, func(text []byte) error {
		dst = append(dst, text...)
		return nil
	})
	return dst, err
}

func appendServed(dst []byte, res *api.Resource, stored []byte) ([]byte, error) {
	from := res.Storage()
	if res.Conversion.Same {
		return rename(dst, from, res, stored)
	}
	if res.Conversion.Reread {
		doc, err := reread(from, res, stored)
		if err != nil {
			return dst, err
		}
		defer doc.Release()
		return doc.Root().AppendJSON(dst), nil
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

// reread reads the text of an object in the version of another row.
func reread(from, to *api.Resource, text []byte) (*document.Document, error) {
	text, err := rename(nil, from, to, text)
	if err != nil {
		return nil, err
	}
	return document.ReadTyped(to.GV.Types(), to.Type, text)
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
