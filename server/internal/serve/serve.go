package serve

import (
	"log/slog"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/extensions"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/health"
	"github.com/capstan-dev/capstan/server/internal/kinds/custom"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/verbs"
)

// Config holds the dependencies of a handler.
type Config struct {
	Log            *slog.Logger
	RequestTimeout time.Duration
	GoawayChance   float64 // see request.Requests
	OpenAPI3       bool    // its documents are served
	Profiles       bool    // /debug/pprof is served
	Verbosity      *endpoints.Verbosity
	Slow           *request.SlowLog // nil for none

	Groups      []*api.GroupVersion // generated
	Env         *request.Env
	Catalog     *catalog.Catalog
	Authn       authn.Authenticator
	Authz       authz.Authorizer
	Flow        *flowcontrol.Control // nil without priority and fairness
	Definitions *custom.Follower
	Health      *health.Health
	Verbs       *verbs.Verbs
	Endpoints   *endpoints.Endpoints
	Explorer    *endpoints.Explorer // nil for none
	Extensions  *extensions.Extensions
	// Impersonation counts requests that act as another user; nil for none.
	Impersonation *metrics.Impersonation
}

// Handler answers every request of a server.
type Handler struct {
	cfg     Config
	log     *slog.Logger
	env     *request.Env
	catalog *catalog.Catalog
	table   *table
	frame   *echo.Echo
}

// New makes the handler. It fails when a document names an endpoint that nothing answers.
func New(cfg Config) (*Handler, error) {
	table := newTable(cfg.Verbs, cfg.Endpoints)
	if err := table.check(cfg.Groups); err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, log: cfg.Log, env: cfg.Env, catalog: cfg.Catalog, table: table, frame: echo.New()}
	h.routes(&paths{Echo: h.frame, env: h.env, run: h.run()})
	return h, nil
}
