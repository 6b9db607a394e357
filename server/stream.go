package server

import (
	"context"
	"net/http"
	"runtime/debug"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/stored"
	"github.com/capstan-dev/capstan/server/internal/stream"
)

// streamForm turns stored objects into the frames of a watch, in the
// representation that the watcher asked for.
type streamForm struct {
	s       *Server
	res     *catalog.Row
	accept  codec.MediaType
	include string       // includeObject, of tables
	table   *codec.Table // of the next event
	rest    *codec.Table // of all events after the first: without column definitions

	// Names of forms whose frames differ; lastName is for the last state that
	// matched, with the revision at which it ceased to.
	name, lastName string
}

// streamForm prepares the frames of a watch. The error is a 400.
func (s *Server) streamForm(r *request) (*streamForm, error) {
	f := &streamForm{s: s, res: r.target.Row, accept: r.accept, include: r.query.get("includeObject")}
	f.name = f.describe()
	f.lastName = "last " + f.name
	if f.accept.As != codec.AsTable {
		return f, nil
	}
	var err error
	if f.table, err = s.newTable(f.res.Resource, r, false); err == nil {
		f.rest, err = s.newTable(f.res.Resource, r, true)
	}
	return f, err
}

func (f *streamForm) describe() string {
	switch f.accept.As {
	case codec.AsTable:
		return "table " + f.accept.APIVersion + f.include
	case codec.AsPartial:
		return "partial " + f.accept.ContentType() + f.accept.APIVersion
	}
	if f.res.Conversion != nil { // watchers of all versions share the events
		return f.accept.ContentType() + " " + f.res.GV.APIVersion()
	}
	return f.accept.ContentType()
}

// shared reports whether watchers may share a frame. Rows of tables hold ages,
// which depend on when they are read.
func (f *streamForm) shared() bool { return f.accept.As != codec.AsTable }

// frame is an event with an object, given as it is stored.
func (f *streamForm) frame(event string, body []byte) ([]byte, error) {
	kind := kindOf(f.res)
	var err error
	switch {
	case f.accept.As == codec.AsPartial:
		kind = f.s.metaKind("PartialObjectMetadata").of(f.accept.APIVersion)
		if body, err = metadataOf(f.res.Resource, body); err != nil {
			return nil, err
		}
		if body, err = codec.AppendPartial(nil, body, f.accept.APIVersion); err != nil {
			return nil, err
		}
	case f.accept.As == codec.AsTable && event != bookmark:
		rev, err := revisionOf(body)
		if err != nil {
			return nil, err
		}
		text := f.table.AppendHead(nil, codec.ListMeta{ResourceVersion: rev})
		if text, err = appendRow(f.res.Resource, f.table, text, body); err != nil {
			return nil, err
		}
		body = append(text, "]}"...)
		f.table = f.rest
	case f.accept.As != codec.AsTable && event != bookmark:
		if body, err = stored.Served(f.res.Resource, body); err != nil {
			return nil, err
		}
	}
	return f.encode(event, kind, body)
}

func (f *streamForm) encode(event string, kind bodyKind, body []byte) ([]byte, error) {
	if f.accept.Format != codec.Binary {
		return codec.AppendFrame(nil, event, body), nil
	}
	raw, err := kind.schema.Binary().Append(nil, kind.typ, body)
	if err != nil {
		return nil, err
	}
	return codec.AppendBinaryFrame(nil, event, kind.apiVersion, kind.kind, raw), nil
}

// failure is the ERROR event that ends a watch.
func (f *streamForm) failure(status codec.StatusBody) ([]byte, error) {
	return f.encode(failure, f.s.metaKind("Status"), status.JSON())
}

// stream lets a watch write its answer: to a connection of its own in HTTP/1.1,
// after the handler has returned, or here. An error means that nothing is
// written yet, or that the client is gone.
func (s *Server) stream(r *request, w *watcher) error {
	if stream.IsWebSocket(r.http) {
		return s.streamMessages(r, w)
	}
	if r.http.ProtoMajor == 1 && r.http.ProtoMinor >= 1 {
		return s.streamDetached(r, w)
	}
	r.head(http.StatusOK, r.accept.ContentType())
	body := s.streams.Respond(r.w, &r.bytes)
	defer body.Close()
	w.ctx, w.sink = r.ctx, body
	w.run()
	return nil
}

// streamMessages lets a watch write the messages of a WebSocket: one of text per
// event, or one of bytes in the binary form.
func (s *Server) streamMessages(r *request, w *watcher) error {
	if err := stream.SameOrigin(r.http); err != nil {
		return err
	}
	r.headers(r.accept.ContentType())
	r.w.Header().Del("Content-Type") // of the refusal, if there is one
	skip := 0
	if r.accept.Format == codec.Binary {
		skip = codec.FrameLength
	}
	messages, err := s.streams.Accept(r.w, r.http, skip, &r.bytes)
	if err != nil {
		r.status = http.StatusBadRequest // it has been answered
		s.log.Debug("no WebSocket", "path", w.path, "error", err)
		return nil
	}
	defer messages.Close() // if the watch panics; otherwise it is closed by then
	r.status = http.StatusSwitchingProtocols
	w.ctx, w.sink = messages.Context(), messages
	w.run()
	return nil
}

func (s *Server) streamDetached(r *request, w *watcher) error {
	r.headers(r.accept.ContentType())
	header := r.w.Header()
	d, err := s.streams.Detach(r.w, &r.bytes)
	if err != nil {
		return err
	}
	r.status = http.StatusOK
	if err := d.Begin(header); err != nil {
		return err
	}
	ctx, gone := context.WithCancel(context.Background())
	w.ctx, w.sink = ctx, d
	r.slim()
	r.detached = true
	go d.Listen(gone)
	go func() {
		defer s.end(r)
		defer d.Close()
		defer gone()
		defer func() {
			if v := recover(); v != nil {
				s.log.Error("watch panicked", "path", w.path, "panic", v, logging.TraceKey, string(debug.Stack()))
			}
		}()
		w.run()
	}()
	return nil
}

// slim lets go of what only a handler needs; what is left says who asked what.
func (r *request) slim() {
	r.ctx, r.w, r.query, r.warnings = nil, nil, query{}, nil
	r.http = &http.Request{Method: r.http.Method, URL: r.http.URL, Header: http.Header{"User-Agent": r.http.Header["User-Agent"]}}
}
