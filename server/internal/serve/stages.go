package serve

import (
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// stages are the steps of every request, top to bottom. Its route has found the target.
//
//	answer       an error becomes one Status, a panic a 500      500
//	accept       not while the server stops                      503
//	catchUp      this server has what others have written        503
//	limit        the request ends within its time                400
//	authenticate the user, and begin the audit event             401
//	impersonate  become the user that the sender acts as         400 403
//	authorize    the user for the target                         403
//	dispatch     find the target's function for the method       404 405
//	negotiate    the form of the answer, the query's options     400 406 415
//	trace        the span of the verb
//	receive      the whole body                                  408 413
//	admit        wait for a place at the priority level          429
//	verb         decode 400 413 415, default, validate 422,
//	             store transaction 404 409 410 504, respond
//
// Updates, patches and deletes are validated inside the store's transaction, since only
// there the current object is known (server/internal/objects/write.go).
func (h *Handler) stages() []echo.MiddlewareFunc {
	return []echo.MiddlewareFunc{
		h.answer,
		step(h.accept),
		step(h.catchUp),
		h.limit,
		step(h.authenticate),
		step(h.impersonate),
		step(h.authorize),
		step(h.dispatch),
		step(h.negotiate),
		h.trace,
		step(h.receive),
		step(h.admit),
	}
}

// run is the function of all routes: the stages, and the verb.
func (h *Handler) run() echo.HandlerFunc {
	do := h.verb
	for _, stage := range slices.Backward(h.stages()) {
		do = stage(do)
	}
	return do
}

// step makes a stage of a function that refuses the request, or lets it go on.
func step(do func(*exchange) error) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := do(c.(*exchange)); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// answer makes answers of errors and panics, and ends the request unless it has a Rest.
func (h *Handler) answer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		x := c.(*exchange)
		r := &x.r
		defer func() {
			if r.Rest == nil {
				h.env.End(r)
			}
		}()
		defer func() {
			v := recover()
			if v == http.ErrAbortHandler {
				panic(v) // the answer is broken off on purpose (Fail)
			} else if v != nil {
				h.env.Panicked(r, v)
				h.env.Fail(r, api.Internal("the server failed while it handled the request; its log says more"))
			}
		}()
		if err := next(c); err != nil {
			h.env.Fail(r, err)
		}
		return nil
	}
}

// accept refuses requests while the server stops. Some others are the last of their
// connection.
func (h *Handler) accept(x *exchange) error {
	if h.cfg.GoawayChance > 0 && x.r.HTTP.ProtoMajor == 2 && rand.Float64() < h.cfg.GoawayChance {
		x.r.Writer.Header().Set("Connection", "close") // which HTTP/2 has no header for: it sends GOAWAY
	}
	if x.r.HTTP.ProtoMajor == 1 && len(x.r.HTTP.TransferEncoding) > 0 {
		// RFC 9112, 6.1: a Content-Length, which net/http has removed, may have put the end elsewhere for a proxy.
		x.r.Writer.Header().Set("Connection", "close")
	}
	if x.r.Accepted() {
		return nil
	}
	x.r.Writer.Header().Set("Connection", "close") // another server may answer
	return h.env.ShuttingDown()
}

// limit bounds the time of the request, and gives back what it has taken.
func (h *Handler) limit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		x := c.(*exchange)
		defer x.giveBack()
		if x.r.MayWait() {
			end, err := x.r.Deadline(h.cfg.RequestTimeout)
			if err != nil {
				h.env.RecordRefused(&x.r)
				return err
			}
			x.time = &deadline{Context: x.r.Context, at: end}
			x.r.Context = x.time
		}
		return next(c)
	}
}

// catchUp has the server learn of what others have written. A path that was none of a stored resource
// may have another meaning after that.
func (h *Handler) catchUp(x *exchange) error {
	r := &x.r
	newer, err := h.env.CatchUp(r)
	if newer && r.Target.Row == nil {
		r.Target = h.find(r.Context, r.HTTP.URL)
	}
	return err
}

// authenticate finds the user, and begins the records of the request: its span and its audit event.
func (h *Handler) authenticate(x *exchange) error {
	r := &x.r
	identity, err := h.cfg.Authn.Authenticate(r.HTTP)
	if err != nil && r.Target.Public {
		identity, err = &authn.Identity{User: authn.Anonymous()}, nil
	}
	if err != nil {
		h.env.RecordRefused(r)
		return err
	}
	r.User = identity.User
	h.env.Trace(r)
	x.place = r.NewPlace()
	if err := h.env.Record(r, &x.place.Attributes); err != nil {
		return err
	}
	r.Annotate(identity.Note.Key, identity.Note.Text)
	if w := authn.Warning(r.HTTP); w != "" {
		r.Warn(w)
	}
	return nil
}

// authorize classifies the request, and asks whether its user may do this.
func (h *Handler) authorize(x *exchange) error {
	r, asked := &x.r, &x.place.Attributes
	asked.User = r.User
	if h.cfg.Flow != nil {
		x.place.Class = h.cfg.Flow.Classify(asked)
		x.place.Class.Label(r.Writer.Header())
	}
	decision, reason, err := authz.Allow, "the file is public", error(nil)
	if !r.Target.Public {
		decision, reason, err = h.env.Authorize(r, asked)
	}
	r.RecordDecision(decision, reason, err)
	if err != nil {
		return err
	}
	if decision != authz.Allow {
		return authz.Forbidden(asked, reason)
	}
	h.env.Count(r)
	r.WarnOfCustom()
	return nil
}

// dispatch finds the verb.
func (h *Handler) dispatch(x *exchange) (err error) {
	x.verb, err = h.verbOf(&x.r)
	return err
}

// negotiate decides on the form of the answer.
func (h *Handler) negotiate(x *exchange) error { return h.env.Negotiate(&x.r) }

// trace begins the span of the verb.
func (h *Handler) trace(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if end := h.env.TraceVerb(&c.(*exchange).r); end != nil {
			defer end()
		}
		return next(c)
	}
}

// receive reads the body of a write.
func (h *Handler) receive(x *exchange) error {
	t := &x.r.Target
	if (t.Row != nil || t.TakesBody) && x.r.Mutating() && !t.Connects() {
		if err := h.env.Receive(&x.r, &x.body); err != nil {
			return err
		}
	}
	if t.Remote == nil && !t.Connects() {
		h.env.Dismiss(&x.r)
	}
	return nil
}

// admit waits for the place of the request among those that run.
func (h *Handler) admit(x *exchange) error { return h.env.Enter(&x.r) }

// typeTries bounds the attempts of a request whose type changes again and again.
const typeTries = 4

// verb runs the verb, again if the definition of its type has changed.
func (h *Handler) verb(c echo.Context) error {
	x := c.(*exchange)
	err := x.verb(&x.r)
	for try := 1; err == error(objects.ErrTypeChanged) && try < typeTries; try++ {
		h.cfg.Definitions.Await(x.r.Context)
		if x.verb, err = h.anew(&x.r); err == nil {
			err = x.verb(&x.r)
		}
	}
	return err
}

// anew finds the verb of a request again, whose definition has changed.
func (h *Handler) anew(r *request.Request) (request.Verb, error) {
	of := r.Target.Row
	row := h.catalog.Snapshot().Resource(of.GV.Group, of.GV.Version, of.Plural)
	if row == nil || !r.Retarget(row) {
		return nil, api.UnknownPath()
	}
	return h.verbOf(r)
}
