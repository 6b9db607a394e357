// Package front takes one request in and gives one answer out: it finds what is asked for,
// by whom, whether they may, in which form to answer, and receives the body. What a method
// then does is up to the function that the target has for it (Verb).
package front

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Config says how requests are taken.
type Config struct {
	Log       *slog.Logger
	AccessLog func(*http.Request, *authn.User, int, int64, time.Duration) // nil when nobody would read it
	Clock     func() time.Time
	Features  features.Gates

	MaxRequestBytes int64         // of a body
	RequestTimeout  time.Duration // of a request that is not a watch
	Body            time.Duration // from the first byte of a body, besides what its length takes
	Owed            time.Duration // for the body of a refused request of somebody unknown
	DecodeLimits    document.Limits

	Catalog *catalog.Catalog
	Authn   authn.Authenticator
	Authz   authz.Authorizer
	Limits  *Limits
	Gather  *GatherRoom
	Metrics *metrics.Metrics
	Sweeper *conns.Sweeper
	// VerbsOf is the table of what can be done to a resource.
	VerbsOf func(*Target) Verbs
}

// Front is the way of all requests.
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
	metrics      *metrics.Metrics
	sweeper      *conns.Sweeper
	decodeLimits document.Limits
	verbsOf      func(*Target) Verbs

	// Intake counts the requests that are under way.
	Intake Intake
}

// New makes the way of requests.
func New(cfg Config) *Front {
	return &Front{cfg: cfg, log: cfg.Log, accessLog: cfg.AccessLog, features: cfg.Features, catalog: cfg.Catalog, authn: cfg.Authn, authz: cfg.Authz,
		limits: cfg.Limits, gather: cfg.Gather, metrics: cfg.Metrics, sweeper: cfg.Sweeper, decodeLimits: cfg.DecodeLimits, verbsOf: cfg.VerbsOf,
		Intake: Intake{idle: make(chan struct{}, 1)}}
}
