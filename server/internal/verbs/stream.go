package verbs

import (
	"context"
	"net/http"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stored"
	"github.com/capstan-dev/capstan/server/internal/stream"
)

// streamForm turns stored objects into the frames of a watch, in the requested
// representation.
type streamForm struct {
	s       *Verbs
	res     *catalog.Row
	accept  codec.MediaType
	include string       // includeObject, of tables
	table   *codec.Table // of the next event
	rest    *codec.Table // of all events after the first: without column definitions

	// Names of the frames' representation; lastName is for the last state that matched,
	// with the revision at which it ceased to.
	name, lastName string
}

// streamForm prepares the frames of a watch. The error is a 400.
func (v *Verbs) streamForm(r *request.Request) (*streamForm, error) {
	f := &streamForm{s: v, res: r.Target.Row, accept: r.Accept, include: r.Query.Get("includeObject")}
	f.name = f.describe()
	f.lastName = "last " + f.name
	if f.accept.As != codec.AsTable {
		return f, nil
	}
	var err error
	if f.table, err = v.env.NewTable(f.res.Resource, r, false); err == nil {
		f.rest, err = v.env.NewTable(f.res.Resource, r, true)
	}
	return f, err
}

func (f *streamForm) describe() string {
	of := ""
	if f.res.Conversion != nil || f.res.Definition != nil { // watchers of all versions share the events
		of = " " + f.res.GV.APIVersion()
	}
	switch f.accept.As {
	case codec.AsTable:
		return "table " + f.accept.APIVersion + f.include
	case codec.AsPartial:
		return "partial " + f.accept.ContentType() + f.accept.APIVersion + of
	}
	return f.accept.ContentType() + of
}

// shared reports whether watchers may share a frame. Rows of tables hold ages, which
// depend on the time.
func (f *streamForm) shared() bool { return f.accept.As != codec.AsTable }

// frame is an event with an object, given as it is stored. The entry of one that is not
// stored like that has no revision.
func (f *streamForm) frame(ctx context.Context, event string, e *store.Entry) ([]byte, error) {
	f.follow()
	kind, body := request.KindOf(f.res), e.Body
	var err error
	switch {
	case f.accept.As == codec.AsPartial:
		kind = f.s.env.MetaKind("PartialObjectMetadata").Of(f.accept.APIVersion)
		if body, err = request.MetadataOf(ctx, f.res.Resource, body); err != nil {
			return nil, err
		}
		if body, err = codec.AppendPartial(nil, body, f.accept.APIVersion); err != nil {
			return nil, err
		}
	case f.accept.As == codec.AsTable:
		rev, err := revisionOf(body)
		if err != nil {
			return nil, err
		}
		text := f.table.AppendHead(nil, codec.ListMeta{ResourceVersion: rev})
		if text, err = f.s.env.AppendRow(ctx, f.res.Resource, f.table, text, e); err != nil {
			return nil, err
		}
		body = append(text, "]}"...)
		f.table = f.rest
	case event != bookmark:
		if body, err = stored.Served(ctx, f.res.Resource, body); err != nil {
			return nil, err
		}
	}
	return f.encode(event, kind, e, body)
}

// follow brings the row up to date. A watch of custom objects goes on in its version when
// their definition changes. When the version is not served any more the last row stays: the
// hub ends the watch, after the events up to then.
func (f *streamForm) follow() {
	if f.res.Definition == nil {
		return
	}
	if now := f.s.env.Row(f.res); now != nil {
		f.res = now
	}
}

func (f *streamForm) encode(event string, kind request.BodyKind, e *store.Entry, body []byte) ([]byte, error) {
	switch f.accept.Format {
	case codec.Binary:
	case codec.CBOR:
		frame := make([]byte, 0, len(body)+frameRoom)
		return codec.AppendCBORFrame(frame, event, func(dst []byte) ([]byte, error) { return kind.Schema.CBOR().Append(dst, kind.Type, body) })
	default:
		return codec.AppendFrame(make([]byte, 0, len(body)+frameRoom), event, body), nil
	}
	buf := f.s.gather.Buffer()
	defer f.s.gather.Free(buf)
	raw, err := kind.Schema.Binary().Append(*buf, kind.Type, body)
	if err != nil {
		return nil, err
	}
	*buf = raw
	if f.accept.As == codec.AsObject {
		f.s.env.Measured(f.res, e, len(raw))
	}
	return codec.AppendBinaryFrame(make([]byte, 0, len(raw)+frameRoom+len(kind.APIVersion)+len(kind.Kind)), event, kind.APIVersion, kind.Kind, raw), nil
}

// frameRoom bounds what a frame has besides its object and the object's kind.
const frameRoom = 64

// failure is the ERROR event that ends a watch.
func (f *streamForm) failure(status codec.StatusBody) ([]byte, error) {
	return f.encode(failure, f.s.env.MetaKind("Status"), &store.Entry{}, status.JSON())
}

// stream lets a watch write its answer after the handler's steps: to a connection of its
// own in HTTP/1.1, in the handler in HTTP/2. An error means that nothing is written yet, or
// that the client has gone.
func (v *Verbs) stream(r *request.Request, w *watcher) error {
	if stream.IsWebSocket(r.HTTP) {
		return v.streamMessages(r, w)
	}
	if r.HTTP.ProtoMajor == 1 && r.HTTP.ProtoMinor >= 1 {
		return v.streamDetached(r, w)
	}
	r.Head(http.StatusOK, r.Accept.ContentType())
	body := v.Streams.Respond(r.Writer, &r.Bytes)
	w.ctx, w.sink = r.HTTP.Context(), body
	leave(r, func() {
		defer body.Close()
		w.run()
	})
	return nil
}

// streamMessages lets a watch write the messages of a WebSocket: one of text per event,
// or a binary one in the binary form.
func (v *Verbs) streamMessages(r *request.Request, w *watcher) error {
	if err := stream.SameOrigin(r.HTTP); err != nil {
		return err
	}
	r.Headers(r.Accept.ContentType())
	r.Writer.Header().Del("Content-Type") // of the refusal, if there is one
	frames := stream.Frames{Binary: r.Accept.Format == codec.Binary || r.Accept.Format == codec.CBOR}
	if r.Accept.Format == codec.Binary {
		frames.Length = codec.FrameLength
	}
	messages, err := v.Streams.Accept(r.Writer, r.HTTP, frames, &r.Bytes)
	if err != nil {
		r.Begun(http.StatusBadRequest) // it has been answered
		v.log.Debug("no WebSocket", "path", w.path, "error", err)
		return nil
	}
	r.Begun(http.StatusSwitchingProtocols)
	w.ctx, w.sink = messages.Context(), messages
	detach(r, func() {
		defer messages.Close() // if the watch panics; otherwise it is closed by then
		w.run()
	})
	return nil
}

func (v *Verbs) streamDetached(r *request.Request, w *watcher) error {
	r.Headers(r.Accept.ContentType())
	header := r.Writer.Header()
	d, err := v.Streams.Detach(r.Writer, &r.Bytes)
	if err != nil {
		return err
	}
	r.Begun(http.StatusOK)
	if err := d.Begin(header); err != nil {
		return err
	}
	ctx, gone := context.WithCancel(context.Background())
	w.ctx, w.sink = ctx, d
	d.Listen(gone)
	detach(r, func() {
		defer d.Close()
		defer gone()
		w.run()
	})
	return nil
}

// leave leaves the rest of an answer for later, which does not need these parts of its
// request.
func leave(r *request.Request, rest func()) {
	r.Rest = rest
	r.Context, r.Writer, r.Query, r.Warnings = nil, nil, request.Query{}, nil
}

// detach is leave for an answer on a connection of its own. What stays of its request
// identifies it.
func detach(r *request.Request, rest func()) {
	leave(r, rest)
	r.Detached = true
	r.HTTP = &http.Request{Method: r.HTTP.Method, URL: r.HTTP.URL, Header: http.Header{"User-Agent": r.HTTP.Header["User-Agent"]}}
}
