package verbs

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// binaryList writes a page of a collection in the binary form.
type binaryList struct {
	apiVersion, kind string
	head             []byte // of the message
	item             func(dst []byte, e *store.Entry) ([]byte, error)
}

func (v *Verbs) binaryList(r *request.Request, l *list) *binaryList {
	res := r.Target.Row
	b := &binaryList{apiVersion: res.GV.APIVersion(), kind: res.ListKind, head: codec.AppendBinaryListMeta(nil, l.meta())}
	b.item = func(dst []byte, e *store.Entry) ([]byte, error) { return v.env.AppendMessage(r.Context, dst, res, e) }
	if r.Accept.As == codec.AsPartial {
		meta := v.env.MetaKind("PartialObjectMetadata")
		enc, typ := meta.Schema.Binary(), meta.Type
		b.apiVersion, b.kind = r.Accept.APIVersion, "PartialObjectMetadataList"
		b.item = func(dst []byte, e *store.Entry) ([]byte, error) {
			body, err := request.MetadataOf(r.Context, res.Resource, e.Body)
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

// each appends the message to a buffer and passes full buffers, with the key of their last
// item, to full, which returns the next buffer. It returns the last one.
func (b *binaryList) each(r *request.Request, l *list, buf *[]byte, full func(part *[]byte, key string) (*[]byte, error)) (*[]byte, error) {
	*buf = append(*buf, b.head...)
	err := l.shown(r, func(e *store.Entry) error {
		var err error
		if *buf, err = codec.AppendBinaryItem(*buf, func(dst []byte) ([]byte, error) { return b.item(dst, e) }); err != nil {
			return err
		}
		if len(*buf) >= request.ListBuffer {
			buf, err = full(buf, e.Key)
		}
		return err
	})
	return buf, err
}

// after is the size of the items after a key, if those of all of them are known.
func (v *Verbs) after(r *request.Request, l *list, key string) (size int, known bool, err error) {
	if r.Accept.As == codec.AsPartial || l.found || l.oneKey() {
		return 0, false, nil
	}
	all := l.selector.Everything()
	known = true
	err = l.reader.ScanMeta(r.Context, l.prefix, key+"\x00", func(e *store.Entry) bool {
		if l.next != "" && e.Key >= l.next {
			return false
		}
		if !all && !l.selector.Matches(e.Key, e.Meta) {
			return true
		}
		n := 0
		if n, known = v.env.Measure(r.Target.Row, e); known {
			size += codec.BinaryItemSize(n)
		}
		return known
	})
	return size, known, err
}

// respondBinaryList answers with one envelope, which begins with the length of its
// content. If the sizes of all messages are known the list is sent while it is read. If
// there is room the message is gathered. Otherwise the list is encoded twice: for its
// length, and to send it, the second time mostly from renderings.
func (v *Verbs) respondBinaryList(r *request.Request, l *list) error {
	b := v.binaryList(r, l)
	held := v.gather.OpenShare()
	reuse := false
	defer func() { held.Release(reuse) }()
	size, holding := 0, true
	var sending *binaryAnswer
	last, err := b.each(r, l, held.Buffer(), func(part *[]byte, key string) (*[]byte, error) {
		if sending != nil {
			return part, sending.write(part)
		}
		if size == 0 {
			rest, known, err := v.after(r, l, key)
			if err != nil {
				return part, err
			}
			if known {
				sending = newBinaryAnswer(r, b, len(*part)+rest)
				return part, sending.write(part)
			}
		}
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
	switch {
	case sending != nil:
		err = sending.end(last)
	case !holding:
		sending = newBinaryAnswer(r, b, size)
		*last = (*last)[:0]
		if last, err = b.each(r, l, last, func(part *[]byte, _ string) (*[]byte, error) { return part, sending.write(part) }); err == nil {
			err = sending.end(last)
		}
	default:
		parts := append(make([][]byte, 0, len(held.Parts)+3), codec.EnvelopeHead(b.apiVersion, b.kind, size))
		for _, p := range held.Parts {
			parts = append(parts, *p)
		}
		err = r.Send(http.StatusOK, r.Accept.ContentType(), append(parts, *last, codec.EnvelopeTail())...)
	}
	if reuse = err == nil; reuse {
		v.gather.Free(last)
	}
	return err
}

// errListChanged ends an answer whose message has another length than was announced.
var errListChanged = errors.New("a list has another length than its beginning says")

// binaryAnswer is a list that is sent while it is read.
type binaryAnswer struct {
	out  *streamWriter
	head []byte // of the envelope; nil when it has been sent
	left int    // of the message
}

// newBinaryAnswer begins an answer whose message has size bytes. Nothing is sent yet.
func newBinaryAnswer(r *request.Request, b *binaryList, size int) *binaryAnswer {
	a := &binaryAnswer{&streamWriter{r: r, contentType: r.Accept.ContentType()}, codec.EnvelopeHead(b.apiVersion, b.kind, size), size}
	if !r.AcceptsGzip() {
		r.Writer.Header().Set("Content-Length", strconv.Itoa(len(a.head)+size+len(codec.EnvelopeTail())))
	}
	return a
}

// write sends a part of the message and empties it.
func (a *binaryAnswer) write(part *[]byte) error {
	if a.left -= len(*part); a.left < 0 {
		return errListChanged
	}
	if a.head != nil {
		if _, err := a.out.Write(a.head); err != nil {
			return err
		}
		a.head = nil
	}
	_, err := a.out.Write(*part)
	*part = (*part)[:0]
	return err
}

// end sends the last part.
func (a *binaryAnswer) end(last *[]byte) error {
	if err := a.write(last); err != nil {
		return err
	}
	if a.left > 0 {
		return errListChanged
	}
	return a.out.close(codec.EnvelopeTail())
}
