package request

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// TableOf returns the table of one object of a resource.
func (env *Env) TableOf(r *Request, res *api.Resource, e *store.Entry) ([]byte, error) {
	rev, _ := document.Find(e.Body, "metadata", "resourceVersion")
	t, err := env.NewTable(res, r, false)
	if err != nil {
		return nil, err
	}
	text := t.AppendHead(nil, codec.ListMeta{ResourceVersion: string(bytes.Trim(rev, `"`))})
	if text, err = env.AppendRow(r.Context, res, t, text, e); err != nil {
		return nil, err
	}
	return append(text, "]}"...), nil
}

// NewTable makes the table of a resource in the form that the request asks for. Errors: 400.
func (env *Env) NewTable(res *api.Resource, r *Request, noHeaders bool) (*codec.Table, error) {
	return codec.NewTable(inCells(res), codec.TableOptions{APIVersion: r.Accept.APIVersion, IncludeObject: r.Query.Get("includeObject"),
		NoHeaders: noHeaders, Now: env.cfg.Clock()})
}

// inCells is the row of the version that the cells of a table show: the storage version,
// but each version of a custom resource has columns of its own.
func inCells(res *api.Resource) *api.Resource {
	if res.Definition != nil {
		return res
	}
	return res.Storage()
}

// AppendRow appends the row of an entry; the object in the row is in the version of res.
// What the row needs besides the stored text is kept: the size of the metadata, and the
// cells. Custom objects are left out, whose text changes with their definition.
func (env *Env) AppendRow(ctx context.Context, res *api.Resource, t *codec.Table, dst []byte, e *store.Entry) (_ []byte, err error) {
	row, body := inCells(res), e.Body
	if kept := env.renderings.get(row, cellsForm, e); kept != nil {
		if t.HasObjects() {
			if body, err = stored.Served(ctx, res, body); err != nil {
				return dst, err
			}
		}
		size := binary.LittleEndian.Uint32(kept)
		return t.AppendRow(dst, kept[metadataSize:], t.Metadata(e.Body, int(size)), body), nil
	}
	converted := row != res.Storage()
	if converted {
		if body, err = stored.Served(ctx, res, body); err != nil {
			return dst, err
		}
	}
	doc, err := document.ReadStored(row.GV.Types(), row.Type, body)
	if err != nil {
		return dst, err
	}
	defer doc.Release()
	if t.HasObjects() && !converted {
		if body, err = stored.Served(ctx, res, body); err != nil {
			return dst, err
		}
	}
	hideAnnotations(row, doc.Root())
	metadata := doc.Root().Get("metadata").Unchanged()
	if metadata == nil {
		metadata = doc.Root().Get("metadata").AppendJSON(nil)
	}
	if len(metadata) == 0 {
		return dst, errors.New("a stored object has no metadata")
	}
	var space [512]byte
	cells := t.Cells(space[:metadataSize], doc.Root())
	if res.Definition == nil && bytes.Equal(t.Metadata(e.Body, len(metadata)), metadata) {
		binary.LittleEndian.PutUint32(cells, uint32(len(metadata)))
		env.renderings.keep(row, cellsForm, e, cells)
	}
	return t.AppendRow(dst, cells[metadataSize:], metadata, body), nil
}

// metadataSize is the size of the metadata's size at the beginning of kept cells.
const metadataSize = 4

// MetadataOf returns a stored object whose metadata is to be shown alone. A converter may
// change labels and annotations, so that they depend on the version.
func MetadataOf(ctx context.Context, res *api.Resource, body []byte) ([]byte, error) {
	if res.ConvertsRemotely() {
		return stored.Served(ctx, res, body)
	}
	row := res.Storage()
	if len(row.HiddenAnnotations) == 0 {
		return body, nil
	}
	doc, err := document.ReadStored(row.GV.Types(), row.Type, body)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	hideAnnotations(row, doc.Root())
	return doc.Root().AppendJSON(nil), nil
}

// hideAnnotations removes the annotations that only the whole object shows.
func hideAnnotations(res *api.Resource, obj document.Value) {
	if len(res.HiddenAnnotations) == 0 {
		return
	}
	annotations := obj.At("metadata", "annotations")
	for _, name := range res.HiddenAnnotations {
		annotations.Remove(name)
	}
	if annotations.Exists() && annotations.Len() == 0 {
		obj.Get("metadata").Remove("annotations")
	}
}
