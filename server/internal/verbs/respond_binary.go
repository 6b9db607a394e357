package verbs

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// binaryList writes a page of a collection in the binary form.
type binaryList struct {
	apiVersion, kind string
	head             []byte // of the message
	item             func(dst []byte, e *store.Entry) ([]byte, error)
}

func (v *Verbs) binaryList(r *front.Request, l *list) *binaryList {
	res := r.Target.Row
	b := &binaryList{apiVersion: res.GV.APIVersion(), kind: res.ListKind, head: codec.AppendBinaryListMeta(nil, l.meta())}
	b.item = func(dst []byte, e *store.Entry) ([]byte, error) { return v.front.AppendMessage(r.Context, dst, res, e) }
	if r.Accept.As == codec.AsPartial {
		meta := v.front.MetaKind("PartialObjectMetadata")
		enc, typ := meta.Schema.Binary(), meta.Type
		b.apiVersion, b.kind = r.Accept.APIVersion, "PartialObjectMetadataList"
		b.item = func(dst []byte, e *store.Entry) ([]byte, error) {
			body, err := front.MetadataOf(r.Context, res.Resource, e.Body)
			if err != nil {
				return dst, err
			}
			text, err := codec.AppendPartial(nil, body, b.apiVersion)
			if err != nil {
				return dst, err
			}
			return enc.Append(dst, typ, text)
		}
	}
	return b
}

// each appends the message to a buffer and passes full buffers to full, which returns the
// next buffer. It returns the last one.
func (b *binaryList) each(r *front.Request, l *list, buf *[]byte, full func(*[]byte) (*[]byte, error)) (*[]byte, error) {
	*buf = append(*buf, b.head...)
	err := l.shown(r, func(e *store.Entry) error {
		var err error
		if *buf, err = codec.AppendBinaryItem(*buf, func(dst []byte) ([]byte, error) { return b.item(dst, e) }); err != nil {
			return err
		}
		if len(*buf) >= front.ListBuffer {
			buf, err = full(buf)
		}
		return err
	})
	return buf, err
}

// respondBinaryList answers with one envelope, which begins with the length of its
// content. If there is room the message is gathered. Otherwise the list is encoded twice:
// for its length, and to send it.
func (v *Verbs) respondBinaryList(r *front.Request, l *list) error {
	b := v.binaryList(r, l)
	held := v.gather.Open()
	reuse := false
	defer func() { held.Release(reuse) }()
	size, holding := 0, true
	last, err := b.each(r, l, held.Buffer(), func(part *[]byte) (*[]byte, error) {
		size += len(*part)
		if holding && held.Keep(part) {
			return held.Buffer(), nil
		}
		if holding {
			held.Release(true)
			holding = false
		}
		*part = (*part)[:0]
		return part, nil
	})
	if err != nil {
		return err
	}
	size += len(*last)
	head := codec.EnvelopeHead(b.apiVersion, b.kind, size)
	if !holding {
		*last = (*last)[:0]
		return v.streamBinaryList(r, l, b, head, size, last)
	}
	parts := append(make([][]byte, 0, len(held.Parts)+3), head)
	for _, p := range held.Parts {
		parts = append(parts, *p)
	}
	err = r.Send(http.StatusOK, r.Accept.ContentType(), append(parts, *last, codec.EnvelopeTail())...)
	if reuse = err == nil; reuse {
		v.gather.Free(last)
	}
	return err
}

// errListChanged ends an answer whose second reading differs from the first.
var errListChanged = errors.New("a list had another length when it was read again")

// streamBinaryList sends a list whose message has size bytes, through buf.
func (v *Verbs) streamBinaryList(r *front.Request, l *list, b *binaryList, head []byte, size int, buf *[]byte) error {
	tail := codec.EnvelopeTail()
	out := &streamWriter{r: r, contentType: r.Accept.ContentType()}
	if !r.AcceptsGzip() {
		r.Writer.Header().Set("Content-Length", strconv.Itoa(len(head)+size+len(tail)))
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	sent := 0
	flush := func(part *[]byte) (*[]byte, error) {
		if sent += len(*part); sent > size {
			return part, errListChanged
		}
		_, err := out.Write(*part)
		*part = (*part)[:0]
		return part, err
	}
	last, err := b.each(r, l, buf, flush)
	if err == nil {
		_, err = flush(last)
	}
	if err == nil && sent != size {
		err = errListChanged
	}
	if err != nil {
		return err
	}
	if err = out.close(tail); err == nil {
		v.gather.Free(last)
	}
	return err
}
