package endpoints

import (
	"log/slog"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/extensions"
	"github.com/capstan-dev/capstan/server/internal/health"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/outbound"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/verbs"
)

// Config holds the limits and dependencies of the endpoints.
type Config struct {
	Log          *slog.Logger
	Clock        func() time.Time
	APIAudiences []string
	TokenLives   TokenLives
	DecodeLimits document.Limits
	// Documents makes the generated ones, those of the built-in resources first, when the first is asked for.
	Documents func() []api.Documents
	Release   string // of the built-in kinds: "1.25"
	// Since reports whether that release is a named one or a later one.
	Since func(release string) bool

	Env      *request.Env
	Verbs    *verbs.Verbs
	Objects  *objects.Objects
	Store    store.Store
	Catalog  *catalog.Catalog
	Features options.Gates
	Authz    authz.Authorizer
	Issuer   *authn.TokenIssuer
	Tokens   authn.TokenAuthenticator
	// IssuerDocuments are published, with the number of seconds for which they count; nil for none.
	IssuerDocuments func() (documents *authn.IssuerDocuments, maxAge int)
	Metrics         *metrics.Metrics
	// Agents and Forwarder are for connections to nodes and pods.
	Agents    *outbound.Agents
	Forwarder *outbound.Forwarder
	Health    *health.Health
	// Extensions answers for extension servers.
	Extensions *extensions.Extensions
}

// Endpoints are the functions of requests other than plain verbs of stored objects.
type Endpoints struct {
	cfg          Config
	log          *slog.Logger
	decodeLimits document.Limits
	env          *request.Env
	verbs        *verbs.Verbs
	objects      *objects.Objects
	reader       *objects.Reader
	store        store.Store
	catalog      *catalog.Catalog
	features     options.Gates
	authz        authz.Authorizer
	issuer       *authn.TokenIssuer
	tokens       authn.TokenAuthenticator
	agents       *outbound.Agents
	metrics      *metrics.Metrics
	health       *health.Health
	extensions   *extensions.Extensions
	discovery    discovery.Documents
	custom       *discovery.CustomOpenAPI
}

// New makes the endpoints of a server.
func New(cfg Config) *Endpoints {
	return &Endpoints{cfg: cfg, discovery: discovery.Documents{Since: cfg.Since},
		custom: discovery.NewCustomOpenAPI(discovery.Off(cfg.Catalog.Snapshot()), cfg.Features.On(options.CBOR), cfg.Documents),
		log:    cfg.Log, decodeLimits: cfg.DecodeLimits, env: cfg.Env, verbs: cfg.Verbs, objects: cfg.Objects, reader: cfg.Objects.Reader,
		store: cfg.Store, catalog: cfg.Catalog, features: cfg.Features, authz: cfg.Authz, issuer: cfg.Issuer, tokens: cfg.Tokens, agents: cfg.Agents,
		metrics: cfg.Metrics, health: cfg.Health, extensions: cfg.Extensions}
}
