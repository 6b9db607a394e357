package request

import (
	"cmp"
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
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Negotiate decides on the form of the answer, and warns of a deprecated target. Errors:
// 400, 406, 415.
func (env *Env) Negotiate(r *Request) error {
	if err := cmp.Or(r.Query.check(), r.tries(), r.patchable()); err != nil {
		return err
	}
	err := r.negotiate()
	if !r.Target.custom() && !r.Target.nameless() && r.Accept.Format != 0 && r.warnDeprecated() {
		deprecated := r.Target.deprecated()
		env.metrics.UseDeprecated(&r.figures, deprecated)
		r.Annotate(removedNote, deprecated.RemovedIn)
	}
	if err == nil {
		err = r.fits()
	}
	return err
}

// negotiate decides on the representation of the answer.
func (r *Request) negotiate() error {
	if r.Target.AlwaysServed || r.Target.OwnRepresentation || r.Target.lasts() || r.Target.Row == nil && r.Target.Endpoint == nil {
		return nil
	}
	var err error
	o := r.offer()
	r.inCBOR = o.CBOR
	r.Accept, err = codec.Negotiate(r.HTTP.Header.Get("Accept"), o)
	r.Accept.Pretty = r.Accept.Pretty || r.pretty()
	return err
}

// offer lists the representations of the target.
func (r *Request) offer() codec.Offer {
	t := r.Target
	o := codec.Offer{Binary: codec.BinaryMedia, MetaGroup: metaGroup, CBOR: r.cbor && (t.Row != nil || t.InCBOR)}
	o.Textual = t.Row != nil && t.Row.Definition != nil && (t.Sub == nil || t.Sub.Scale == nil)
	if t.Endpoint != nil {
		if t.Aggregated {
			o.Discovery = discovery.AggregatedGroup
		}
		return o
	}
	if t.streams() {
		return codec.Offer{Watch: true, MetaGroup: metaGroup}
	}
	if t.Row != nil && r.LongRunning() {
		o.Watch, o.Table, o.Partial = true, true, true
		return o
	}
	o.Table, o.Partial = t.tabular(), true
	return o
}

// fits reports, before anything is written, whether the answer can have the requested
// form: the metadata of one object or of a list. A read checks it when it answers
// (Mismatch), as a delete does: most answers are a Status, which fits always.
func (r *Request) fits() error {
	switch {
	case r.Target.Row == nil || r.Target.Does().AnswersStatus():
		return nil
	case r.Method() == http.MethodDelete && r.Target.collection():
		return r.Mismatch(true)
	case r.Method() == http.MethodGet, r.Method() == http.MethodDelete:
		return nil
	}
	return r.Mismatch(false)
}

// Mismatch refuses the metadata of one object for a list, and the other way round.
func (r *Request) Mismatch(list bool) error {
	switch {
	case r.Accept.As != codec.AsPartial || r.Accept.List == list:
		return nil
	case list:
		return api.NotAcceptableForm("you requested PartialObjectMetadata, but the requested object is a list")
	}
	return api.NotAcceptableForm("you requested PartialObjectMetadataList, but the requested object is not a list")
}

// pretty reports whether the answer is for a person: by the parameter, or else by a
// browser's or curl's user agent.
func (r *Request) pretty() bool {
	if r.Query.Has("pretty") {
		return r.Query.Flag("pretty")
	}
	agent := r.HTTP.Header.Get("User-Agent")
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// RespondEntry answers with one stored object.
func (env *Env) RespondEntry(r *Request, code int, e store.Entry) error {
	res := r.Target.Row
	switch r.Accept.As {
	case codec.AsTable:
		body, err := env.TableOf(r, res.Resource, &e)
		if err != nil {
			return err
		}
		env.RecordAnswer(r, body)
		return env.RespondText(r, code, body)
	case codec.AsPartial:
		body, err := MetadataOf(r.Context, res.Resource, e.Body)
		if err != nil {
			return err
		}
		return env.RespondObject(r, code, KindOf(res), body)
	}
	body, err := stored.Served(r.Context, res.Resource, e.Body)
	if err != nil {
		return err
	}
	if r.Accept.Format == codec.Binary && r.Method() == http.MethodGet {
		return env.respondRendering(r, code, &e, body)
	}
	return env.RespondBytes(r, code, KindOf(res), body)
}

// RespondObject answers with an object given as canonical JSON, or with its
// metadata only.
func (env *Env) RespondObject(r *Request, code int, kind BodyKind, body []byte) error {
	if r.Accept.As != codec.AsPartial {
		return env.RespondBytes(r, code, kind, body)
	}
	if err := r.Mismatch(false); err != nil {
		return err
	}
	partial, err := codec.AppendPartial(nil, body, r.Accept.APIVersion)
	if err != nil {
		return err
	}
	return env.RespondBytes(r, code, env.MetaKind("PartialObjectMetadata").Of(r.Accept.APIVersion), partial)
}

// RespondBytes answers with an object given as canonical JSON.
func (env *Env) RespondBytes(r *Request, code int, kind BodyKind, body []byte) error {
	env.RecordAnswer(r, body)
	if r.Accept.Format == codec.Binary {
		return env.sendBinary(r, code, kind, body, func([]byte) {})
	}
	if r.Accept.Format == codec.CBOR {
		return env.sendCBOR(r, code, kind, body)
	}
	return env.RespondText(r, code, body)
}

// RespondText answers with JSON, indented or as YAML if requested.
func (env *Env) RespondText(r *Request, code int, body []byte) error {
	switch {
	case r.Accept.Format == codec.YAML:
		if err := r.hold(yamlBytes * len(body)); err != nil {
			return err
		}
		text, err := codec.ToYAML(body)
		if err != nil {
			return err
		}
		return r.Send(code, "application/yaml", text)
	case r.Accept.Pretty:
		if err := r.hold(indentBytes * len(body)); err != nil {
			return err
		}
		return r.Send(code, "application/json", codec.Indent(body), Newline)
	}
	return r.Send(code, "application/json", body, Newline)
}

var Newline = []byte("\n")

// RespondStatus answers with a Status.
func (env *Env) RespondStatus(r *Request, code int, status codec.StatusBody) error {
	text := status.JSON()
	if r.trail != nil {
		r.trail.Event.Status = text
	}
	return env.RespondBytes(r, code, env.MetaKind("Status"), text)
}

// DeletedStatus is the answer of a delete that removed the object.
func DeletedStatus(t Target, e store.Entry) codec.StatusBody {
	return codec.Deleted(t.Row.GV.Group, t.Row.Plural, t.Name, objects.UIDOf(e.Body))
}

// Fail answers with the Status of an error, or its text. All errors become answers here.
func (env *Env) Fail(r *Request, err error) {
	var known *api.Error
	var gone *conns.GoneError
	var unreadable *store.UnreadableError
	switch {
	case errors.As(err, &known):
	case errors.As(err, &gone), r.HTTP.Context().Err() != nil:
		// The client has probably gone. If it has not, it would take silence for a 200,
		// or for a proper end.
		panic(http.ErrAbortHandler)
	case errors.Is(err, context.DeadlineExceeded):
		known = &api.Error{Code: http.StatusGatewayTimeout, Reason: api.ReasonTimeout, HasDetails: true,
			Message: "the request did not finish in time; it may have taken effect"}
	case errors.Is(err, store.ErrClosed):
		known = &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: "the server is shutting down", RetryAfter: 1}
	case errors.Is(err, store.ErrFull):
		known = &api.Error{Code: http.StatusInsufficientStorage, Reason: "InsufficientStorage",
			Message: "there is no space left for objects; they can be read and deleted, not created or updated"}
	case errors.As(err, &unreadable):
		env.log.Error("an object cannot be read", "method", r.HTTP.Method, "path", r.HTTP.URL.Path, "key", unreadable.Key, "revision", unreadable.Revision,
			"error", unreadable.Cause)
		known = r.unreadable(unreadable)
	default:
		env.log.Error("request failed", "method", r.HTTP.Method, "path", r.HTTP.URL.Path, "error", err)
		known = api.Internal("the server failed while it handled the request; its log says more")
	}
	if r.Status != 0 {
		// The answer has begun: only breaking the connection shows that it is not whole.
		env.log.Warn("answer broken off", "path", r.HTTP.URL.Path, "error", known.Message)
		panic(http.ErrAbortHandler)
	}
	env.Dismiss(r)
	if known.RetryAfter > 0 {
		r.Writer.Header().Set("Retry-After", strconv.Itoa(known.RetryAfter))
	}
	if len(known.Allow) > 0 {
		r.Writer.Header().Set("Allow", strings.Join(known.Allow, ", "))
	}
	r.Accept = codec.ErrorForm(r.HTTP.Header.Get("Accept"), r.inCBOR)
	r.Accept.Pretty = r.Accept.Pretty || r.pretty()
	respond := func() error { return env.RespondStatus(r, known.Code, codec.Status(known)) }
	if known.Plain {
		respond = func() error { return env.Text(r, known.Code, known.Message+"\n") }
	}
	if err := respond(); err != nil {
		env.log.Debug("answer not written", "error", err)
	}
}

// Text answers with plain text.
func (env *Env) Text(r *Request, code int, body string) error {
	r.Writer.Header().Set("X-Content-Type-Options", "nosniff")
	return r.Send(code, "text/plain; charset=utf-8", []byte(body))
}

// noCache is shared by all answers; net/http copies headers before it sends them.
var noCache = []string{"no-cache, private"}

// Head writes the common headers of answers and the status.
func (r *Request) Head(code int, contentType string) {
	r.Span.Event("About to write a response")
	r.Headers(contentType)
	r.Begun(code)
	r.Writer.WriteHeader(code)
}

// Headers sets the common headers of answers.
func (r *Request) Headers(contentType string) {
	h := r.Writer.Header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if _, set := h["Cache-Control"]; !set {
		h["Cache-Control"] = noCache
	}
	for _, w := range r.warningTexts() {
		h.Add("Warning", `299 - "`+quoted.Replace(w)+`"`)
	}
}

// DropOwn removes from the headers of another server's answer those that clients have from
// this server: the id in audit events, and the classification.
func DropOwn(h http.Header) {
	h.Del(auditID)
	flowcontrol.Unlabel(h)
}

// quoted makes a text the content of a quoted string of HTTP.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// Send writes a whole answer, compressed where that pays.
func (r *Request) Send(code int, contentType string, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if err := r.hold(size); err != nil {
		return err
	}
	if GzipPays(size) && r.AcceptsGzip() {
		return r.sendGzip(code, contentType, parts)
	}
	r.Writer.Header().Set("Content-Length", strconv.Itoa(size))
	r.Head(code, contentType)
	if r.HTTP.Method == http.MethodHead {
		return nil
	}
	if size < netBuffer/2 {
		return r.writeAll(parts)
	}
	return r.Corked(func() error {
		if err := r.writeAll(parts); err != nil {
			return err
		}
		if err := http.NewResponseController(r.Writer).Flush(); err != nil {
			return &conns.GoneError{Cause: err}
		}
		return nil
	})
}

// hold takes room for so many bytes of a large answer, until the request ends: neither
// slow readers nor indented answers may fill the memory. The largest answers are served
// too, alone. A write that was made cannot be refused any more, so writes are bounded by
// their places only.
func (r *Request) hold(size int) error {
	if size <= small || r.User == nil || r.Mutating() {
		return nil
	}
	answers := &r.limits.answers
	more := min(int64(size), answers.share) - r.room.size
	if more <= 0 {
		return nil
	}
	return answers.Take(&r.room, r.User, more)
}

// The memory for indenting a text, for each of its bytes.
const (
	yamlBytes   = 8
	indentBytes = 2
)

// netBuffer is the number of bytes that net/http gathers before it writes. Answers of
// half as much leave in one piece with their head.
const netBuffer = 4 << 10

func (r *Request) writeAll(parts [][]byte) error {
	for _, p := range parts {
		if err := r.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// Corked makes the writes of send leave in as few system calls as possible.
func (r *Request) Corked(send func() error) error {
	if r.seat.begin() {
		defer r.seat.end()
	}
	conn := conns.Of(r.HTTP)
	conn.Cork()
	err := send()
	if sent := conn.Uncork(); sent != nil && err == nil {
		err = &conns.GoneError{Cause: sent}
	}
	return err
}

// Write writes a part of the body. An error means that the client is gone.
func (r *Request) Write(p []byte) error {
	_, err := r.WriteBytes(p)
	return err
}

// WriteBytes is Write with the number of bytes written, as io.Writer wants it.
func (r *Request) WriteBytes(p []byte) (int, error) {
	if r.Bytes+int64(len(p)) > netBuffer/2 && r.seat.begin() { // less is gathered
		defer r.seat.end()
	}
	n, err := r.Writer.Write(p)
	r.Bytes += int64(n)
	if err != nil {
		return n, &conns.GoneError{Cause: err}
	}
	return n, nil
}

type WriterFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f WriterFunc) Write(p []byte) (int, error) { return f(p) }
