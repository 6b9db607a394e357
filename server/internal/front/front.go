// Package front takes one request in and gives one answer out: it finds the target,
// authenticates and authorizes the user, negotiates the form of the answer, and receives
// the body. The target's function for the method does the rest (Verb).
package front

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Config holds the limits and dependencies of a front.
type Config struct {
	Log       *slog.Logger
	AccessLog func(*http.Request, *authn.User, int, int64, time.Duration) // nil when the log drops these lines
	Clock     func() time.Time
	Features  features.Gates

	Requests
	Body         time.Duration // from the first byte of a body, besides the time for its length
	Owed         time.Duration // for the body of a refused request of an unauthenticated client
	DecodeLimits document.Limits

	Catalog *catalog.Catalog
	Authn   authn.Authenticator
	Authz   authz.Authorizer
	Limits  *Limits
	Flow    *flowcontrol.Control // nil without priority and fairness
	Gather  *GatherRoom
	Metrics *metrics.Metrics
	Audit   *audit.Recorder // nil for none
	Tracer  *tracing.Tracer // nil for none
	Sweeper *conns.Sweeper
	// Extensions answers requests for the group versions of extension servers.
	Extensions Verb
	// AwaitTypes waits until the catalog has the types of the stored definitions, for a
	// moment at most; nil for a server without definitions.
	AwaitTypes func(ctx context.Context)
}

// Front has the steps of requests that verbs and endpoints use too: it negotiates, receives
// and decodes, and it responds.
type Front struct {
	cfg          Config
	log          *slog.Logger
	accessLog    func(*http.Request, *authn.User, int, int64, time.Duration)
	features     features.Gates
	catalog      *catalog.Catalog
	authn        authn.Authenticator
	authz        authz.Authorizer
	limits       *Limits
	gather       *GatherRoom
	renderings   *Renderings
	metrics      *metrics.Metrics
	sweeper      *conns.Sweeper
	decodeLimits document.Limits

	// Intake counts the requests under way.
	Intake Intake
}

// New makes a front.
func New(cfg Config) *Front {
	return &Front{cfg: cfg, log: cfg.Log, accessLog: cfg.AccessLog, features: cfg.Features, catalog: cfg.Catalog, authn: cfg.Authn, authz: cfg.Authz,
		limits: cfg.Limits, gather: cfg.Gather, renderings: NewRenderings(cfg.BinaryCacheBytes), metrics: cfg.Metrics, sweeper: cfg.Sweeper, decodeLimits: cfg.DecodeLimits,
		Intake: Intake{idle: make(chan struct{}, 1)}}
}

// Row is the present row of the type and version that another one was of; nil if it is not
// served any more.
func (f *Front) Row(of *catalog.Row) *catalog.Row {
	now := f.catalog.Snapshot().Resource(of.GV.Group, of.GV.Version, of.Plural)
	if now == nil || now.Off || now.Definition != nil && of.Definition != nil && now.Definition.UID != of.Definition.UID {
		return nil
	}
	return now
}
