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
	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/openid"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/background"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/outbound"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/seams"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

// Config describes one server. The zero value of every field is its default, so
// Config{InMemory: true} is a complete configuration: a server on a free loopback port that
// forgets everything when it stops.
//
// Start works on its own copy, after setDefaults and Validate.
type Config struct {
	// DataDir holds the store, the certificates the server makes and the
	// administrator's kubeconfig. Required unless InMemory.
	DataDir string
	// InMemory keeps store and certificates in memory; DataDir is not used.
	InMemory bool
	// The settings of etcd, for objects that several servers share. Default: the store in DataDir.
	Etcd
	// FS is the file system of the store; nil for the machine's own. With
	// another one the certificates stay in memory, as with InMemory.
	FS vfs.FS
	// History is the time for which old revisions can be read and watches resumed.
	// Default 5m.
	History time.Duration

	// BindAddress is the IP address to listen on. Default 127.0.0.1.
	BindAddress string
	// ExternalHostname is the name by which others reach the server, in documents about it.
	// Default: its address.
	ExternalHostname string
	// SecurePort is the port to listen on; 0 is any free one.
	SecurePort int
	// Listener, when set, is used in place of BindAddress and SecurePort. The
	// server closes it.
	Listener net.Listener

	// The rooms' own parts.
	PKI
	Authentication
	OpenID
	Authorization
	Addresses
	Admission
	Requests
	Agents
	Features
	Background

	// EncryptionConfigFile names the resources that are stored encrypted, and the keys.
	// Default: none.
	EncryptionConfigFile string
	// EncryptionConfigReload puts changes of the file to use while the server runs.
	EncryptionConfigReload bool
	// Audit names the recorded requests, and the places of their events. Default: none.
	Audit audit.Config
	// TracingConfigFile names the collector of spans, and the part of the requests that are
	// recorded. Default: none.
	TracingConfigFile string
	// EnableAggregatorRouting connects to services, those of extension servers and
	// webhooks, by their ready endpoints rather than by their cluster addresses.
	EnableAggregatorRouting bool
	// ForwardExtensionRedirects sends redirects of extension servers to the client, which
	// are refused otherwise.
	ForwardExtensionRedirects bool
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
	// DisableExplorer turns off the page at /explorer/.
	DisableExplorer bool

	// API is the API of another module: what New of its generated package gen/api returns.
	// Default: none.
	API *api.API
	// HideNewerObjects starts on a store of the server's own that has objects of kinds which came after the release to
	// serve. They are hidden; without it the start is refused.
	HideNewerObjects bool
	// OwnGroupsOnly turns the built-in groups off but for what every server has: namespaces,
	// roles, and reviews of access and tokens. RuntimeConfig turns on more of them.
	OwnGroupsOnly bool

	// Logger receives log messages. Default: nothing is logged.
	Logger *slog.Logger
	// LogLevel is the level of Logger, which clients may change at /debug/flags/v while the
	// server runs; nil for a level that stays.
	LogLevel *slog.LevelVar
	// Clock is the time of day; nil for time.Now.
	Clock func() time.Time

	// Seams are for the tests of this module; other modules cannot name their type.
	Seams seams.Seams
}

// The parts of Config, each of the room that it configures.
type (
	// Etcd says where etcd is, if it keeps the objects.
	Etcd = shared.Settings
	// PKI names certificates and keys.
	PKI = pki.Config
	// Authentication says who is let in without or with which credentials.
	Authentication = authn.Settings
	// OpenID names an issuer of ID tokens.
	OpenID = openid.Settings
	// Authorization names the authorizers.
	Authorization = authz.Config
	// Addresses holds the ranges of services' addresses and ports.
	Addresses = addresses.Config
	// Admission selects the admission plug-ins.
	Admission = admission.Config
	// Agents is about connections to nodes and pods.
	Agents = outbound.AgentSettings
	// Requests bounds times, sizes and numbers of requests.
	Requests = request.Requests
	// Features turns features, versions and resources on and off.
	Features = options.Config
	// Background is about what the server does by itself.
	Background = background.Settings
	// Controller is a controller of another module.
	Controller = background.OwnController
)

// Defaults of Config that other code uses too.
const (
	defaultHistory     = 5 * time.Minute
	defaultBindAddress = "127.0.0.1"
	defaultObjectBytes = 3 << 19
	defaultDrainTime   = 30 * time.Second
)

// setDefaults fills in every field that is not set.
func (c *Config) setDefaults() {
	setDefault(&c.History, defaultHistory)
	setDefault(&c.BindAddress, defaultBindAddress)
	c.Etcd.SetDefaults()
	c.Authentication.SetDefaults(addresses.OwnService + ".default.svc")
	c.OpenID.SetDefaults()
	c.Authorization.SetDefaults()
	c.Addresses.SetDefaults()
	c.Admission.SetDefaults()
	c.Requests.SetDefaults()
	c.Agents.SetDefaults()
	c.Background.SetDefaults()
	c.Audit.SetDefaults()
	setDefault(&c.MaxObjectBytes, defaultObjectBytes)
	setDefault(&c.ShutdownTimeout, defaultDrainTime)
	if c.keepsFiles() && c.DataDir != "" {
		c.PKI.SetDefaults(c.DataDir)
	}
	c.FindServing()
	if !c.keepsFiles() {
		c.CertDir = ""
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	setDefault(&c.Seams.Durations, seams.Production)
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
	if d.Listener == nil {
		if _, err := netip.ParseAddr(d.BindAddress); err != nil {
			wrong("bind address: %q is not an IP address; use one of this machine's, or 0.0.0.0 for all of them", d.BindAddress)
		}
	}
	for _, part := range []interface{ Validate() error }{&d.Features, &d.PKI, &d.Authentication, &d.OpenID, &d.Authorization, &d.Requests, &d.Admission,
		&d.Background, &d.Addresses, &d.Audit, &d.Agents} {
		all = append(all, part.Validate())
	}
	all = append(all, outOfBounds(d.times()), outOfBounds(d.sizes()), outOfBounds(d.counts()),
		limited[time.Duration]{flag: "min-request-timeout", at: &d.MinRequestTimeout, least: time.Second, most: longestTime}.valid())
	if d.MaxRequestBytes < d.MaxObjectBytes {
		wrong("--max-request-bytes: %d bytes is less than the largest object (--max-object-bytes, %d); raise one or lower the other",
			d.MaxRequestBytes, d.MaxObjectBytes)
	}
	if d.shares() {
		all = append(all, d.Etcd.Validate())
	}
	if d.WantsEtcd() {
		wrong("etcd: this program has no client of etcd; set OpenEtcd to etcdstore.Open, or use the program capstan-etcd")
	}
	if d.EncryptionConfigReload && d.EncryptionConfigFile == "" {
		wrong("--encryption-provider-config-automatic-reload: there is no file to follow; add --encryption-provider-config")
	}
	return errors.Join(all...)
}

// shares reports whether the objects are in etcd, for several servers. A server in memory has its
// own: scripts that start a kube-apiserver name an etcd always.
func (c *Config) shares() bool { return len(c.EtcdServers) > 0 && !c.InMemory }

// WantsEtcd reports whether the objects are in etcd, of which the program has no client.
func (c *Config) WantsEtcd() bool { return c.shares() && c.OpenEtcd == nil }

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
