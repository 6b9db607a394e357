package server

import (
	"context"
	"net"
	"os"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/internal/encryption"
	metav1 "github.com/capstan-dev/capstan/internal/gen/meta/v1"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// openStore opens the store of the catalog's kinds, and the operators' socket.
func (s *Server) openStore(ctx context.Context) error {
	cipher, err := encryption.Read(s.cfg.EncryptionConfigFile, catalog.ResourceOfKey)
	if err != nil {
		return err
	}
	s.cipher = cipher
	config := store.Config{Dir: s.cfg.storeDir(), FS: s.cfg.fileSystem(), History: s.cfg.History, Clock: s.cfg.Clock, Logger: s.cfg.Logger}
	if cipher != nil {
		config.Cipher = cipher
	}
	engine, err := store.Open(config)
	if err != nil {
		return err
	}
	s.store = engine
	if s.cfg.wrapStore != nil {
		s.store = s.cfg.wrapStore(engine)
	}
	if s.cfg.TracingConfigFile != "" {
		s.store = stored.Traced{Store: s.store}
	}
	kinds := stored.NewKinds(s.catalog.Snapshot())
	mixed, due, err := stored.NoteVersions(ctx, engine, kinds)
	if err != nil {
		return err
	}
	s.shown = stored.NewCurrent(s.store, mixed)
	s.store = s.shown
	if due {
		s.log.Info("objects may have been stored under other documents or in other versions, which each read of them has to make up for; 'capstan store migrate' rewrites them, beside the requests")
	}
	if s.cfg.keepsFiles() {
		s.control = operate.Listen(s.cfg.DataDir, engine, cipher.Form, func() stored.Kinds { return kinds.And(s.shown.Custom()) }, s.log, s.cfg.durations.Header)
	}
	s.metrics = newMetrics(s, engine.Stats)
	s.core.Store, s.core.Shown, s.core.Metrics = s.store, s.shown, s.metrics
	return s.openTracing()
}

// reloadCipher follows the file of the encryption, if that is configured.
func (s *Server) reloadCipher() {
	if !s.cfg.EncryptionConfigReload {
		return
	}
	reloads := metrics.NewReloads("encryption_config_controller", s.cfg.Clock)
	s.metrics.Add(reloads)
	if text, err := os.ReadFile(s.cfg.EncryptionConfigFile); err == nil { // it was read just now
		reloads.Use(text)
	}
	s.keys.Watch("encryption configuration", func(texts [][]byte) ([]any, error) {
		err := s.cipher.Reload()
		reloads.Count(texts[0], err)
		return nil, err
	}, s.cfg.EncryptionConfigFile)
}

// MigrateStore runs a migration on the store of a data directory without a server of the
// configuration. Steps are reported at most once a second, problems all; objects that a
// webhook would have to convert are problems. The next call continues a migration that the
// end of ctx interrupted. Errors: store.ErrLocked when a server uses the directory, and
// those of the store.
func MigrateStore(ctx context.Context, c Config, report func(operate.Step)) error {
	c.setDefaults()
	cipher, err := encryption.Read(c.EncryptionConfigFile, catalog.ResourceOfKey)
	if err != nil {
		return err
	}
	defer cipher.Close()
	groups, err := c.allGroups(func(string) bool { return false })
	if err != nil {
		return err
	}
	snapshot := catalog.New(groups, &metav1.Table).Snapshot()
	custom := func(ctx context.Context, s store.Store) (stored.Kinds, error) {
		if c.Builtin == nil {
			return stored.Kinds{}, nil
		}
		return c.Builtin.CustomKinds(ctx, snapshot, s)
	}
	return operate.MigrateStore(ctx, c.DataDir, cipher, stored.NewKinds(snapshot), custom, report)
}

// addAgentFlags defines the flags of connections to nodes and pods.
func (c *Config) addAgentFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.KubeletClientCertFile, "kubelet-client-certificate", c.KubeletClientCertFile, "client certificate by which the agents of nodes know this server, PEM")
	fs.StringVar(&c.KubeletClientKeyFile, "kubelet-client-key", c.KubeletClientKeyFile, "private key of --kubelet-client-certificate, PEM")
	fs.StringVar(&c.KubeletCAFile, "kubelet-certificate-authority", c.KubeletCAFile, "authorities of the certificates of the agents of nodes, PEM (default: they are not verified)")
	fs.StringSliceVar(&c.KubeletPreferredAddressTypes, "kubelet-preferred-address-types", c.KubeletPreferredAddressTypes, "types of the addresses of nodes by which their agents are reached, the best first")
	fs.BoolVar(&c.ConnectToLocalAddresses, "connect-to-local-addresses", c.ConnectToLocalAddresses, "connect to nodes, pods and services at loopback, link-local and metadata addresses too, for clusters on one machine")
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

// addExtensionFlags defines the flags of extension servers, and of the proxies that
// authenticate users in front of this server, as it does in front of extension servers.
func (c *Config) addExtensionFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.RequestHeaderClientCAFile, "requestheader-client-ca-file", c.RequestHeaderClientCAFile, "authorities of proxies that authenticate users, PEM; published for extension servers too")
	fs.StringSliceVar(&c.RequestHeaderAllowedNames, "requestheader-allowed-names", c.RequestHeaderAllowedNames, "common names that such a proxy may have (default: any)")
	fs.StringSliceVar(&c.RequestHeaderUsernameHeaders, "requestheader-username-headers", c.RequestHeaderUsernameHeaders, "headers in which it names the user")
	fs.StringSliceVar(&c.RequestHeaderGroupHeaders, "requestheader-group-headers", c.RequestHeaderGroupHeaders, "headers in which it names the user's groups")
	fs.StringSliceVar(&c.RequestHeaderExtraHeadersPrefix, "requestheader-extra-headers-prefix", c.RequestHeaderExtraHeadersPrefix, "beginnings of headers in which it gives further attributes of the user")
	fs.StringVar(&c.ProxyClientCertFile, "proxy-client-cert-file", c.ProxyClientCertFile, "client certificate by which extension servers know this server, PEM; made by the server when neither it nor --requestheader-client-ca-file is given")
	fs.StringVar(&c.ProxyClientKeyFile, "proxy-client-key-file", c.ProxyClientKeyFile, "private key of --proxy-client-cert-file, PEM")
	fs.BoolVar(&c.EnableAggregatorRouting, "enable-aggregator-routing", c.EnableAggregatorRouting, "connect to services by their ready endpoints rather than by their cluster addresses")
	fs.Var((*negated)(&c.ForwardExtensionRedirects), "aggregator-reject-forwarding-redirect", "refuse redirects of extension servers rather than sending them to the client; none is followed")
	fs.Lookup("aggregator-reject-forwarding-redirect").NoOptDefVal = "true"
}
