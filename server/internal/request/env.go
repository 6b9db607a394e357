package request

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// Config holds the limits and dependencies of an Env.
type Config struct {
	Log       *slog.Logger
	AccessLog func(*http.Request, *authn.User, int, int64, time.Duration) // nil when the log drops these lines
	Clock     func() time.Time
	Features  options.Gates

	Requests
	Body         time.Duration // from the first byte of a body, besides the time for its length
	Owed         time.Duration // for the body of a refused request of an unauthenticated client
	DecodeLimits document.Limits

	Catalog *catalog.Catalog
	Authz   authz.Authorizer
	Limits  *Limits
	Flow    *flowcontrol.Control // nil without priority and fairness
	Metrics *metrics.Metrics
	Audit   *audit.Recorder // nil for none
	Tracer  *tracing.Tracer // nil for none
	Slow    *SlowLog        // nil for none
	Sweeper *conns.Sweeper

	// Newest returns when this server has all that other servers have acknowledged before, for a request
	// for objects of a row, or for nil of another server; nil for a server alone, or one that may decide
	// on the state that it has.
	Newest func(context.Context, *catalog.Row) error
}

// Env is the environment of all requests: what they share, and the steps of one that need
// it. It receives and decodes bodies, and it responds.
type Env struct {
	cfg          Config
	log          *slog.Logger
	accessLog    func(*http.Request, *authn.User, int, int64, time.Duration)
	features     options.Gates
	cbor         bool // see Request
	catalog      *catalog.Catalog
	authz        authz.Authorizer
	limits       *Limits
	objects      *buffers // for answers of one object, of which thousands may be under way
	renderings   *Renderings
	metrics      *metrics.Metrics
	sweeper      *conns.Sweeper
	decodeLimits document.Limits
	profiles     atomic.Int32 // of the CPU that are being taken

	// Intake counts the requests under way.
	Intake Intake
}

// objectBuffer is the number of bytes that most objects need less of.
const objectBuffer = 8 << 10

// New makes an environment.
func New(cfg Config) *Env {
	return &Env{cfg: cfg, log: cfg.Log, accessLog: cfg.AccessLog, features: cfg.Features, cbor: cfg.Features.On(options.CBOR), catalog: cfg.Catalog,
		authz: cfg.Authz, limits: cfg.Limits, objects: newBuffers(objectBuffer, ListBuffer),
		renderings: NewRenderings(cfg.BinaryCacheBytes), metrics: cfg.Metrics, sweeper: cfg.Sweeper,
		decodeLimits: cfg.DecodeLimits,
		Intake:       Intake{idle: make(chan struct{}, 1)}}
}

// Row is the present row of the type and version that another one was of; nil if it is not
// served any more.
func (env *Env) Row(of *catalog.Row) *catalog.Row {
	now := env.catalog.Snapshot().Resource(of.GV.Group, of.GV.Version, of.Plural)
	if now == nil || now.Off || now.Definition != nil && of.Definition != nil && now.Definition.UID != of.Definition.UID {
		return nil
	}
	return now
}

// Begin makes r the request for a target, and counts it among those under way.
func (env *Env) Begin(r *Request, w http.ResponseWriter, q *http.Request, t Target) {
	*r = Request{Features: env.features, cbor: env.cbor, limits: env.limits, Context: q.Context(), HTTP: q, Writer: w, Target: t,
		start: time.Now(), owed: q.ContentLength != 0, Query: Query{raw: q.URL.RawQuery}, taken: env.Intake.begin()}
}

// Accepted reports whether the server handles the request: not while it stops.
func (r *Request) Accepted() bool { return r.taken || r.Target.Draining }

// End is the last step of every request: it counts and records the answer.
func (env *Env) End(r *Request) {
	took := time.Since(r.start)
	env.counted(r, took)
	r.recordEnd()
	r.traced()
	if env.accessLog != nil { // the one line per request that the log has at debug
		env.accessLog(r.HTTP, r.User, r.Status, r.Bytes, took)
	}
	if r.taken {
		env.Intake.done()
	}
	r.unlabel()
}

// Panicked notes a panic while a request was handled.
func (env *Env) Panicked(r *Request, v any) {
	if r.trail != nil {
		r.trail.panicked = fmt.Sprint(v)
	}
	env.log.Error("request panicked", "path", r.HTTP.URL.Path, "panic", v, logging.TraceKey, string(debug.Stack()))
}
