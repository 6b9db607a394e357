package server

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

// serve is the way of every request, top to bottom. The router has found what
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
func (s *Server) serve(w http.ResponseWriter, q *http.Request, t target) {
	r := newRequest(w, q, t, s.features, &s.limits)
	r.taken = s.intake.begin()
	defer func() {
		if !r.detached {
			s.end(r)
		}
	}()
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			panic(v) // the answer is broken off on purpose (fail)
		} else if v != nil {
			s.log.Error("request panicked", "path", r.http.URL.Path, "panic", v, logging.TraceKey, string(debug.Stack()))
			s.fail(r, api.Internal("the server failed while it handled the request; its log says more"))
		}
	}()
	if err := s.handle(r); err != nil {
		s.fail(r, err)
	}
}

func (s *Server) handle(r *request) error {
	if !r.taken && !r.target.alwaysServed() {
		r.w.Header().Set("Connection", "close") // another server may do better
		return shuttingDown()
	}
	if r.mayWait() {
		limit, err := r.timeLimit(s.cfg.RequestTimeout)
		if err != nil {
			return err
		}
		var cancel context.CancelFunc
		r.ctx, cancel = context.WithTimeout(r.ctx, limit)
		defer cancel()
	}

	verb, err := s.verbFor(r)
	if err != nil {
		return err
	}
	var room, at place
	defer room.leave()
	defer at.leave()
	defer r.room.leave()
	if r.target.Row != nil && r.mutating() {
		if err := s.receive(r, &room); err != nil {
			return err
		}
	}
	s.dismiss(r)
	if err := s.limits.enter(r, &at); err != nil {
		return err
	}
	return verb(r)
}

// verbFor goes the way of a request down to its verb. It returns before the verb
// runs, so that a watch, which runs for long, does not keep its part of the stack.
func (s *Server) verbFor(r *request) (v verb, err error) {
	if r.user, err = s.authn.Authenticate(r.http); err != nil {
		return nil, err
	}
	if w := authn.Warning(r.http); w != "" {
		r.Warn(w)
	}
	if err := authn.RefuseImpersonation(r.http.Header); err != nil {
		return nil, err
	}

	attributes := r.attributes()
	decision, reason, err := s.authz.Authorize(r.ctx, &attributes)
	if err != nil {
		return nil, err
	}
	if decision != authz.Allow {
		return nil, authz.Forbidden(&attributes, reason)
	}
	s.count(r)

	if v, err = s.verbOf(r); err != nil {
		return nil, err
	}
	if err := r.query.check(); err != nil {
		return nil, err
	}
	if err := r.patchable(); err != nil {
		return nil, err
	}
	err = r.negotiate()
	if text := r.target.deprecation(); text != "" && r.accept.Format != 0 {
		r.Warn(text)
		s.metrics.UseDeprecated(&r.figures, r.target.Row.Deprecated)
	}
	if err == nil {
		err = r.fits()
	}
	return v, err
}

// verbOf says which function a request ends in, or 404 or 405.
func (s *Server) verbOf(r *request) (verb, error) {
	t := &r.target
	if t.endpoint != nil {
		return t.endpoint, nil
	}
	if t.Row == nil || t.nowhere() {
		return s.unknown, nil
	}
	allowed := s.verbsOf(t)
	if v := *allowed.of(r.method()); v != nil {
		return v, nil
	}
	return nil, api.MethodNotAllowed(allowed.methods())
}

// unknown answers a path that nothing is at: with a Status where a client looks
// for a version or a resource of a group that exists, with plain text elsewhere.
func (s *Server) unknown(r *request) error {
	if s.inGroup(r.http.URL.Path) {
		return api.UnknownPath()
	}
	return s.text(r, http.StatusNotFound, "404 page not found\n")
}

// inGroup reports whether a path is below that of a group that is served.
func (s *Server) inGroup(path string) bool {
	rest, named := strings.CutPrefix(path, "/apis/")
	if !named {
		return strings.HasPrefix(path, "/api/")
	}
	group, _, _ := strings.Cut(rest, "/")
	return s.catalog.Snapshot().ServesGroup(group)
}

// verb is what a request ends in: it answers, or says why it does not.
type verb func(*request) error

// verbs are what can be done to a target, by HTTP method: onGet, …
type verbs [len(verbMethods)]verb

// The places of methods in verbs.
const (
	onDelete = iota
	onGet
	onPatch
	onPost
	onPut
)

var verbMethods = [...]string{onDelete: http.MethodDelete, onGet: http.MethodGet, onPatch: http.MethodPatch, onPost: http.MethodPost, onPut: http.MethodPut}

// of is the place of a method; an unknown one has a place that is always empty.
func (v *verbs) of(method string) *verb {
	for i, m := range verbMethods {
		if m == method {
			return &v[i]
		}
	}
	return new(verb)
}

// methods lists those that are answered.
func (v *verbs) methods() []string {
	var names []string
	for i, do := range v {
		if do != nil {
			names = append(names, verbMethods[i])
		}
	}
	return names
}

// end is the last step of every request, whoever answers it to the end.
func (s *Server) end(r *request) {
	s.counted(r)
	s.access(r)
	if r.taken {
		s.intake.done()
	}
}

// access writes the one line per request that the log has at debug.
func (s *Server) access(r *request) {
	if s.accessLog == nil {
		return
	}
	s.accessLog(r.http, r.user, r.status, r.bytes, time.Since(r.start))
}
