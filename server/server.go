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
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/index"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/addresses"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/controllers"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/parts"
	"github.com/capstan-dev/capstan/server/internal/pki"
	"github.com/capstan-dev/capstan/server/internal/rbac"
	"github.com/capstan-dev/capstan/server/internal/stored"
	"github.com/capstan-dev/capstan/server/internal/stream"
	"github.com/capstan-dev/capstan/server/internal/verbs"
)

// Server is a running instance.
//
// Invariants: the fields above limits are set by Start and never change; requests are
// counted in intake, so that Shutdown can wait for them before it closes the store.
type Server struct {
	cfg          Config
	log          *slog.Logger
	core         *parts.Core
	rooms        parts.Rooms // of the built-in groups; nil without them
	features     features.Gates
	catalog      *catalog.Catalog
	store        store.Store
	cipher       *encryption.Cipher   // nil for none
	shown        *stored.CurrentStore // is in store
	control      *operate.Socket      // nil when the store has no files
	hub          *watch.Hub
	headers      *index.Index
	objects      *objects.Objects
	front        *front.Front
	verbs        *verbs.Verbs
	endpoints    *endpoints.Endpoints
	controllers  *controllers.Controllers
	limits       *front.Limits
	flow         *flowcontrol.Control // nil without priority and fairness
	authn        authn.Authenticator
	authz        authz.Authorizer
	rbac         *rbac.Policy
	admission    objects.Admitter
	reader       *objects.Reader
	decodeLimits document.Limits
	keys         *pki.Keyring
	tokens       authn.TokenAuthenticator
	openID       parts.IDTokens // nil without an issuer of ID tokens
	metrics      *metrics.Metrics
	audit        *audit.Recorder // nil when nothing is recorded
	spans        parts.Spans     // nil when no spans are recorded
	tracer       *tracing.Tracer // the same
	listener     net.Listener
	http         *http.Server

	sweeper  *conns.Sweeper
	leaving  atomic.Bool // stopping: /readyz fails
	started  time.Time
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
	s := &Server{cfg: cfg, log: cfg.Logger, started: cfg.Clock(), stopping: make(chan struct{}), done: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		_ = s.closeParts(context.Background())
		return nil, err
	}
	s.controllers.Start()
	if s.rooms != nil {
		s.rooms.Run(s.controllers, s.hub)
	}
	if s.flow != nil {
		s.controllers.Run(s.flow.Lend)
	}
	go s.sweeper.Run(s.done)
	go s.serve(ctx)
	return s, nil
}

// open makes all parts, from the disk up to the listener.
func (s *Server) open(ctx context.Context) error {
	cfg := &s.cfg
	s.decodeLimits = document.Limits{MaxBytes: int(cfg.MaxRequestBytes)}
	s.limits = front.NewLimits(cfg.MaxRequestsInflight, cfg.MaxMutatingRequestsInflight, cfg.MaxRequestBytes)
	groups, err := s.openCatalog()
	if err != nil {
		return err
	}
	if err := s.openStore(ctx); err != nil {
		return err
	}
	// The store's lock also guards the certificates next to it.
	if s.keys, err = pki.Open(cfg.PKI, s.site()); err != nil {
		return err
	}
	s.core.Keys = s.keys
	s.reloadCipher()
	if err := s.openAuthentication(); err != nil {
		return err
	}
	if err := s.openAuthorization(ctx); err != nil {
		return err
	}
	s.reader = objects.NewReader(s.store, s.catalog, cfg.durations.Soon)
	if err := s.openWrites(ctx); err != nil {
		return err
	}
	s.controllers = s.newControllers()
	s.controllers.DefinitionsKnown()
	s.hub = watch.NewHub(s.store, watch.Config{Writing: s.limits.Mutating.InUse.Load})
	s.headers = index.New(s.store, index.Config{Bits: selector.HeaderBits})
	if err := s.openFlowControl(ctx); err != nil {
		return err
	}
	if err := s.controllers.CreateNamespaces(ctx); err != nil {
		return err
	}
	if err := s.openFront(ctx, groups); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	return s.keys.WriteKubeconfig(s.URL())
}

// openWrites makes the one way to write, with the rooms of the built-in groups that take
// part in it.
func (s *Server) openWrites(ctx context.Context) (err error) {
	cfg := &s.cfg
	s.core.Reader = s.reader
	var services *addresses.Services
	s.admission = &admission.Guard{Rights: rbac.Rights{Policy: s.rbac, Authorizer: s.authz}, Remote: slices.Contains(cfg.AuthorizationModes, authz.ModeWebhook)}
	if s.rooms != nil {
		if s.admission, services, err = s.rooms.Writes(ctx); err != nil {
			return err
		}
	}
	if cfg.wrapAdmission != nil {
		s.admission = cfg.wrapAdmission(s.admission)
	}
	s.objects = objects.New(s.reader, objects.Config{MaxObjectBytes: cfg.MaxObjectBytes, DecodeLimits: s.decodeLimits, Clock: cfg.Clock, Admission: s.admission, Services: services, ProvidesNamespaces: cfg.Admission.On("NamespaceAutoProvision")})
	s.sweeper = conns.NewSweeper(cfg.durations.Stall, min(cfg.durations.Header, cfg.RequestTimeout))
	s.core.Objects, s.core.Sweeper = s.objects, s.sweeper
	if s.rooms != nil {
		return s.rooms.Types(ctx)
	}
	return nil
}

// newControllers makes the server's own activities.
func (s *Server) newControllers() *controllers.Controllers {
	cfg := &s.cfg
	address := cfg.BindAddress
	if cfg.Listener != nil {
		address = ""
	}
	config := controllers.Config{Log: s.log, Clock: cfg.Clock, Pauses: cfg.durations.Pauses, Settings: cfg.Background,
		ServiceClusterIPRange: cfg.ServiceClusterIPRange, BindAddress: address, Port: s.port,
		Objects: s.objects, Store: s.store, Catalog: s.catalog, Keys: s.keys, Authz: s.authz}
	if s.rooms != nil {
		s.rooms.Equip(&config)
	}
	return controllers.New(config)
}

// port is the port that the server listens on.
func (s *Server) port() int {
	if a, ok := s.listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return s.cfg.SecurePort
}

// openFront makes the pipeline with its verbs and endpoints.
func (s *Server) openFront(ctx context.Context, groups []*api.GroupVersion) error {
	cfg := &s.cfg
	d := &dispatch{}
	var err error
	if s.audit, err = audit.Open(cfg.Audit, s.metrics.Audit, s.log); err != nil {
		return err
	}
	secret, err := s.pageSecret(ctx)
	if err != nil {
		return err
	}
	gather := front.NewGatherRoom(cfg.ListMemoryBytes)
	fronts := front.Config{Log: s.log, AccessLog: logging.Access(s.log), Clock: cfg.Clock, Features: s.features,
		Requests: cfg.Requests, Body: cfg.durations.Body, Owed: cfg.durations.Owed, DecodeLimits: s.decodeLimits,
		Catalog: s.catalog, Authn: s.authn, Authz: s.authz, Limits: s.limits, Flow: s.flow, Gather: gather, Metrics: s.metrics, Audit: s.audit, Tracer: s.tracer, Sweeper: s.sweeper, VerbsOf: d.verbsOf}
	answers := endpoints.Config{Log: s.log, Documents: cfg.documents(), Clock: cfg.Clock, APIAudiences: cfg.APIAudiences, ServiceAccountMaxTokenExpiration: cfg.ServiceAccountMaxTokenExpiration,
		DecodeLimits: s.decodeLimits, Objects: s.objects, Store: s.store, Catalog: s.catalog, Features: s.features, Authz: s.authz,
		KeepTokenExpiration: cfg.KeepTokenExpiration, Tokens: s.tokens, Metrics: s.metrics, Checks: s.healthChecks}
	if s.rooms != nil {
		s.rooms.Answer(&fronts, &answers)
	}
	s.front = front.New(fronts)
	s.verbs = verbs.New(verbs.Config{Log: s.log, History: cfg.History, MinRequestTimeout: cfg.MinRequestTimeout, Future: cfg.durations.Future, Bookmark: cfg.durations.Bookmark,
		DecodeLimits: s.decodeLimits, PageSecret: secret, Front: s.front, Objects: s.objects, Store: s.store, Hub: s.hub, Headers: s.headers, Gather: gather,
		Streams: stream.New(s.sweeper, cfg.durations.Ping), Metrics: s.metrics, Stopping: s.stopping})
	answers.Front, answers.Verbs = s.front, s.verbs
	s.endpoints = endpoints.New(answers)
	s.dispatch(d)
	return d.check(groups)
}

// pageSecret is the key of the page tokens: kept in the store, so that tokens outlive a
// restart.
func (s *Server) pageSecret(ctx context.Context) ([]byte, error) {
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

// listen binds the address and prepares the HTTP server.
func (s *Server) listen() error {
	s.listener = s.cfg.Listener
	if s.listener == nil {
		l, err := net.Listen("tcp", net.JoinHostPort(s.cfg.BindAddress, fmt.Sprint(s.cfg.SecurePort)))
		if err != nil {
			return fmt.Errorf("cannot listen: %w; choose another --bind-address or --secure-port", err)
		}
		s.listener = l
	}
	s.http = &http.Server{
		Handler:           s.routes(),
		ConnContext:       conns.WithConn,
		ConnState:         conns.NoteState,
		ReadHeaderTimeout: s.cfg.durations.Header,
		IdleTimeout:       s.cfg.durations.Idle,
		WriteTimeout:      s.cfg.RequestTimeout + s.cfg.durations.Answer,
		MaxHeaderBytes:    1 << 20,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: s.cfg.MaxStreamsPerConnection},
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return nil
}

// serve answers requests until ctx ends or the server is stopped.
func (s *Server) serve(ctx context.Context) {
	served := make(chan error, 1)
	l := conns.NewListener(s.listener, s.keys.TLS(), s.cfg.durations.Header, s.sweeper, s.http.ErrorLog.Printf)
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

// Done is closed when the server has stopped.
func (s *Server) Done() <-chan struct{} { return s.done }

// URL is the address of the server: "https://127.0.0.1:6443".
func (s *Server) URL() string { return "https://" + s.host() }
