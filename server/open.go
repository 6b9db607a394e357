package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/index"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/internal/watch"
	"github.com/capstan-dev/capstan/server/internal/background"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/extensions"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/health"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/identity/rbac"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/custom"
	"github.com/capstan-dev/capstan/server/internal/kinds/references"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/outbound"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/seams"
	"github.com/capstan-dev/capstan/server/internal/serve"
	"github.com/capstan-dev/capstan/server/internal/stream"
	"github.com/capstan-dev/capstan/server/internal/verbs"
)

// open makes the server, from the disk up to the requests: each part takes those above it.
func (s *Server) open(ctx context.Context) (err error) {
	cfg, times := &s.cfg, &s.cfg.Seams.Durations
	s.limits = request.NewLimits(cfg.MaxRequestsInflight, cfg.MaxMutatingRequestsInflight, cfg.MaxRequestBytes)
	decoding := document.Limits{MaxBytes: int(cfg.MaxRequestBytes)}

	// The catalog, the store, and the address.
	groups, err := s.openCatalog()
	if err != nil {
		return err
	}
	if err = s.openStore(ctx); err != nil {
		return err
	}
	s.openMetrics()
	tracer, err := s.openTracing()
	if err != nil {
		return err
	}
	if err = s.listen(); err != nil {
		return err
	}
	// The store's lock also guards the certificates next to it.
	if s.keys, err = pki.Open(cfg.PKI, s.site()); err != nil {
		return err
	}
	s.metrics.Add(metrics.NewCertificates(s.keys.Ends))
	s.followEncryption()

	// Authentication and authorization.
	if s.accounts, err = s.openAccounts(ctx); err != nil {
		return err
	}
	authn, err := s.openAuthentication()
	if err != nil {
		return err
	}
	policy, err := rbac.Open(ctx, rbac.Config{Store: s.store, Catalog: s.catalog, Logger: s.log})
	if err != nil {
		return err
	}
	s.closeLater(policy.Close)
	authz, err := s.openAuthorization(ctx, policy)
	if err != nil {
		return err
	}

	// Writes, with their admission.
	reader := objects.NewReader(s.store, s.catalog, times.Soon)
	if err = s.openServices(ctx); err != nil {
		return err
	}
	behind, err := outbound.OpenBackends(ctx, outbound.BackendsConfig{Store: s.store, Catalog: s.catalog, Logger: s.log,
		ByEndpoint: cfg.EnableAggregatorRouting, Self: s.host()})
	if err != nil {
		return err
	}
	s.closeLater(behind.Close)
	if s.admitting, err = s.openAdmission(ctx, reader, rbac.Rights{Policy: policy, Authorizer: authz}, behind); err != nil {
		return err
	}
	main, events := s.openPart(s.store), s.openPart(s.events)
	if s.objects, err = s.openObjects(ctx, reader, decoding, main.Headers); err != nil {
		return err
	}

	// Watches, custom types and extension servers.
	s.sweeper = conns.NewSweeper(times.Stall, min(times.Header, cfg.RequestTimeout))
	rows, err := custom.NewRows(s.catalog.Snapshot(), func(spec document.Value) api.Converter { return conversion.NewConverter(spec, behind) }, s.edition.Since)
	if err != nil {
		return err
	}
	definitions, err := custom.Open(ctx, custom.Config{Row: custom.Definitions(s.catalog.Snapshot()), Store: s.shown, Catalog: s.catalog,
		Objects: s.objects, Rows: rows, Hub: main.Hub, Logger: s.log, Retry: times.Retry, Idle: times.Types})
	if err != nil {
		return err
	}
	forwarder := &outbound.Forwarder{Log: s.log, Sweeper: s.sweeper, Proxied: s.keys.UntrustedHeaders(), Stopping: s.stopping}
	elsewhere, err := extensions.Open(ctx, extensions.Config{Log: s.log, Store: s.store, Catalog: s.catalog, Objects: s.objects,
		Backends: behind, Forwarder: forwarder,
		Metrics: s.metrics.Extensions, Certificate: s.frontProxy, ForwardRedirects: cfg.ForwardExtensionRedirects, Times: times.ExtensionServers})
	if err != nil {
		return err
	}
	s.closeLater(elsewhere.Close)

	// The server's own activities.
	s.controllers = background.New(background.Config{Log: s.log, Clock: cfg.Clock, Release: s.release(), Pauses: times.Pauses, Settings: cfg.Background,
		ServiceClusterIPRange: cfg.ServiceClusterIPRange, BindAddress: s.ownAddress(), Port: s.port(), Objects: s.objects, Store: s.store, Catalog: s.catalog,
		Keys: s.keys, Kubeconfig: s.Kubeconfig, Authz: authz, Elsewhere: elsewhere, Services: s.services, Issuer: s.accounts.ofSecrets,
		Quotas: s.admitting.quotas, Sharing: s.sharing})
	if err = s.controllers.Prepare(ctx); err != nil {
		return err
	}
	s.activities = []func(context.Context){definitions.Run, elsewhere.Run}
	if controller.Enabled(cfg.Controllers, controller.PolicyStatus) {
		s.activities = append(s.activities, func(ctx context.Context) { s.admitting.policies.CheckTypes(ctx, s.objects) })
	}

	// Requests.
	if s.flow, err = s.openFlowControl(ctx, main.Hub); err != nil {
		return err
	}
	recorder, err := audit.Open(cfg.Audit, s.metrics.Audit, s.log)
	if err != nil {
		return err
	}
	s.closeSoon(recorder.Close)
	secret, err := s.pageSecret(ctx)
	if err != nil {
		return err
	}
	slow := request.NewSlowLog(cfg.SlowRequests, cfg.SlowRequestThreshold)
	s.env = request.New(request.Config{Log: s.log, AccessLog: logging.Access(s.log), Clock: cfg.Clock, Features: s.features, Requests: cfg.Requests,
		Body: times.Body, Owed: times.Owed, DecodeLimits: decoding, Catalog: s.catalog, Authz: authz, Limits: s.limits, Flow: s.flow,
		Metrics: s.metrics, Audit: recorder, Tracer: tracer, Slow: slow, Sweeper: s.sweeper, Newest: s.newest()})
	verbs := verbs.New(verbs.Config{Log: s.log, Since: s.edition.Since, History: cfg.History, MinRequestTimeout: cfg.MinRequestTimeout, Future: times.Future,
		Bookmark: times.Bookmark, DecodeLimits: decoding, PageSecret: secret, Env: s.env, Objects: s.objects, Main: main, Events: events,
		Gather: request.NewGatherRoom(cfg.ListMemoryBytes), Streams: stream.New(s.sweeper, times.Ping), Metrics: s.metrics, Stopping: s.stopping})
	s.health = s.openHealth()
	others := endpoints.New(endpoints.Config{Log: s.log, Documents: s.documents, Release: s.edition.Release, Since: s.edition.Since, Clock: cfg.Clock,
		APIAudiences: cfg.APIAudiences, TokenLives: s.accounts.lives, DecodeLimits: decoding, Objects: s.objects, Store: s.store, Authz: authz,
		Catalog: s.catalog, Features: s.features, Tokens: s.tokens, Metrics: s.metrics,
		Issuer: s.accounts.requested, IssuerDocuments: s.accounts.documents, Health: s.health, Env: s.env, Verbs: verbs, Forwarder: forwarder,
		Agents: outbound.NewAgents(cfg.Agents, func() *pki.AgentTrust { return s.keys.Credentials().Agents() }), Extensions: elsewhere})
	handler, err := serve.New(serve.Config{Log: s.log, RequestTimeout: cfg.RequestTimeout, GoawayChance: cfg.GoawayChance, OpenAPI3: s.features[options.OpenAPIV3],
		Profiles: !cfg.DisableProfiling, Verbosity: endpoints.NewVerbosity(cfg.LogLevel, cfg.DisableProfiling), Slow: slow, Groups: groups, Env: s.env,
		Catalog: s.catalog, Authn: authn, Authz: authz, Flow: s.flow, Definitions: definitions, Health: s.health, Verbs: verbs, Endpoints: others,
		Explorer: s.explorer(), Extensions: elsewhere, Impersonation: s.metrics.Impersonation})
	if err != nil {
		return err
	}
	s.http = s.newHTTP(handler)
	s.show()
	return s.keys.WriteKubeconfig(s.URL())
}

// release is the release of the built-in kinds, with its features.
func (s *Server) release() bootstrap.Release {
	return bootstrap.Release{Since: s.edition.Since, On: s.features.On}
}

// openServices follows the addresses and node ports of services, and counts them.
func (s *Server) openServices(ctx context.Context) (err error) {
	figures := metrics.NewAllocators(metrics.AllocatorsConfig{Ports: s.edition.Since("1.27"), Times: s.addressing != nil && s.edition.Since("1.31")})
	s.services, err = addresses.Open(ctx, &s.cfg.Addresses, s.catalog.Snapshot().Core("services"), s.addressing, figures, s.store, s.log)
	if err != nil {
		return err
	}
	s.closeLater(s.services.Close)
	figures.Follow(s.services.Uses)
	s.metrics.Add(figures)
	return nil
}

// openObjects makes the objects writable. The index of the references that restrict deletes is open where there are any.
func (s *Server) openObjects(ctx context.Context, reader *objects.Reader, decoding document.Limits, headers *index.Index) (*objects.Objects, error) {
	s.headers = headers
	to := objects.Config{MaxObjectBytes: s.cfg.MaxObjectBytes, DecodeLimits: decoding, Clock: s.cfg.Clock, Admission: s.admitting.chain,
		Services: s.services, Headers: headers, ProvidesNamespaces: s.cfg.Admission.On("NamespaceAutoProvision"), Since: s.edition.Since}
	referrers, err := references.Open(ctx, references.Config{Store: s.store, Catalog: s.catalog, Logger: s.log})
	if err != nil {
		return nil, err
	}
	if referrers != nil {
		s.closeLater(referrers.Close)
		to.Referrers = referrers
	}
	return objects.New(reader, to), nil
}

// openPart opens what follows a store for requests; nil for no store.
func (s *Server) openPart(of store.Store) *verbs.Part {
	if of == nil {
		return nil
	}
	p := &verbs.Part{Store: of, Hub: watch.NewHub(of, watch.Config{Writing: s.limits.Mutating.InUse.Load, Shared: s.sharing != nil}),
		Headers: index.New(of, index.Config{Bits: selector.HeaderBits})}
	s.closeLater(p.Hub.Close)
	s.closeLater(p.Headers.Close)
	return p
}

// newest is the question of requests after what other servers have written; nil for none. Events
// count for requests for events only.
func (s *Server) newest() func(context.Context, *catalog.Row) error {
	if s.sharing == nil || s.cfg.InconsistentAuthorization {
		return nil
	}
	return func(ctx context.Context, row *catalog.Row) error {
		if s.events != nil && row != nil && row.Vanishes() {
			asked := make(chan error, 1)
			go func() {
				_, err := s.events.Newest(ctx)
				asked <- err
			}()
			_, err := s.store.Newest(ctx)
			return errors.Join(err, <-asked)
		}
		_, err := s.store.Newest(ctx)
		return err
	}
}

// explorer are the answers for the explorer's page; nil for none.
func (s *Server) explorer() *endpoints.Explorer {
	if s.cfg.DisableExplorer {
		return nil
	}
	return endpoints.NewExplorer(s.cfg.OpenID, s.issuer.TokenURL)
}

// openHealth begins the health checks.
func (s *Server) openHealth() *health.Health {
	return health.New(health.Config{Clock: s.cfg.Clock, Store: s.store, Catalog: s.catalog, Controllers: s.controllers, Cipher: s.cipher,
		KeysReload: s.cfg.EncryptionConfigReload, LivezGracePeriod: s.cfg.LivezGracePeriod,
		HealthTimeout: s.cfg.EtcdHealthcheckTimeout, ReadyTimeout: min(s.cfg.EtcdReadycheckTimeout, s.cfg.EtcdMaxLag)})
}

// show gives the rooms to a test that asked for them.
func (s *Server) show() {
	if opened := s.cfg.Seams.Opened; opened != nil {
		opened(seams.Rooms{Catalog: s.catalog, Store: s.store, Shown: s.shown, Objects: s.objects, Headers: s.headers,
			Services: s.services, Controllers: s.controllers, Health: s.health, Handler: s.http.Handler})
	}
}

// closeLater has a part closed when the server ends, before the parts that were opened earlier.
func (s *Server) closeLater(close func()) {
	s.closers = append(s.closers, func(context.Context) { close() })
}

// closeSoon is closeLater for a part that has to send its events, for a moment at most.
func (s *Server) closeSoon(close func(context.Context)) {
	s.closers = append(s.closers, func(ctx context.Context) {
		soon, cancel := s.soon(ctx)
		defer cancel()
		close(soon)
	})
}

// listen binds the address.
func (s *Server) listen() error {
	s.listener = s.cfg.Listener
	if s.listener == nil {
		l, err := net.Listen("tcp", net.JoinHostPort(s.cfg.BindAddress, fmt.Sprint(s.cfg.SecurePort)))
		if err != nil {
			return fmt.Errorf("cannot listen: %w; choose another --bind-address or --secure-port", err)
		}
		s.listener = l
	}
	s.closeLater(func() { _ = s.listener.Close() }) // closed already when HTTP was shut down
	return nil
}

// port is the port that the server listens on.
func (s *Server) port() int {
	if a, ok := s.listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return s.cfg.SecurePort
}

// ownAddress is the configured address of the server; "" when it was given a listener.
func (s *Server) ownAddress() string {
	if s.cfg.Listener != nil {
		return ""
	}
	return s.cfg.BindAddress
}

// newHTTP makes the HTTP server.
func (s *Server) newHTTP(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ConnContext:       conns.WithConn,
		ConnState:         conns.NoteState,
		ReadHeaderTimeout: s.cfg.Seams.Durations.Header,
		IdleTimeout:       s.cfg.Seams.Durations.Idle,
		WriteTimeout:      s.cfg.RequestTimeout + s.cfg.Seams.Durations.Answer,
		MaxHeaderBytes:    1 << 20,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: s.cfg.MaxStreamsPerConnection},
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// host is the host and port of this server, by which its own service is reached.
func (s *Server) host() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return s.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// openTracing begins to send spans of requests, if that is configured; nil otherwise.
func (s *Server) openTracing() (*tracing.Tracer, error) {
	if s.cfg.TracingConfigFile == "" {
		return nil, nil
	}
	config, err := tracing.ReadConfig(s.cfg.TracingConfigFile)
	if err != nil {
		return nil, err
	}
	figures := metrics.NewSpans()
	s.metrics.Add(figures)
	sender := tracing.Open(config, "kube-apiserver-"+uuid.NewString(), figures, s.log, s.cfg.Seams.Durations.Spans)
	s.closeSoon(sender.Close)
	return sender.Tracer, nil
}

// openFlowControl reads the flow schemas and priority levels; nil when they are off. They
// share the numbers of reading and writing requests that may run at once.
func (s *Server) openFlowControl(ctx context.Context, hub *watch.Hub) (*flowcontrol.Control, error) {
	if s.cfg.DisablePriorityAndFairness || !s.catalog.Snapshot().Serves(flowcontrol.Group, "flowschemas") {
		return nil, nil
	}
	seats := max(s.cfg.MaxRequestsInflight, 0) + max(s.cfg.MaxMutatingRequestsInflight, 0)
	if seats == 0 {
		seats = unbounded
	}
	flow, err := flowcontrol.Open(ctx, flowcontrol.Config{Store: s.store, Catalog: s.catalog, Logger: s.log, Seats: seats,
		Wait: s.cfg.RequestTimeout / 4, Watchers: hub.Watchers})
	if err != nil {
		return nil, err
	}
	s.closeLater(flow.Close)
	s.metrics.Add(flow)
	return flow, nil
}

// unbounded is a number of seats that requests do not take up.
const unbounded = 1 << 24
