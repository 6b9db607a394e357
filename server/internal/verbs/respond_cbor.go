package verbs

import (
	"context"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// respondCBORList answers with a page in CBOR, whose items are preceded by their number. They
// are streamed, so the page is read twice: its headers for the number, then its objects.
func (v *Verbs) respondCBORList(r *request.Request, l *list) error {
	items, err := l.count(r.Context)
	if err != nil {
		return err
	}
	head, none, item := v.cborList(r, l)
	buf := v.gather.Buffer()
	*buf, err = codec.CBORListHead(*buf, head, items, none)
	if err != nil {
		return err
	}
	out := &streamWriter{r: r, contentType: codec.CBORMedia}
	w := newItemWriter(out, *buf)
	w.joint = true
	err = l.shown(r, func(e *store.Entry) error {
		items--
		return w.add(func(dst []byte) ([]byte, error) { return item(dst, e) })
	})
	if err == nil && items != 0 {
		err = errListChanged
	}
	if err == nil {
		err = out.close(w.buf)
	}
	if *buf = w.buf; err == nil {
		v.gather.Free(buf) // after a failure HTTP/2 may still be sending it
	}
	return err
}

// cborList has the parts of a list: its JSON without items, the JSON of the items of an empty
// one, and what appends an item.
func (v *Verbs) cborList(r *request.Request, l *list) (empty []byte, none string, item func([]byte, *store.Entry) ([]byte, error)) {
	res, meta := r.Target.Row, l.meta()
	if r.Accept.As == codec.AsPartial {
		head := codec.AppendListHead(nil, r.Accept.APIVersion, "PartialObjectMetadataList", meta)
		return append(head, "]}"...), "null", func(dst []byte, e *store.Entry) ([]byte, error) {
			body, err := request.MetadataOf(r.Context, res.Resource, e.Body)
			if err != nil {
				return dst, err
			}
			partial, err := codec.AppendPartial(nil, body, r.Accept.APIVersion)
			if err != nil {
				return dst, err
			}
			return codec.AppendCBOR(dst, partial)
		}
	}
	meta.Whole = res.Definition != nil
	head := codec.AppendListHead(nil, res.GV.APIVersion(), res.ListKind, meta)
	return append(head, "]}"...), "[]", func(dst []byte, e *store.Entry) ([]byte, error) { return v.env.AppendCBORItem(r.Context, dst, res, e) }
}

// count is the number of the entries that each visits, found from their headers.
func (l *list) count(ctx context.Context) (n int, err error) {
	switch {
	case l.found:
		return len(l.keys), nil
	case l.skips || l.oneKey(): // whether an object can be read is known when it is read
		err = l.each(ctx, func(*store.Entry) error {
			n++
			return nil
		})
		return n, err
	}
	all := l.selector.Everything()
	err = l.reader.ScanMeta(ctx, l.prefix, l.from, func(e *store.Entry) bool {
		if l.next != "" && e.Key >= l.next {
			return false
		}
		if all || l.selector.Matches(e.Key, e.Meta) {
			n++
		}
		return true
	})
	return n, err
}
