package serve

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// exchange is a request on its way through the stages: the context that the frame gives to
// each of them.
type exchange struct {
	echo.Context // the frame's own; nil when the stages have ended

	r     request.Request
	place *flowcontrol.Place // which the request waits for; nil before authenticate
	verb  request.Verb       // which answers; nil before dispatch
	time  *deadline          // nil for a request that may last
	body  request.BodyRoom
}

// giveBack ends what the request has taken for its verb.
func (x *exchange) giveBack() {
	x.r.GiveBack()
	x.body.Leave()
	if x.time != nil {
		x.time.end()
	}
}

// ServeHTTP implements http.Handler. The rest of an answer is run when the stages have left
// the stack: a watch waits there for most of its life.
func (h *Handler) ServeHTTP(w http.ResponseWriter, q *http.Request) { h.finish(h.serve(w, q)) }

// serve leads a request through the stages. The returned request may have a Rest.
func (h *Handler) serve(w http.ResponseWriter, q *http.Request) *request.Request {
	cleanPath(q.URL)
	c := h.frame.AcquireContext()
	defer h.frame.ReleaseContext(c)
	c.Reset(q, w)
	path := pathOf(q.URL)
	if !strings.HasPrefix(path, "/") { // of OPTIONS * and of CONNECT
		path = "/" + path
	}
	// A path has one route for all methods: which of them it has is not said before the
	// user is known.
	h.frame.Router().Find(http.MethodGet, path, c)
	x := &exchange{Context: c}
	_ = c.Handler()(x) // the first stage answers errors
	x.Context = nil
	return &x.r
}

// finish runs the rest of an answer, if there is one, and ends its request.
func (h *Handler) finish(r *request.Request) {
	switch {
	case r.Rest == nil:
	case r.Detached:
		go h.rest(r)
	case !h.rest(r):
		panic(http.ErrAbortHandler) // shows the client that the answer is not whole
	}
}

// rest reports whether the rest of an answer ended without a panic.
func (h *Handler) rest(r *request.Request) (whole bool) {
	defer h.env.End(r)
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler { // the answer is broken off on purpose (Fail)
			h.env.Panicked(r, v)
		}
	}()
	r.Rest()
	return true
}
