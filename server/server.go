// Package server is Capstan's API server: its configuration, and the wiring of its rooms,
// the packages in server/internal.
//
// Start returns a running instance; a process may have many.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/index"
	"github.com/capstan-dev/capstan/internal/openid"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/background"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/health"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Server is a running instance.
//
// Invariants: the fields above stopping are set by open and never change; requests are
// counted in the intake of env, so that Shutdown can wait for them before it closes the store.
type Server struct {
	cfg         Config
	log         *slog.Logger
	features    options.Gates
	catalog     *catalog.Catalog
	edition     *api.Edition         // of the built-in kinds
	engine      *store.Engine        // the server's own store, or its replica of a shared one
	sharing     *background.Sharing  // nil for a store of the server's own
	store       store.Store          // engine or the shared store, with layers
	events      store.Store          // of events; nil when they lie in store
	shown       *stored.CurrentStore // is in store
	cipher      *encryption.Cipher   // nil for none
	metrics     *metrics.Metrics
	keys        *pki.Keyring
	accounts    *accountTokens
	tokens      authn.TokenAuthenticator
	issuer      *openid.Authenticator // of ID tokens; nil for none
	services    *addresses.Services
	addressing  *addresses.Kinds // of the objects of addresses; nil where they have none
	admitting   *admitting
	objects     *objects.Objects
	headers     *index.Index
	controllers *background.Controllers
	limits      *request.Limits
	flow        *flowcontrol.Control // nil without priority and fairness
	env         *request.Env
	health      *health.Health
	sweeper     *conns.Sweeper
	listener    net.Listener
	http        *http.Server
	activities  []func(context.Context) // which go on while the server runs
	closers     []func(context.Context) // of the open parts, the first opened first

	stopping chan struct{} // closed when watches have to end
	done     chan struct{} // closed when everything has
	once     sync.Once
	failure  error // the reason why done closed, nil after Shutdown
}

// Start opens the store, creates missing objects, and serves. It returns when the server
// answers requests. The instance lives until Shutdown, or until ctx ends, which has the
// same effect.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.setDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Logger, stopping: make(chan struct{}), done: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		s.close(context.Background())
		return nil, err
	}
	s.controllers.Start()
	for _, activity := range s.activities {
		s.controllers.Run(activity)
	}
	if s.flow != nil {
		s.controllers.Run(s.flow.Lend)
	}
	go s.sweeper.Run(s.done)
	go s.serve(ctx)
	return s, nil
}

// pageSecret is the key of the page tokens: kept in the store, so that tokens outlive a
// restart. Servers that share a store have none.
func (s *Server) pageSecret(ctx context.Context) ([]byte, error) {
	if s.sharing != nil {
		return nil, nil
	}
	entry, err := s.store.Update(ctx, "capstan/page-secret", func(current *store.Entry) (store.Write, error) {
		if current != nil {
			return store.Write{}, nil
		}
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		return store.Write{Op: store.OpCreate, Value: store.Value{Body: secret, RevisionAt: -1}}, nil
	})
	return entry.Body, err
}

// serve answers requests until ctx ends or the server is stopped.
func (s *Server) serve(ctx context.Context) {
	served := make(chan error, 1)
	l := conns.NewListener(s.listener, s.keys.TLS(), s.cfg.Seams.Durations.Header, s.sweeper, s.http.ErrorLog.Printf)
	go func() { served <- s.http.Serve(l) }()
	select {
	case err := <-served:
		if !errors.Is(err, http.ErrServerClosed) {
			s.failure = fmt.Errorf("serving stopped: %w", err)
			s.stop()
		}
	case <-ctx.Done():
		s.stop()
	}
}

// Bootstrapped is closed when the objects of every cluster exist, which are written while
// the first requests are served.
func (s *Server) Bootstrapped() <-chan struct{} { return s.controllers.Bootstrapped() }

// Live reports the failing check of /livez; nil for a server that lives.
func (s *Server) Live() error { return s.health.Live() }

// Done is closed when the server has stopped.
func (s *Server) Done() <-chan struct{} { return s.done }

// URL is the address of the server: "https://127.0.0.1:6443".
func (s *Server) URL() string { return "https://" + s.host() }
