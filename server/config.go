package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/addresses"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/pki"
	"github.com/capstan-dev/capstan/server/internal/policy"
)

// Config describes one server. The zero value of every field is its default, so
// Config{InMemory: true} is a complete configuration: a server on a free loopback port
// that forgets everything when it stops.
//
// Start works on its own copy, after setDefaults and Validate.
type Config struct {
	// DataDir holds the store, the certificates the server makes and the
	// administrator's kubeconfig. Required unless InMemory.
	DataDir string
	// InMemory keeps store and certificates in memory; DataDir is not used.
	InMemory bool
	// FS is the file system of the store; nil for the machine's own. With
	// another one the certificates stay in memory, as with InMemory.
	FS vfs.FS
	// History is the time for which old revisions can be read and watches resumed.
	// Default 5m.
	History time.Duration

	// RuntimeConfig turns group versions and resources on and off, see
	// features.ParseRuntimeConfig: "batch/v1=false", "api/alpha". Alpha versions are off.
	RuntimeConfig []string
	// FeatureGates turns features on and off, see features.Parse:
	// "APIListChunking=false".
	FeatureGates []string
	// ShowHiddenMetricsForVersion names the release before this one, whose hidden metrics
	// are to be shown. There are none, so only the name is checked.
	ShowHiddenMetricsForVersion string

	// BindAddress is the IP address to listen on. Default 127.0.0.1.
	BindAddress string
	// SecurePort is the port to listen on; 0 is any free one.
	SecurePort int
	// Listener, when set, is used in place of BindAddress and SecurePort. The
	// server closes it.
	Listener net.Listener

	// PKI names the certificates and keys.
	PKI

	// RequestHeaderAllowedNames are the names that certificates of the authorities in
	// RequestHeaderClientCAFile may have, and the others are the headers in which proxies
	// with such a certificate name the user. They are published for extension servers;
	// this server does not authenticate by them yet.
	RequestHeaderAllowedNames, RequestHeaderUsernameHeaders    []string
	RequestHeaderGroupHeaders, RequestHeaderExtraHeadersPrefix []string
	// DisableAnonymousAuth refuses requests without credentials with 401. They
	// are refused with the authorization mode AlwaysAllow too.
	DisableAnonymousAuth bool
	// AuthorizationModes are asked in order. Default RBAC.
	AuthorizationModes []string

	// AdvertiseAddress is the IP address by which clients inside the cluster reach the
	// server. Default: BindAddress, or one of the machine's if that is unspecified or
	// loopback.
	AdvertiseAddress string
	// Addresses are the ranges of services' addresses and ports.
	Addresses
	// EnableAggregatorRouting connects to services, those of extension servers and
	// webhooks, by their ready endpoints rather than by their cluster addresses.
	EnableAggregatorRouting bool

	// ServiceAccountIssuer is the issuer in tokens, and their default audience. Default
	// https://kubernetes.default.svc.
	ServiceAccountIssuer string
	// APIAudiences are the names of this server in tokens: the default audiences of
	// service accounts' tokens, of which a review of a token must name one, if any.
	// Default ServiceAccountIssuer.
	APIAudiences []string
	// ServiceAccountMaxTokenExpiration bounds the life of a service account's token: a
	// request for a longer one gets this and a warning. Default 0: no bound.
	ServiceAccountMaxTokenExpiration time.Duration
	// DisableAdmissionPlugins names the admission plug-ins that are off; all others
	// of server/internal/admission are on.
	DisableAdmissionPlugins []string
	// EnableAdmissionPlugins must name plug-ins of this server, and has no other effect,
	// since all are on.
	EnableAdmissionPlugins []string
	// NotReadyTolerationSeconds and UnreachableTolerationSeconds are the time that a pod
	// without own tolerations stays on a node that is not ready or not reachable. Default
	// 300; negative for 0.
	NotReadyTolerationSeconds, UnreachableTolerationSeconds int
	// EventTTL is the time after its last write when an event is deleted, give or take a
	// minute. A start gives existing events their whole time again. Default 1h; negative
	// for never.
	EventTTL time.Duration
	// DisablePriorityAndFairness turns off the handling of flow schemas and priority
	// levels: none are created, and their status is not written.
	DisablePriorityAndFairness bool
	// RequestTimeout bounds every request that is not a watch, from the end of its
	// headers to the last byte of its answer. Default 60s.
	RequestTimeout time.Duration
	// MinRequestTimeout is the least time that a watch without timeoutSeconds
	// stays open; each picks a time between it and its double. Default 30m.
	MinRequestTimeout time.Duration
	// MaxRequestsInflight bounds the reading requests that run at once, watches and
	// those of administrators not counted. One user has a quarter at most. Default
	// 400; negative for no bound.
	MaxRequestsInflight int
	// MaxMutatingRequestsInflight bounds the writing requests that run at once.
	// Default 200; negative for no bound.
	MaxMutatingRequestsInflight int
	// MaxStreamsPerConnection bounds the requests that a client may have under way on
	// one HTTP/2 connection. Default 250.
	MaxStreamsPerConnection int
	// MaxRequestBytes bounds the body of a request. Default 3 MiB.
	MaxRequestBytes int64
	// ListMemoryBytes bounds the memory of all lists that have to be gathered before they
	// are sent (binary, YAML, indented); larger ones are read twice, or not indented.
	// Default 64 MiB.
	ListMemoryBytes int64
	// MaxObjectBytes bounds the stored form of an object. Default 1.5 MiB.
	MaxObjectBytes int64

	// LivezGracePeriod is the time after the start during which /livez counts unfinished
	// start-up steps as healthy. Default 0.
	LivezGracePeriod time.Duration
	// ShutdownDelay is the time after a stop request during which the server goes on
	// serving, with /readyz failing, so that load balancers notice. Default 0.
	ShutdownDelay time.Duration
	// ShutdownTimeout is the time for requests in flight after that. Default 30s.
	ShutdownTimeout time.Duration
	// DisableProfiling turns off /debug/pprof/.
	DisableProfiling bool

	// Controllers selects the controllers: "*" is all of them, "name" this one, "-name"
	// not this one, "-*" none. Default "*". See controller.Names.
	Controllers []string

	// Logger receives log messages. Default: nothing is logged.
	Logger *slog.Logger
	// Clock is the time of day; nil for time.Now.
	Clock func() time.Time

	durations     durations                               // nil: those of production
	wrapStore     func(store.Store) store.Store           // nil; tests wrap the store
	wrapAdmission func(objects.Admitter) objects.Admitter // nil; tests observe admission
	groups        func(policy.Policy) []*api.GroupVersion // nil for the generated catalog; tests serve other documents
}

// Addresses is the part of Config about services' addresses and ports.
type Addresses = addresses.Config

// PKI is the part of Config about certificates and keys.
type PKI = pki.Config

// Defaults of Config that other code uses too.
const (
	defaultHistory     = 5 * time.Minute
	defaultBindAddress = "127.0.0.1"
	defaultRequestTime = 60 * time.Second
	defaultWatchTime   = 30 * time.Minute
	defaultReads       = 400
	defaultWrites      = 200
	defaultStreams     = 250
	defaultToleration  = 300 // seconds
	defaultEventTime   = time.Hour
	defaultBodyBytes   = 3 << 20
	defaultListMemory  = 64 << 20
	defaultObjectBytes = 3 << 19
	defaultDrainTime   = 30 * time.Second
)

// setDefaults fills in every field that is not set.
func (c *Config) setDefaults() {
	setDefault(&c.History, defaultHistory)
	setDefault(&c.BindAddress, defaultBindAddress)
	setDefault(&c.ServiceAccountIssuer, "https://"+addresses.OwnService+".default.svc")
	c.Addresses.SetDefaults()
	setDefault(&c.NotReadyTolerationSeconds, defaultToleration)
	setDefault(&c.UnreachableTolerationSeconds, defaultToleration)
	setDefault(&c.EventTTL, defaultEventTime)
	setDefault(&c.RequestTimeout, defaultRequestTime)
	setDefault(&c.MinRequestTimeout, defaultWatchTime)
	setDefault(&c.MaxRequestsInflight, defaultReads)
	setDefault(&c.MaxMutatingRequestsInflight, defaultWrites)
	setDefault(&c.MaxStreamsPerConnection, defaultStreams)
	setDefault(&c.MaxRequestBytes, defaultBodyBytes)
	setDefault(&c.ListMemoryBytes, defaultListMemory)
	setDefault(&c.MaxObjectBytes, defaultObjectBytes)
	setDefault(&c.ShutdownTimeout, defaultDrainTime)
	switch {
	case !c.keepsFiles():
		c.CertDir = ""
	case c.DataDir != "":
		c.PKI.SetDefaults(c.DataDir)
	}
	if c.groups == nil {
		c.groups = catalogOf
	}
	if len(c.AuthorizationModes) == 0 {
		c.AuthorizationModes = []string{authz.ModeRBAC}
	}
	if len(c.APIAudiences) == 0 {
		c.APIAudiences = []string{c.ServiceAccountIssuer}
	}
	if c.Controllers == nil {
		c.Controllers = []string{"*"}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	setDefault(&c.durations, productionDurations)
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// Validate reports all mistakes in the configuration, joined into one error, or nil. It
// opens no file.
func (c *Config) Validate() error {
	d := *c
	d.setDefaults()
	var all []error
	wrong := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }

	if d.DataDir == "" && !d.InMemory {
		wrong("data directory: not set; name one (--data-dir), or keep everything in memory (--in-memory)")
	}
	if _, _, err := features.Parse(d.FeatureGates); err != nil {
		all = append(all, err)
	}
	if err := features.CheckHiddenMetrics(d.ShowHiddenMetricsForVersion); err != nil {
		all = append(all, err)
	}
	if err := admission.CheckEnabled(d.EnableAdmissionPlugins); err != nil {
		wrong("--enable-admission-plugins: %w", err)
	}
	if err := admission.CheckDisabled(d.DisableAdmissionPlugins); err != nil {
		wrong("--disable-admission-plugins: %w", err)
	}
	if d.Listener == nil {
		if _, err := netip.ParseAddr(d.BindAddress); err != nil {
			wrong("bind address: %q is not an IP address; use one of this machine's, or 0.0.0.0 for all of them", d.BindAddress)
		}
	}
	if a, err := netip.ParseAddr(d.AdvertiseAddress); d.AdvertiseAddress != "" && (err != nil || a.IsUnspecified() || a.IsLoopback()) {
		wrong("advertised address: %q is no IP address that others reach the server at", d.AdvertiseAddress)
	}
	if err := d.PKI.Validate(); err != nil {
		all = append(all, err)
	}
	if _, _, err := authz.New(authz.Config{Modes: d.AuthorizationModes}); err != nil {
		all = append(all, err)
	}
	if err := d.Addresses.Validate(); err != nil {
		all = append(all, err)
	}
	all = append(all, outOfBounds(d.times()), outOfBounds(d.sizes()), outOfBounds(d.counts()),
		limited[time.Duration]{flag: "min-request-timeout", at: &d.MinRequestTimeout, least: time.Second, most: longestTime}.valid())
	if err := checkTokenLife(d.ServiceAccountMaxTokenExpiration); err != nil {
		wrong("--service-account-max-token-expiration: %w", err)
	}
	if d.MaxRequestBytes < d.MaxObjectBytes {
		wrong("--max-request-bytes: %d bytes is less than the largest object (--max-object-bytes, %d); raise one or lower the other", d.MaxRequestBytes, d.MaxObjectBytes)
	}
	if err := controller.Check(d.Controllers); err != nil {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// checkTokenLife reports a bound below 1.25's least.
func checkTokenLife(d time.Duration) error {
	if d != 0 && (d < time.Hour || d > longestTime) {
		return fmt.Errorf("%v is out of range; use %v to %v, or 0 for no bound", d, time.Hour, longestTime)
	}
	return nil
}

// keepsFiles reports whether certificates and kubeconfig are on the machine's disk.
func (c *Config) keepsFiles() bool { return !c.InMemory && c.FS == nil }

// fileSystem is the file system of the store: a new and empty one at each call for a
// server in memory.
func (c *Config) fileSystem() vfs.FS {
	switch {
	case c.FS != nil:
		return c.FS
	case c.InMemory:
		return vfs.NewMem()
	}
	return vfs.Default
}

// storeDir is the store's directory in fileSystem.
func (c *Config) storeDir() string { return operate.StoreDir(c.DataDir) }

// anonymous reports whether requests without credentials are let in as
// system:anonymous.
func (c *Config) anonymous() bool {
	return !c.DisableAnonymousAuth && !slices.Contains(c.AuthorizationModes, authz.ModeAlwaysAllow)
}
