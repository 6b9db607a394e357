// Package parts is the seam between a server and the rooms of the built-in groups, which
// are linked only where a program asks for them.
package parts

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/openid"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/addresses"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/agents"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/controllers"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/extensions"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/pki"
	"github.com/capstan-dev/capstan/server/internal/rbac"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Builtin are the built-in groups, with the rooms that serve them.
type Builtin interface {
	// Groups makes new rows, by features that are off by default.
	Groups(clock func() time.Time, on func(feature string) bool) []*api.GroupVersion
	// Documents are their published documents.
	Documents() api.Documents
	// Rooms are those of a server, none of them open.
	Rooms(*Core) Rooms
	// Extras come along.
	Extras() Extras
	// CustomKinds are the custom kinds in a store that no server uses.
	CustomKinds(context.Context, *catalog.Snapshot, store.Store) (stored.Kinds, error)
}

// Extras are abilities of a server besides its API.
type Extras interface {
	// Traces begins to send spans, as a file configures it.
	Traces(file, instance string, figures tracing.Figures, log *slog.Logger, pauses tracing.Pauses) (Spans, *tracing.Tracer, error)
	// IDTokens authenticates by the ID tokens of an issuer.
	IDTokens(openid.Config) (IDTokens, error)
	// Profile shows a profile of the process; "" lists them.
	Profile(name string) http.HandlerFunc
}

// Spans are sent until Close.
type Spans interface{ Close(context.Context) }

// IDTokens authenticates until Close.
type IDTokens interface {
	authn.TokenAuthenticator
	Close()
}

// Core is the part of a server that every API needs. The server fills it in while it opens.
type Core struct {
	Log      *slog.Logger
	Clock    func() time.Time
	Catalog  *catalog.Catalog
	Store    store.Store
	Shown    *stored.CurrentStore // is in Store
	Keys     *pki.Keyring
	Metrics  *metrics.Metrics
	Authz    authz.Authorizer
	RBAC     *rbac.Policy
	Reader   *objects.Reader
	Sweeper  *conns.Sweeper
	Objects  *objects.Objects
	Host     func() string // and port, once the server listens
	Stopping <-chan struct{}

	Settings
}

// Settings is the part of the configuration that the rooms need.
type Settings struct {
	Authentication            authn.Settings
	AuthorizationModes        []string
	Addresses                 *addresses.Config
	Admission                 admission.Config
	Agents                    agents.Settings
	Controllers               []string
	MaxRequestBytes           int64
	EnableAggregatorRouting   bool
	ForwardExtensionRedirects bool
	// KnownAs is the host and port by which others reach the server.
	KnownAs string
	// Retry and Types are the times of custom resource definitions, Extensions those of
	// extension servers.
	Retry, Types time.Duration
	Extensions   extensions.Times
}

// Rooms are the rooms of the built-in groups in one server. They are opened in the order of
// the methods, as far as the opening comes, and closed by Close.
type Rooms interface {
	// Logins makes the issuer of tokens for service accounts, and the authenticators of
	// tokens that are objects.
	Logins() ([]authn.TokenAuthenticator, error)
	// Nodes is the authorizer of the agents of nodes; nil unless it is configured.
	Nodes(ctx context.Context) (authz.Authorizer, error)
	// Writes makes the admission plug-ins, and the owners of addresses.
	Writes(ctx context.Context) (objects.Admitter, *addresses.Services, error)
	// Types serves custom resources and extension servers.
	Types(ctx context.Context) error
	// Equip gives the server's own activities what they need.
	Equip(*controllers.Config)
	// Answer gives requests what they need.
	Answer(*front.Config, *endpoints.Config)
	// Run starts the activities of the rooms.
	Run(*controllers.Controllers, *watch.Hub)
	Close()
}
