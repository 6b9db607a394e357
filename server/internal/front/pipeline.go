package front

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/server/internal/logging"
)

// Serve is the way of every request, top to bottom. The router has found what
// is asked for (target); everything else happens here, in this order:
//
//	authenticate who asks, and as nobody else                    400 401 403
//	authorize    whether they may                                403
//	dispatch     what the method means for the target            404 405
//	negotiate    how to answer, what the query says              400 406
//	receive      the whole body                                  408 413
//	admit        bound the requests in flight, of each user too  429
//	verb         decode 400 413 415, default, validate 422,
//	             store transaction 404 409 410 504, respond
//
// Update, patch and delete validate inside the store's closure, since only there the
// current object is known (server/internal/objects/write.go).
//
// Whatever fails before the first byte of the answer becomes one Status
// (respond.go); a panic is logged and becomes a 500.
func (f *Front) Serve(w http.ResponseWriter, q *http.Request, t Target) {
	r := NewRequest(w, q, t, f.features, f.limits)
	r.taken = f.Intake.begin()
	defer func() {
		if !r.Detached {
			f.End(r)
		}
	}()
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			panic(v) // the answer is broken off on purpose (fail)
		} else if v != nil {
			f.log.Error("request panicked", "path", r.HTTP.URL.Path, "panic", v, logging.TraceKey, string(debug.Stack()))
			f.fail(r, api.Internal("the server failed while it handled the request; its log says more"))
		}
	}()
	if err := f.handle(r); err != nil {
		f.fail(r, err)
	}
}

func (f *Front) handle(r *Request) error {
	if !r.taken && !r.Target.alwaysServed() {
		r.Writer.Header().Set("Connection", "close") // another server may do better
		return shuttingDown()
	}
	if r.mayWait() {
		limit, err := r.timeLimit(f.cfg.RequestTimeout)
		if err != nil {
			return err
		}
		var cancel context.CancelFunc
		r.Context, cancel = context.WithTimeout(r.Context, limit)
		defer cancel()
	}

	verb, err := f.verbFor(r)
	if err != nil {
		return err
	}
	var room, at Place
	defer room.Leave()
	defer at.Leave()
	defer r.room.Leave()
	if r.Target.Row != nil && r.mutating() {
		if err := f.Receive(r, &room); err != nil {
			return err
		}
	}
	f.dismiss(r)
	if err := f.limits.enter(r, &at); err != nil {
		return err
	}
	return verb(r)
}

// verbFor goes the way of a request down to its verb. It returns before the verb
// runs, so that a watch, which runs for long, does not keep its part of the stack.
func (f *Front) verbFor(r *Request) (v Verb, err error) {
	if r.User, err = f.authn.Authenticate(r.HTTP); err != nil {
		return nil, err
	}
	if w := authn.Warning(r.HTTP); w != "" {
		r.Warn(w)
	}
	if err := authn.RefuseImpersonation(r.HTTP.Header); err != nil {
		return nil, err
	}

	attributes := r.attributes()
	decision, reason, err := f.authz.Authorize(r.Context, &attributes)
	if err != nil {
		return nil, err
	}
	if decision != authz.Allow {
		return nil, authz.Forbidden(&attributes, reason)
	}
	f.count(r)

	if v, err = f.verbOf(r); err != nil {
		return nil, err
	}
	if err := r.Query.check(); err != nil {
		return nil, err
	}
	if err := r.patchable(); err != nil {
		return nil, err
	}
	err = r.negotiate()
	if text := r.Target.Deprecation(); text != "" && r.Accept.Format != 0 {
		r.Warn(text)
		f.metrics.UseDeprecated(&r.figures, r.Target.Row.Deprecated)
	}
	if err == nil {
		err = r.fits()
	}
	return v, err
}

// verbOf says which function a request ends in, or 404 or 405.
func (f *Front) verbOf(r *Request) (Verb, error) {
	t := &r.Target
	if t.Endpoint != nil {
		return t.Endpoint, nil
	}
	if t.Row == nil || t.nowhere() {
		return f.unknown, nil
	}
	allowed := f.verbsOf(t)
	if v := *allowed.of(r.Method()); v != nil {
		return v, nil
	}
	return nil, api.MethodNotAllowed(allowed.Methods())
}

// unknown answers a path that nothing is at: with a Status where a client looks
// for a version or a resource of a group that exists, with plain text elsewhere.
func (f *Front) unknown(r *Request) error {
	if f.inGroup(r.HTTP.URL.Path) {
		return api.UnknownPath()
	}
	return f.Text(r, http.StatusNotFound, "404 page not found\n")
}

// inGroup reports whether a path is below that of a group that is served.
func (f *Front) inGroup(path string) bool {
	rest, named := strings.CutPrefix(path, "/apis/")
	if !named {
		return strings.HasPrefix(path, "/api/")
	}
	group, _, _ := strings.Cut(rest, "/")
	return f.catalog.Snapshot().ServesGroup(group)
}

// Verb is what a request ends in: it answers, or says why it does not.
type Verb func(*Request) error

// Verbs are what can be done to a target, by HTTP method: onGet, …
type Verbs [len(VerbMethods)]Verb

// The places of methods in verbs.
const (
	OnDelete = iota
	OnGet
	OnPatch
	OnPost
	OnPut
)

var VerbMethods = [...]string{OnDelete: http.MethodDelete, OnGet: http.MethodGet, OnPatch: http.MethodPatch, OnPost: http.MethodPost, OnPut: http.MethodPut}

// of is the place of a method; an unknown one has a place that is always empty.
func (v *Verbs) of(method string) *Verb {
	for i, m := range VerbMethods {
		if m == method {
			return &v[i]
		}
	}
	return new(Verb)
}

// Methods lists those that are answered.
func (v *Verbs) Methods() []string {
	var names []string
	for i, do := range v {
		if do != nil {
			names = append(names, VerbMethods[i])
		}
	}
	return names
}

// End is the last step of every request, whoever answers it to the end.
func (f *Front) End(r *Request) {
	f.counted(r)
	f.access(r)
	if r.taken {
		f.Intake.done()
	}
}

// access writes the one line per request that the log has at debug.
func (f *Front) access(r *Request) {
	if f.accessLog == nil {
		return
	}
	f.accessLog(r.HTTP, r.User, r.Status, r.Bytes, time.Since(r.start))
}
