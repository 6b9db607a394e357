package convert

import (
	"bytes"
	"cmp"
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
		return ask(ctx, res.Conversion.Remote, to, obj)
	}
	if res.Conversion.Reread {
		return reread(res, to, obj.AppendJSON(nil))
	}
	if res.Conversion.Same {
		text, err := Rename(nil, res, to, obj.AppendJSON(nil))
		if err != nil {
			return nil, err
		}
		return document.ReadCanonical(to.GV.Types(), to.Type, text)
	}
	return follow(&res.Conversion.ToStorage, obj, to), nil
}

// FromStorage converts a stored object to the version of res. The caller releases the
// document; obj must not change before.
func FromStorage(ctx context.Context, res *api.Resource, obj document.Value) (*document.Document, error) {
	if res.ConvertsRemotely() {
		return ask(ctx, res.Conversion.Remote, res, obj)
	}
	if res.Conversion.Reread {
		return reread(res.Storage(), res, obj.AppendJSON(nil))
	}
	if res.Conversion.Same {
		text, err := Rename(nil, res.Storage(), res, obj.AppendJSON(nil))
		if err != nil {
			return nil, err
		}
		return document.ReadStored(res.GV.Types(), res.Type, text)
	}
	return follow(&res.Conversion.FromStorage, obj, res), nil
}

// HasHead reports whether the text of an object is in the version of a row.
func HasHead(res *api.Resource, text []byte) bool {
	gv := res.GV
	for _, part := range [...]string{`{"kind":"`, res.Kind, `","apiVersion":"`, gv.Group, "/", gv.Version, `"`} {
		if gv.Group == "" && (part == "" || part == "/") {
			continue
		}
		if len(text) < len(part) || string(text[:len(part)]) != part {
			return false
		}
		text = text[len(part):]
	}
	return true
}

// Remotely converts an object from one version of a kind that a converter converts to
// another. The caller releases the document.
func Remotely(ctx context.Context, from, to *api.Resource, obj document.Value) (*document.Document, error) {
	by := to.Conversion
	if !to.ConvertsRemotely() {
		by = from.Conversion
	}
	return ask(ctx, by.Remote, to, obj)
}

// ask gets an object in the version of the row to from a converter.
func ask(ctx context.Context, by api.Converter, to *api.Resource, obj document.Value) (*document.Document, error) {
	texts, err := askAll(ctx, by, to, [][]byte{obj.AppendJSON(nil)})
	if err != nil {
		return nil, err
	}
	return document.ReadTyped(to.GV.Types(), to.Type, texts[0])
}

// askAll gets objects in the version of the row to from a converter, which is not asked
// for those that are in this version.
func askAll(ctx context.Context, by api.Converter, to *api.Resource, objects [][]byte) ([][]byte, error) {
	texts := make([][]byte, len(objects))
	var others [][]byte
	for i, text := range objects {
		if HasHead(to, text) {
			texts[i] = text
		} else {
			others = append(others, text)
		}
	}
	if len(others) == 0 {
		return texts, nil
	}
	made, err := by.Convert(ctx, to, others)
	if err != nil {
		return nil, err
	}
	if len(made) != len(others) {
		return nil, fmt.Errorf("the converter of %s returned %d objects for %d", to.Plural, len(made), len(others))
	}
	for i := range texts {
		if texts[i] == nil {
			texts[i], made = made[0], made[1:]
		}
	}
	return texts, nil
}

// Bounds of one call of a converter.
const (
	MaxBatch      = 500
	MaxBatchBytes = 2 << 20 // about
)

// Served visits the texts of stored objects in the version of res, in their order; a text
// is valid during the visit only. A converter is called once at most. Errors: those of the
// visits and of a converter, and one for a text that is not that of such an object.
func Served(ctx context.Context, res *api.Resource, stored [][]byte, visit func(text []byte) error) error {
	if res.ConvertsRemotely() {
		texts, err := askAll(ctx, res.Conversion.Remote, res, stored)
		if err != nil {
			return err
		}
		for i, text := range texts {
			if HasHead(res, stored[i]) {
				err = visit(text)
			} else {
				err = visitTyped(res, text, visit)
			}
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

// visitTyped visits the text of a converted object as its type has it.
func visitTyped(res *api.Resource, text []byte, visit func(text []byte) error) error {
	doc, err := document.ReadTyped(res.GV.Types(), res.Type, text)
	if err != nil {
		return fmt.Errorf("the converter of %s returned an object of another type: %w", res.Plural, err)
	}
	defer doc.Release()
	return visit(doc.Root().AppendJSON(nil))
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
	if res.Definition != nil && HasHead(res, stored) {
		return append(dst, stored...), nil
	}
	if res.Conversion != nil && res.Conversion.Same {
		return Rename(dst, from, res, stored)
	}
	if res.Conversion == nil || res.Conversion.Reread {
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
	text, err := Rename(nil, from, to, text)
	if err != nil {
		return nil, err
	}
	return document.ReadTyped(to.GV.Types(), to.Type, text)
}

// Rename appends the text of an object with the version of another row. A custom object
// may be in a version other than from: one that was stored while its definition changed.
func Rename(dst []byte, from, to *api.Resource, text []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, Head(from))
	if !ok && to.Definition != nil {
		rest, ok = cutHead(to, text)
	}
	if !ok {
		return dst, errHead
	}
	return append(append(dst, Head(to)...), rest...), nil
}

// cutHead cuts the kind and the version, any one of the group, from the text of an object.
func cutHead(res *api.Resource, text []byte) (rest []byte, ok bool) {
	if rest, ok = bytes.CutPrefix(text, []byte(`{"kind":"`+res.Kind+`","apiVersion":"`+res.GV.Group+"/")); ok {
		_, rest, ok = bytes.Cut(rest, []byte(`"`))
	}
	return rest, ok
}

// follow makes an object of the row to from an object by a plan.
func follow(p *api.Plan, from document.Value, to *api.Resource) *document.Document {
	doc := document.New(to.GV.Types(), to.Type)
	root := doc.Root()
	root.SetString("kind", to.Kind)
	root.SetString("apiVersion", to.GV.APIVersion())
	copyFields(p.Copy, from, root)
	if p.Carry != nil || p.Restore != nil {
		carry(p, from, root)
	}
	if p.Hook != nil {
		p.Hook(from, root)
	}
	return doc
}

func copyFields(fields []api.Copy, from, to document.Value) {
	for i := range fields {
		f := &fields[i]
		v := from.Get(cmp.Or(f.From, f.Name))
		switch {
		case !v.Exists():
		case f.Below == nil:
			to.Put(f.Name, v)
		case f.Each && v.Kind() == document.Array:
			list := to.SetArray(f.Name)
			for _, e := range v.Elements() {
				copyFields(f.Below, e, list.AppendObject())
			}
		case f.Each:
			for name, e := range v.Members() {
				copyFields(f.Below, e, to.SetObject(f.Name).SetObject(name))
			}
		case v.Kind() == document.Object:
			copyFields(f.Below, v, to.SetObject(f.Name))
		}
	}
	to.DropZeros()
}
