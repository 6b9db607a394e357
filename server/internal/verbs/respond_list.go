package verbs

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// respondList answers with a page of a collection. JSON is streamed: entries of the
// store's iterator go into a small buffer and out to the client. The representations that
// need the whole list first (YAML, indented JSON) are for people and are gathered, and so
// is the binary form, which begins with its length: as long as there is room
// (GatherRoom).
func (v *Verbs) respondList(r *request.Request, l *list) error {
	if err := r.Mismatch(true); err != nil {
		return err
	}
	if err := v.recordList(r, l); err != nil {
		return err
	}
	if r.Accept.Format == codec.Binary {
		return v.respondBinaryList(r, l)
	}
	if r.Accept.Format == codec.CBOR {
		return v.respondCBORList(r, l)
	}
	buf := v.gather.Buffer()
	if err := v.respondJSONList(r, l, *buf); err != nil {
		return err // the buffer is not reused: HTTP/2 may still be sending it
	}
	v.gather.Free(buf)
	return nil
}

// respondJSONList answers through buf, which is empty.
func (v *Verbs) respondJSONList(r *request.Request, l *list, buf []byte) error {
	if r.Accept.Format == codec.YAML || r.Accept.Pretty {
		text := &layout{held: v.gather.Open(), r: r}
		rest, err := v.writeList(r, l, text, buf)
		if err == nil && text.out != nil {
			return text.out.close(rest)
		}
		defer text.held.Release(err == nil)
		if err != nil {
			return err
		}
		return v.env.RespondText(r, http.StatusOK, whole(text.held, bytes.TrimSuffix(rest, request.Newline)))
	}
	out := &streamWriter{r: r}
	rest, err := v.writeList(r, l, out, buf)
	if err != nil {
		return err
	}
	return out.close(rest)
}

// writeList writes the list as JSON in the requested representation, through buf. It
// returns the unwritten rest.
func (v *Verbs) writeList(r *request.Request, l *list, out io.Writer, buf []byte) ([]byte, error) {
	switch r.Accept.As {
	case codec.AsTable:
		return v.writeTable(r, l, out, buf)
	case codec.AsPartial:
		return v.writePartialList(r, l, out, buf)
	}
	res := r.Target.Row
	meta := l.meta()
	meta.Whole = res.Definition != nil
	buf = codec.AppendListHead(buf, res.GV.APIVersion(), res.ListKind, meta)
	if res.Conversion != nil && (!res.Conversion.Same || meta.Whole) {
		return v.writeServedItems(r, l, out, buf)
	}
	open, strip := "", 0
	if !meta.Whole { // items of custom resources have their kind
		res = res.Storage()
		open, strip = "{", len(codec.ItemPrefix(res.GV.APIVersion(), res.Kind))
	}
	w := newItemWriter(out, buf)
	err := l.shown(r, func(e *store.Entry) error { return w.text(open, e.Body[strip:]) })
	return w.end("[]"), err
}

// writeServedItems is writeList for a version other than the storage version.
func (v *Verbs) writeServedItems(r *request.Request, l *list, out io.Writer, buf []byte) ([]byte, error) {
	res := r.Target.Row
	item := func(dst, body []byte) ([]byte, error) { return append(dst, body...), nil }
	if res.Definition == nil {
		strip := len(codec.ItemPrefix(res.GV.APIVersion(), res.Kind))
		item = func(dst, body []byte) ([]byte, error) { return append(append(dst, '{'), body[strip:]...), nil }
	}
	w := newItemWriter(out, buf)
	var body []byte
	err := l.shown(r, func(e *store.Entry) (err error) {
		if body, err = convert.AppendServed(r.Context, body[:0], res.Resource, e.Body); err != nil {
			return err
		}
		return w.add(func(dst []byte) ([]byte, error) { return item(dst, body) })
	})
	return w.end("[]"), err
}

// shown is each for an answer: entries that only a converter can turn into the version of
// the request are in that version, many of them by one call.
func (l *list) shown(r *request.Request, visit func(*store.Entry) error) error {
	res := r.Target.Row
	if !res.ConvertsRemotely() {
		return l.each(r.Context, visit)
	}
	b := &batch{res: res.Resource}
	serve := func() error {
		return b.serve(r.Context, func(key string, body []byte) error {
			return visit(&store.Entry{Key: key, Value: store.Value{Body: body, RevisionAt: -1}})
		})
	}
	err := l.each(r.Context, func(e *store.Entry) error {
		if b.add(e); !b.full() {
			return nil
		}
		return serve()
	})
	if err != nil {
		return err
	}
	return serve()
}

// writeItems adds the items of a list with commas between them, and the end, and returns the
// rest of the buffer. none replaces the empty list at the end of the head if there are no items.
func writeItems(r *request.Request, l *list, w *itemWriter, none string, item func([]byte, *store.Entry) ([]byte, error)) ([]byte, error) {
	err := l.shown(r, func(e *store.Entry) error {
		return w.add(func(dst []byte) ([]byte, error) { return item(dst, e) })
	})
	return w.end(none), err
}

// itemWriter appends items to a buffer, which goes out when it is full. The first bytes
// leave early: of many long lists at once none waits until another is half done.
type itemWriter struct {
	out   io.Writer
	buf   []byte
	joint bool // no comma is between two items
	first bool
	full  int
}

// newItemWriter makes a writer by way of buf, which begins with the list's head.
func newItemWriter(out io.Writer, buf []byte) *itemWriter {
	return &itemWriter{out: out, buf: buf, first: true, full: request.FirstWrite}
}

func (w *itemWriter) separate() {
	if !w.first && !w.joint {
		w.buf = append(w.buf, ',')
	}
	w.first = false
}

// text adds an item as it is, after open. A large one goes through the buffer in parts: of a
// list that nobody reads no more is copied than its connection takes.
func (w *itemWriter) text(open string, item []byte) error {
	w.separate()
	w.buf = append(w.buf, open...)
	for len(item) > 0 {
		part := item
		if len(item) > w.full {
			part = item[:w.full]
		}
		w.buf, item = append(w.buf, part...), item[len(part):]
		if len(w.buf) >= w.full {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *itemWriter) add(item func([]byte) ([]byte, error)) (err error) {
	w.separate()
	if w.buf, err = item(w.buf); err != nil || len(w.buf) < w.full {
		return err
	}
	return w.flush()
}

// flush writes the buffer, in parts if it has a large item. Other requests get their turn
// after each: encrypting an item of 1 MB and copying it to the connection takes longer than
// all that a short request needs.
func (w *itemWriter) flush() error {
	for rest := w.buf; len(rest) > 0; {
		part := rest
		if len(rest) >= 2*w.full {
			part = rest[:w.full]
		}
		if _, err := w.out.Write(part); err != nil {
			return err
		}
		rest, w.full = rest[len(part):], request.ListBuffer
		runtime.Gosched()
	}
	w.buf = w.buf[:0]
	return nil
}

// end returns the unwritten rest, with the end of the list. none replaces the empty list
// if there are no items.
func (w *itemWriter) end(none string) []byte {
	if w.first {
		return append(append(bytes.TrimSuffix(w.buf, []byte("[")), none...), "}\n"...)
	}
	return append(w.buf, "]}\n"...)
}

func (v *Verbs) writePartialList(r *request.Request, l *list, out io.Writer, buf []byte) ([]byte, error) {
	buf = codec.AppendListHead(buf, r.Accept.APIVersion, "PartialObjectMetadataList", l.meta())
	return writeItems(r, l, newItemWriter(out, buf), "null", func(dst []byte, e *store.Entry) ([]byte, error) {
		body, err := request.MetadataOf(r.Context, r.Target.Row.Resource, e.Body)
		if err != nil {
			return dst, err
		}
		return codec.AppendPartial(dst, body, r.Accept.APIVersion)
	})
}

// meta is the list's metadata.
func (l *list) meta() codec.ListMeta {
	version := ""
	if at := l.reader.Revision(); at > 0 {
		version = strconv.FormatUint(at, 10)
	}
	return codec.ListMeta{ResourceVersion: version, Continue: l.token, Remaining: l.remaining}
}

// streamWriter starts the answer with its first write, so that an error before it can
// still be answered properly.
type streamWriter struct {
	r           *request.Request
	gzip        io.WriteCloser
	contentType string // "" for JSON
}

func (w *streamWriter) Write(p []byte) (int, error) {
	if w.r.Status == 0 {
		w.start()
	}
	return len(p), w.out(p)
}

// start begins an answer of unknown length.
func (w *streamWriter) start() {
	if w.r.AcceptsGzip() {
		h := w.r.Writer.Header()
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		w.gzip = codec.Gzip(request.WriterFunc(w.r.WriteBytes))
	}
	w.r.Head(http.StatusOK, w.media())
}

func (w *streamWriter) media() string {
	if w.contentType != "" {
		return w.contentType
	}
	return "application/json"
}

func (w *streamWriter) out(p []byte) error {
	if len(p) == 0 || w.r.HTTP.Method == http.MethodHead {
		return nil
	}
	if w.gzip != nil {
		_, err := w.gzip.Write(p)
		return err
	}
	return w.r.Corked(func() error { return w.r.Write(p) })
}

// close ends the answer with rest, which is the whole answer if nothing was written
// before.
func (w *streamWriter) close(rest []byte) error {
	if w.r.Status == 0 {
		return w.r.Send(http.StatusOK, w.media(), rest)
	}
	if err := w.out(rest); err != nil {
		return err
	}
	if w.gzip != nil {
		return w.gzip.Close()
	}
	return nil
}

func (v *Verbs) writeTable(r *request.Request, l *list, out io.Writer, buf []byte) ([]byte, error) {
	t, err := v.env.NewTable(r.Target.Row.Resource, r, false)
	if err != nil {
		return nil, err
	}
	none := "[]"
	if t.Plain() {
		none = "null"
	}
	row := func(dst []byte, e *store.Entry) ([]byte, error) {
		return v.env.AppendRow(r.Context, r.Target.Row.Resource, t, dst, e)
	}
	w := newItemWriter(out, t.AppendHead(buf, l.meta()))
	if path := orderOf(r.Target.Row.Resource); path != nil {
		return writeOrdered(r, l, w, none, path, row)
	}
	return writeItems(r, l, w, none, row)
}

// orderOf is the path of the number by which the rows of a page are ordered, nil for the
// order of the names.
func orderOf(res *api.Resource) []string {
	columns := res.Storage().Columns
	if i := slices.IndexFunc(columns, func(c api.Column) bool { return c.Orders }); i >= 0 {
		return strings.Split(columns[i].Path, ".")[1:]
	}
	return nil
}

// writeOrdered is writeItems for rows in the order of the numbers at a path of the stored
// objects; of equal ones in the order of the names. Such lists are short.
func writeOrdered(r *request.Request, l *list, w *itemWriter, none string, path []string, row func([]byte, *store.Entry) ([]byte, error)) ([]byte, error) {
	type place struct {
		number int64
		text   []byte
	}
	var rows []place
	err := l.shown(r, func(e *store.Entry) error {
		text, err := row(nil, e)
		number, _ := document.Find(e.Body, path...)
		n, _ := strconv.ParseInt(string(number), 10, 64) // 0 for none
		rows = append(rows, place{n, text})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b place) int { return cmp.Compare(a.number, b.number) })
	for _, p := range rows {
		if err := w.add(func(dst []byte) ([]byte, error) { return append(dst, p.text...), nil }); err != nil {
			return nil, err
		}
	}
	return w.end(none), nil
}

// layout is an io.Writer for a list that is to be indented or YAML, which needs all of
// it. When there is no room for that it becomes a stream, and the list is sent as plain
// JSON, which is valid YAML too.
type layout struct {
	held *request.Gathered
	out  *streamWriter // set when there was no room
	r    *request.Request
}

func (l *layout) Write(p []byte) (int, error) {
	if l.out != nil {
		return l.out.Write(p)
	}
	part := l.held.Buffer()
	*part = append(*part, p...)
	if l.held.Keep(part) {
		return len(p), nil
	}
	l.out = &streamWriter{r: l.r}
	if l.r.Accept.Format == codec.YAML {
		l.out.contentType = "application/yaml"
	}
	for _, held := range append(l.held.Parts, part) {
		if _, err := l.out.Write(*held); err != nil {
			return 0, err
		}
	}
	l.held.Release(true)
	return len(p), nil
}

// whole is a gathered text with rest after it.
func whole(held *request.Gathered, rest []byte) []byte {
	text := make([]byte, 0, int(held.Taken)+len(rest))
	for _, p := range held.Parts {
		text = append(text, *p...)
	}
	return append(text, rest...)
}
