package server

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
)

// streamForm turns stored objects into the frames of a watch, in the
// representation that the watcher asked for.
type streamForm struct {
	s       *Server
	res     *api.Resource
	accept  codec.MediaType
	include string       // includeObject, of tables
	table   *codec.Table // of the next event
	rest    *codec.Table // of all events after the first: without column definitions
}

// streamForm prepares the frames of a watch. The error is a 400.
func (s *Server) streamForm(r *request) (*streamForm, error) {
	f := &streamForm{s: s, res: r.target.resource, accept: r.accept, include: r.query.get("includeObject")}
	if f.accept.As != codec.AsTable {
		return f, nil
	}
	var err error
	if f.table, err = s.newTable(r, false); err == nil {
		f.rest, err = s.newTable(r, true)
	}
	return f, err
}

// name tells forms apart whose frames differ.
func (f *streamForm) name() string {
	switch f.accept.As {
	case codec.AsTable:
		return "table " + f.accept.APIVersion + f.include
	case codec.AsPartial:
		return "partial " + f.accept.ContentType() + f.accept.APIVersion
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
		kind = metaKind("PartialObjectMetadata").of(f.accept.APIVersion)
		if body, err = codec.AppendPartial(nil, body, f.accept.APIVersion); err != nil {
			return nil, err
		}
	case f.accept.As == codec.AsTable && event != bookmark:
		rev, err := revisionOf(body)
		if err != nil {
			return nil, err
		}
		text := f.table.AppendHead(nil, codec.ListMeta{ResourceVersion: rev})
		if text, err = appendRow(f.res, f.table, text, body); err != nil {
			return nil, err
		}
		body = append(text, "]}"...)
		f.table = f.rest
	}
	return f.encode(event, kind, body)
}

func (f *streamForm) encode(event string, kind bodyKind, body []byte) ([]byte, error) {
	if f.accept.Format != codec.Binary {
		return codec.AppendFrame(nil, event, body), nil
	}
	raw, err := f.s.codecs[kind.table].Append(nil, kind.typ, body)
	if err != nil {
		return nil, err
	}
	return codec.AppendBinaryFrame(nil, event, kind.apiVersion, kind.kind, raw), nil
}

// failure is the ERROR event that ends a watch.
func (f *streamForm) failure(status codec.StatusBody) ([]byte, error) {
	return f.encode(failure, metaKind("Status"), status.JSON())
}

// startStream begins an answer that has no end yet.
func (r *request) startStream() { r.head(http.StatusOK, r.accept.ContentType()) }
