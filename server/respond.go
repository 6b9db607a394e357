package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// gzipSize is the size from which an answer is compressed when the client
// accepts it, in bytes.
const gzipSize = 128 << 10

// negotiate decides in which representation the request is answered.
func (r *request) negotiate() error {
	if r.target.open || r.target.ownForm || r.target.Row == nil && r.target.endpoint == nil {
		return nil
	}
	var err error
	r.accept, err = codec.Negotiate(r.http.Header.Get("Accept"), r.offer())
	r.accept.Pretty = r.accept.Pretty || r.pretty()
	return err
}

// offer says which representations the target has.
func (r *request) offer() codec.Offer {
	o := codec.Offer{Binary: codec.BinaryMedia, MetaGroup: metaGroup}
	t := r.target
	if t.endpoint != nil {
		if t.aggregated {
			o.Discovery = discovery.AggregatedGroup
		}
		return o
	}
	if t.Row != nil && r.longRunning() {
		o.Watch, o.Table, o.Partial = true, true, true
		return o
	}
	o.Table, o.Partial = t.tabular(), true
	return o
}

// fits reports, before anything is written, whether the answer can be what was
// asked for: the metadata of one object or of a list. A read finds out when it
// answers (mismatch), as a delete does: most end in a Status, which is always one.
func (r *request) fits() error {
	switch {
	case r.target.Row == nil || r.target.Does().AnswersStatus():
		return nil
	case r.method() == http.MethodDelete && r.target.collection():
		return r.mismatch(true)
	case r.method() == http.MethodGet, r.method() == http.MethodDelete:
		return nil
	}
	return r.mismatch(false)
}

// mismatch refuses the metadata of one object for a list, and the other way round.
func (r *request) mismatch(list bool) error {
	switch {
	case r.accept.As != codec.AsPartial || r.accept.List == list:
		return nil
	case list:
		return api.NotAcceptableForm("you requested PartialObjectMetadata, but the requested object is a list")
	}
	return api.NotAcceptableForm("you requested PartialObjectMetadataList, but the requested object is not a list")
}

// pretty reports whether a person reads the answer: by the parameter, or else
// by a browser's or curl's user agent.
func (r *request) pretty() bool {
	if r.query.has("pretty") {
		return r.query.flag("pretty")
	}
	agent := r.http.Header.Get("User-Agent")
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// respondEntry answers with one stored object.
func (s *Server) respondEntry(r *request, code int, e store.Entry) error {
	res := r.target.Row
	switch r.accept.As {
	case codec.AsTable:
		body, err := s.tableOf(r, res.Resource, e.Body)
		if err != nil {
			return err
		}
		return s.respondText(r, code, body)
	case codec.AsPartial:
		body, err := metadataOf(res.Resource, e.Body)
		if err != nil {
			return err
		}
		return s.respondObject(r, code, kindOf(res), body)
	}
	body, err := stored.Served(res.Resource, e.Body)
	if err != nil {
		return err
	}
	return s.respondBytes(r, code, kindOf(res), body)
}

// respondObject answers with an object given as canonical JSON, or with its
// metadata only.
func (s *Server) respondObject(r *request, code int, kind bodyKind, body []byte) error {
	if r.accept.As != codec.AsPartial {
		return s.respondBytes(r, code, kind, body)
	}
	if err := r.mismatch(false); err != nil {
		return err
	}
	partial, err := codec.AppendPartial(nil, body, r.accept.APIVersion)
	if err != nil {
		return err
	}
	return s.respondBytes(r, code, s.metaKind("PartialObjectMetadata").of(r.accept.APIVersion), partial)
}

// respondBytes answers with an object given as canonical JSON.
func (s *Server) respondBytes(r *request, code int, kind bodyKind, body []byte) error {
	if r.accept.Format == codec.Binary {
		return s.respondBinary(r, code, kind, body)
	}
	return s.respondText(r, code, body)
}

// respondText answers with JSON, or with what is made from it for people.
func (s *Server) respondText(r *request, code int, body []byte) error {
	switch {
	case r.accept.Format == codec.YAML:
		if err := r.hold(yamlBytes * len(body)); err != nil {
			return err
		}
		text, err := codec.ToYAML(body)
		if err != nil {
			return err
		}
		return r.send(code, "application/yaml", text)
	case r.accept.Pretty:
		if err := r.hold(indentBytes * len(body)); err != nil {
			return err
		}
		return r.send(code, "application/json", codec.Indent(body), newline)
	}
	return r.send(code, "application/json", body, newline)
}

var newline = []byte("\n")

// respondStatus answers with a Status.
func (s *Server) respondStatus(r *request, code int, status codec.StatusBody) error {
	return s.respondBytes(r, code, s.metaKind("Status"), status.JSON())
}

// deletedStatus is the answer of a delete that removed the object.
func deletedStatus(t target, e store.Entry) codec.StatusBody {
	return codec.Deleted(t.Row.GV.Group, t.Row.Plural, t.Name, objects.UIDOf(e.Body))
}

// fail answers with the Status of an error. It is the only place where errors
// become answers.
func (s *Server) fail(r *request, err error) {
	var known *api.Error
	var gone *conns.GoneError
	switch {
	case errors.As(err, &known):
	case errors.As(err, &gone), r.http.Context().Err() != nil:
		// Nobody is there to read it, as far as is known. Somebody who is there
		// all the same would take silence for a 200, or for a proper end.
		panic(http.ErrAbortHandler)
	case errors.Is(err, context.DeadlineExceeded):
		known = &api.Error{Code: http.StatusGatewayTimeout, Reason: api.ReasonTimeout, HasDetails: true, Message: "the request did not finish in time; it may have taken effect"}
	case errors.Is(err, store.ErrClosed):
		known = &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: "the server is shutting down", RetryAfter: 1}
	case errors.Is(err, store.ErrFull):
		known = &api.Error{Code: http.StatusInsufficientStorage, Reason: "InsufficientStorage", Message: "the disk of the server is full; objects can be read and deleted, not created or updated"}
	default:
		s.log.Error("request failed", "method", r.http.Method, "path", r.http.URL.Path, "error", err)
		known = api.Internal("the server failed while it handled the request; its log says more")
	}
	if r.status != 0 {
		// The answer has begun: the only way left to say that it is not
		// whole is to break the connection.
		s.log.Warn("answer broken off", "path", r.http.URL.Path, "error", known.Message)
		panic(http.ErrAbortHandler)
	}
	s.dismiss(r)
	if known.RetryAfter > 0 {
		r.w.Header().Set("Retry-After", strconv.Itoa(known.RetryAfter))
	}
	if len(known.Allow) > 0 {
		r.w.Header().Set("Allow", strings.Join(known.Allow, ", "))
	}
	r.accept = codec.ErrorForm(r.http.Header.Get("Accept"))
	r.accept.Pretty = r.accept.Pretty || r.pretty()
	if err := s.respondStatus(r, known.Code, codec.Status(known)); err != nil {
		s.log.Debug("answer not written", "error", err)
	}
}

// text answers with plain text.
func (s *Server) text(r *request, code int, body string) error {
	r.w.Header().Set("X-Content-Type-Options", "nosniff")
	return r.send(code, "text/plain; charset=utf-8", []byte(body))
}

// noCache is shared by all answers; net/http copies headers before it sends them.
var noCache = []string{"no-cache, private"}

// head writes the headers that every answer has and the status.
func (r *request) head(code int, contentType string) {
	r.headers(contentType)
	r.status = code
	r.w.WriteHeader(code)
}

// headers sets the headers that every answer has.
func (r *request) headers(contentType string) {
	h := r.w.Header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if _, set := h["Cache-Control"]; !set {
		h["Cache-Control"] = noCache
	}
	for _, w := range r.told() {
		h.Add("Warning", `299 - `+strconv.Quote(w))
	}
}

// send writes a whole answer, compressed where that pays.
func (r *request) send(code int, contentType string, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if err := r.hold(size); err != nil {
		return err
	}
	if size >= gzipSize && r.acceptsGzip() {
		return r.sendGzip(code, contentType, parts)
	}
	r.w.Header().Set("Content-Length", strconv.Itoa(size))
	r.head(code, contentType)
	if r.http.Method == http.MethodHead {
		return nil
	}
	if size < netBuffer/2 {
		return r.writeAll(parts)
	}
	return r.corked(func() error {
		if err := r.writeAll(parts); err != nil {
			return err
		}
		if err := http.NewResponseController(r.w).Flush(); err != nil {
			return &conns.GoneError{Cause: err}
		}
		return nil
	})
}

// hold sees to it that the request has room for so many bytes of a large answer,
// until it ends: neither slow readers nor those who want it laid out may fill the
// memory. The largest answers are served too, alone. What has been done cannot be
// refused any more, so that writes are bounded by their places only.
func (r *request) hold(size int) error {
	if size <= small || r.user == nil || r.mutating() {
		return nil
	}
	answers := &r.limits.answers
	more := min(int64(size), answers.share) - r.room.size
	if more <= 0 {
		return nil
	}
	return answers.take(&r.room, r.user, more)
}

// What laying out a text holds in memory, for each of its bytes.
const (
	yamlBytes   = 8
	indentBytes = 2
)

// netBuffer is what net/http gathers before it writes. Answers of half as much go
// out in one piece with their head.
const netBuffer = 4 << 10

func (r *request) writeAll(parts [][]byte) error {
	for _, p := range parts {
		if err := r.write(p); err != nil {
			return err
		}
	}
	return nil
}

// corked makes the writes of send leave in as few system calls as possible.
func (r *request) corked(send func() error) error {
	conn := conns.Of(r.http)
	conn.Cork()
	err := send()
	if sent := conn.Uncork(); sent != nil && err == nil {
		err = &conns.GoneError{Cause: sent}
	}
	return err
}

// acceptsGzip reports whether the client names gzip, and not with a weight of zero.
func (r *request) acceptsGzip() bool {
	if !r.on[features.Compression] {
		return false
	}
	for _, header := range r.http.Header["Accept-Encoding"] {
		for coding := range strings.SplitSeq(header, ",") {
			name, parameter, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			key, weight, _ := strings.Cut(strings.ReplaceAll(parameter, " ", ""), "=")
			return r.on[features.Compression] && (!strings.EqualFold(key, "q") || strings.Trim(weight, "0.") != "")
		}
	}
	return false
}

func (r *request) sendGzip(code int, contentType string, parts [][]byte) error {
	h := r.w.Header()
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	r.head(code, contentType)
	z := codec.Gzip(writerFunc(r.writeBytes))
	for _, p := range parts {
		if _, err := z.Write(p); err != nil {
			return err
		}
	}
	return z.Close()
}

// write writes a part of the body. An error means that the client is gone.
func (r *request) write(p []byte) error {
	_, err := r.writeBytes(p)
	return err
}

func (r *request) writeBytes(p []byte) (int, error) {
	n, err := r.w.Write(p)
	r.bytes += int64(n)
	if err != nil {
		return n, &conns.GoneError{Cause: err}
	}
	return n, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// respondBinary answers with the binary form of an object given as canonical JSON.
func (s *Server) respondBinary(r *request, code int, kind bodyKind, body []byte) error {
	buf := s.gather.buffer()
	object, grown, err := codec.Sealed(*buf, kind.apiVersion, kind.kind, func(dst []byte) ([]byte, error) {
		return kind.schema.Binary().Append(dst, kind.typ, body)
	})
	*buf = grown
	if err == nil {
		err = r.send(code, r.accept.ContentType(), object)
	}
	if err == nil {
		s.gather.free(buf) // after a failure HTTP/2 may still be sending it
	}
	return err
}
