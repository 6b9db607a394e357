package front

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// Pipeline is the way of all requests: a Front with the functions of their targets.
type Pipeline struct {
	*Front
	verbsOf func(*Target) Verbs
}

// NewPipeline makes the pipeline. verbsOf returns the operations of a target by method.
func NewPipeline(f *Front, verbsOf func(*Target) Verbs) *Pipeline { return &Pipeline{f, verbsOf} }

// Serve runs every request, top to bottom. The router has found the target; the other
// steps are here, in this order:
//
//	authenticate the user, or the one that it acts as            400 401 403
//	authorize    the user for the target                         403
//	dispatch     find the target's function for the method       404 405
//	negotiate    the form of the answer, the query's options     400 406
//	receive      the whole body                                  408 413
//	admit        wait for a place at the priority level          429
//	verb         decode 400 413 415, default, validate 422,
//	             store transaction 404 409 410 504, respond
//
// Updates, patches and deletes are validated inside the store's transaction, since only
// there the current object is known (server/internal/objects/write.go).
//
// An error before the first byte of the answer becomes one Status (respond.go); a panic
// is logged and becomes a 500.
//
// The returned request may have a Rest, for finish.
func (f *Pipeline) Serve(w http.ResponseWriter, q *http.Request, t Target) (r *Request) {
	if f.cfg.GoawayChance > 0 && q.ProtoMajor == 2 && rand.Float64() < f.cfg.GoawayChance {
		w.Header().Set("Connection", "close") // which HTTP/2 has no header for: it sends GOAWAY
	}
	r = NewRequest(w, q, t, f.features, f.limits)
	r.taken = f.Intake.begin()
	defer func() {
		if r.Rest == nil {
			f.end(r)
		}
	}()
	defer func() {
		v := recover()
		if v == http.ErrAbortHandler {
			panic(v) // the answer is broken off on purpose (fail)
		} else if v != nil {
			f.panicked(r, v)
			f.fail(r, api.Internal("the server failed while it handled the request; its log says more"))
		}
	}()
	if err := f.handle(r); err != nil {
		f.fail(r, err)
	}
	return r
}

// finish runs the rest of an answer, if there is one, and ends its request. A watch waits
// here for most of its life, so the steps before have left the stack.
func (f *Front) finish(r *Request) {
	switch {
	case r.Rest == nil:
	case r.Detached:
		go f.rest(r)
	case !f.rest(r):
		panic(http.ErrAbortHandler) // shows the client that the answer is not whole
	}
}

// rest reports whether the rest of an answer ended without a panic.
func (f *Front) rest(r *Request) (whole bool) {
	defer f.end(r)
	defer func() {
		if v := recover(); v != nil {
			f.panicked(r, v)
		}
	}()
	r.Rest()
	return true
}

// panicked notes a panic while a request was handled.
func (f *Front) panicked(r *Request, v any) {
	if r.trail != nil {
		r.trail.panicked = fmt.Sprint(v)
	}
	f.log.Error("request panicked", "path", r.HTTP.URL.Path, "panic", v, logging.TraceKey, string(debug.Stack()))
}

func (f *Pipeline) handle(r *Request) error {
	if !r.taken && !r.Target.Draining {
		r.Writer.Header().Set("Connection", "close") // another server may answer
		return f.shuttingDown()
	}
	var taken holdings
	defer taken.giveBack(r)
	if r.mayWait() {
		limit, err := r.timeLimit(f.cfg.RequestTimeout)
		if err != nil {
			f.recordRefused(r)
			return err
		}
		taken.time = &deadline{Context: r.Context, at: time.Now().Add(limit)}
		r.Context = taken.time
	}

	verb, err := f.verbFor(r)
	if err != nil {
		return err
	}
	if r.whole != nil {
		defer f.traceVerb(r)()
	}
	if (r.Target.Row != nil || r.Target.TakesBody) && r.mutating() && !r.Target.connects() {
		if err := f.Receive(r, &taken.body); err != nil {
			return err
		}
	}
	if r.Target.Remote == nil && !r.Target.connects() {
		f.dismiss(r)
	}
	if err := f.enter(r); err != nil {
		return err
	}
	err = verb(r)
	for try := 1; err == error(objects.ErrTypeChanged) && try < typeTries; try++ {
		f.awaitTypes(r.Context)
		if verb, err = f.anew(r); err == nil {
			err = verb(r)
		}
	}
	return err
}

// holdings are the deadline of a request, and the room of its body. One deferred call gives
// all of them back; a list of deferred calls costs more.
type holdings struct {
	time *deadline // nil for a request that may last
	body BodyRoom
}

func (h *holdings) giveBack(r *Request) {
	if r.Rest == nil {
		r.Leave()
	}
	r.room.Leave()
	h.body.Leave()
	r.Body = nil // which has no place any more, whatever the request still waits for
	if h.time != nil {
		h.time.end()
	}
}

// typeTries bounds the attempts of a request whose type changes again and again.
const typeTries = 4

// anew finds the verb of a request again, whose definition has changed.
func (f *Pipeline) anew(r *Request) (Verb, error) {
	t := &r.Target
	row := f.catalog.Snapshot().Resource(t.Row.GV.Group, t.Row.GV.Version, t.Row.Plural)
	if row == nil {
		return nil, api.UnknownPath()
	}
	t.Row, r.Warnings, r.warned = row, nil, 0
	if t.Sub != nil {
		if t.Sub = row.Subresource(t.Sub.Name); t.Sub == nil {
			return nil, api.UnknownPath()
		}
	}
	return f.verbOf(r)
}

// verbFor runs the steps of a request up to its verb. It returns before the verb runs, so
// that a watch, which runs for long, does not keep its part of the stack.
func (f *Pipeline) verbFor(r *Request) (v Verb, err error) {
	identity, err := f.authn.Authenticate(r.HTTP)
	if err != nil {
		f.recordRefused(r)
		return nil, err
	}
	r.User = identity.User
	f.trace(r)
	r.seat = &seat{place: flowcontrol.Place{Attributes: r.attributes()}}
	asked := &r.seat.place.Attributes
	if err := f.record(r, asked); err != nil {
		return nil, err
	}
	r.Annotate(identity.Note.Key, identity.Note.Text)
	if w := authn.Warning(r.HTTP); w != "" {
		r.Warn(w)
	}
	if err := f.impersonate(r); err != nil {
		return nil, err
	}

	asked.User = r.User
	if f.cfg.Flow != nil {
		r.seat.place.Class = f.cfg.Flow.Classify(asked)
		r.seat.place.Class.Label(r.Writer.Header())
	}
	decision, reason, err := f.authorize(r, asked)
	r.recordDecision(decision, reason, err)
	if err != nil {
		return nil, err
	}
	if decision != authz.Allow {
		return nil, authz.Forbidden(asked, reason)
	}
	f.count(r)

	custom := r.Target.Row != nil && r.Target.Row.Definition != nil
	if custom && r.warnDeprecated() { // whatever else is wrong, as in 1.25
		r.Annotate(deprecatedNote, "true")
	}
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
	if !custom && r.Accept.Format != 0 && r.warnDeprecated() {
		f.metrics.UseDeprecated(&r.figures, r.Target.Row.Deprecated)
		r.Annotate(deprecatedNote, "true")
		r.Annotate(removedNote, r.Target.Row.Deprecated.RemovedIn)
	}
	if err == nil {
		err = r.fits()
	}
	return v, err
}

// authorize decides about a request. Reviews of the own user are younger than the roles
// and policies of many clusters, so whoever may review the own rights may review the own
// name too.
func (f *Front) authorize(r *Request, a *authz.Attributes) (authz.Decision, string, error) {
	begin := r.begin()
	decision, reason, err := f.authz.Authorize(r.Context, a)
	r.stage("authorization", begin)
	if row := r.Target.Row; decision == authz.NoOpinion && row != nil && row.Endpoint == api.EndpointReviewOwnUser {
		rights := *a
		rights.Group, rights.Resource = "authorization."+profile.GroupSuffix, "selfsubjectaccessreviews"
		if also, why, _ := f.authz.Authorize(r.Context, &rights); also == authz.Allow {
			return also, why, nil
		}
	}
	if err != nil && decision != authz.Allow {
		f.log.Error("the request cannot be authorized", "user", a.User.Name, "path", r.HTTP.URL.Path, "error", err)
		return decision, reason, api.Internal("it could not be decided whether the user may do this; the server's log says more")
	}
	return decision, reason, nil
}

// MayCreate refuses a PUT or an apply of a missing object by a user who may change such
// objects, as was decided before, but not create them: 403.
func (f *Front) MayCreate(r *Request) error { return f.MayAlso(r, "create") }

// MayAlso refuses a request by a user who may not do something else with its object too:
// 403.
func (f *Front) MayAlso(r *Request, verb string) error {
	a := r.attributes()
	a.Verb = verb
	decision, reason, err := f.authorize(r, &a)
	if err == nil && decision != authz.Allow {
		err = authz.Forbidden(&a, reason)
	}
	return err
}

// verbOf returns the function for a request, or 404 or 405.
func (f *Pipeline) verbOf(r *Request) (Verb, error) {
	t := &r.Target
	if t.Endpoint != nil {
		return t.Endpoint, nil
	}
	if t.Row == nil || t.isMissing() {
		return f.unknown, nil
	}
	allowed := f.verbsOf(t)
	if v := *allowed.of(r.Method()); v != nil {
		return v, nil
	}
	refused := api.MethodNotAllowed(allowed.Methods())
	if t.Row.Definition != nil {
		refused.Group, refused.Kind = t.Row.GV.Group, t.Row.Plural
	}
	return nil, refused
}

// unknown answers an unknown path: with a Status if a client looks for a version or a
// resource of an existing group, with plain text elsewhere.
func (f *Front) unknown(r *Request) error {
	if row := f.customAt(&r.Target.unserved); row != nil {
		if text := row.Definition.Warning; text != "" { // as for all paths of the version
			r.Warn(text)
		}
		return api.NotFound(row.GroupResource(), r.Target.unserved.Name)
	}
	if f.inGroup(r.HTTP.URL.Path) {
		return api.UnknownPath()
	}
	return f.Text(r, http.StatusNotFound, "404 page not found\n")
}

// inGroup reports whether a path is below that of a served group that has built-in kinds.
func (f *Front) inGroup(path string) bool {
	rest, named := strings.CutPrefix(path, "/apis/")
	if !named {
		return strings.HasPrefix(path, "/api/")
	}
	group, _, _ := strings.Cut(rest, "/")
	return slices.ContainsFunc(f.catalog.Snapshot().ServedIn(group), func(v *catalog.Version) bool {
		return slices.ContainsFunc(v.Rows, func(row *catalog.Row) bool { return row.Definition == nil })
	})
}

// customAt returns the row of a custom resource without such a subresource; nil for
// addresses of anything else.
func (f *Front) customAt(a *catalog.Address) *catalog.Row {
	if a.Subresource == "" {
		return nil
	}
	row := f.catalog.Snapshot().Resource(a.Group, a.Version, a.Resource)
	if row == nil || row.Off || row.Definition == nil || row.Namespaced != (a.Namespace != "") {
		return nil
	}
	return row
}

// end is the last step of every request.
func (f *Front) end(r *Request) {
	f.counted(r)
	r.recordEnd()
	r.traced()
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
