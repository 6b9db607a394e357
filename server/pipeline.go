package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
)

// serve is the way of every request, top to bottom. The router has found what
// is asked for (target); everything else happens here, in this order:
//
//	admit       bound the requests in flight                     429
//	authenticate who asks                                        401
//	authorize    whether they may                                403
//	dispatch     what the method means for the target            404 405
//	negotiate    how to answer, what the query says              400 406
//	verb         decode 400 413 415, default, validate 422,
//	             store transaction 404 409 410 504, respond
//
// The body is not read before the verb runs. Update, patch and delete run
// validation inside the store's one closure, because only there the current
// object is known (write.go).
//
// Whatever fails before the first byte of the answer becomes one Status
// (respond.go); a panic is logged and becomes a 500.
func (s *Server) serve(c echo.Context, t target) error {
	r := newRequest(c, t)
	s.inflight.Add(1)
	defer s.inflight.Done()
	defer s.access(r)
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			panic(v) // the answer is broken off on purpose (fail)
		} else if v != nil {
			s.log.Error("request panicked", "path", r.http.URL.Path, "panic", v, "stack", string(debug.Stack()))
			s.fail(r, api.Internal("the server failed while it handled the request; its log says more"))
		}
	}()
	if err := s.handle(r); err != nil {
		s.fail(r, err)
	}
	return nil
}

func (s *Server) handle(r *request) error {
	if s.draining.Load() && !r.target.alwaysServed() {
		return &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: "the server is shutting down", RetryAfter: 1}
	}
	leave, err := s.limits.enter(r)
	if err != nil {
		return err
	}
	defer leave()
	if !r.longRunning() {
		var cancel context.CancelFunc
		r.ctx, cancel = context.WithTimeout(r.ctx, s.cfg.RequestTimeout)
		defer cancel()
	}

	if r.user, err = s.authn.Authenticate(r.http); err != nil {
		return err
	}
	if w := authn.Warning(r.http); w != "" {
		r.warn(w)
	}

	attributes := r.attributes()
	decision, reason, err := s.authz.Authorize(r.ctx, &attributes)
	if err != nil {
		return err
	}
	if decision != authz.Allow {
		return authz.Forbidden(&attributes, reason)
	}

	verb, err := s.dispatch(r)
	if err != nil {
		return err
	}
	if err := r.negotiate(); err != nil {
		return err
	}
	return verb(r)
}

// dispatch says which function a request ends in, or 404 or 405.
func (s *Server) dispatch(r *request) (func(*request) error, error) {
	t := r.target
	if t.endpoint != nil {
		return t.endpoint, nil
	}
	if t.resource == nil {
		return s.unknown, nil
	}
	allowed := s.verbsOf(t)
	verb := allowed[r.method()]
	if verb == nil {
		return nil, api.MethodNotAllowed(allowed.methods())
	}
	return verb, nil
}

// unknown answers a path that nothing is at: with a Status where a client looks
// for a group, a version or a resource, with plain text elsewhere.
func (s *Server) unknown(r *request) error {
	if path := r.http.URL.Path; strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") {
		return api.UnknownPath()
	}
	return s.text(r, http.StatusNotFound, "404 page not found\n")
}

// methods maps the HTTP methods that a target answers to what they do.
type methods map[string]func(*request) error

func (m methods) methods() []string {
	var names []string
	for _, n := range []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut} {
		if m[n] != nil {
			names = append(names, n)
		}
	}
	return names
}

// verbsOf is the table of what can be done to a target.
func (s *Server) verbsOf(t target) methods {
	m := methods{}
	add := func(set api.Verbs, v api.Verbs, method string, do func(*request) error) {
		if set.Has(v) {
			m[method] = do
		}
	}
	res := t.resource
	switch {
	case !res.Stored && res.Verbs.Has(api.VerbCreate):
		// A virtual resource is an operation, not an object to keep.
	case t.watchPath:
		add(res.Verbs, api.VerbWatch, http.MethodGet, s.watch)
	case t.sub != nil:
		s.subresourceVerbs(t, m)
	case t.name != "":
		add(res.Verbs, api.VerbGet, http.MethodGet, s.get)
		add(res.Verbs, api.VerbUpdate, http.MethodPut, s.update)
		add(res.Verbs, api.VerbPatch, http.MethodPatch, s.patch)
		add(res.Verbs, api.VerbDelete, http.MethodDelete, s.delete)
	default:
		add(res.Verbs, api.VerbList, http.MethodGet, s.listOrWatch)
		if !res.Namespaced || t.namespace != "" {
			add(res.Verbs, api.VerbCreate, http.MethodPost, s.create)
			add(res.Verbs, api.VerbDeleteCollection, http.MethodDelete, s.deleteCollection)
		}
	}
	return m
}

// access writes the one line per request that the log has at debug.
func (s *Server) access(r *request) {
	if s.accessLog == nil {
		return
	}
	s.accessLog(r.http, r.user, r.status, r.bytes, time.Since(r.start))
}
