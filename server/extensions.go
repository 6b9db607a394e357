package server

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/server/internal/extensions"
)

// openExtensions follows the API services of extension servers.
func (s *Server) openExtensions(ctx context.Context) (err error) {
	s.extensions, err = extensions.Open(ctx, extensions.Config{Log: s.log, Store: s.store, Catalog: s.catalog, Objects: s.objects, Backends: s.backends, Sweeper: s.sweeper,
		Certificate: func() *tls.Certificate { return s.keys.Credentials().FrontProxy() }, Proxied: s.keys.UntrustedHeaders(), ForwardRedirects: s.cfg.ForwardExtensionRedirects,
		Stopping: s.stopping, Times: s.cfg.durations.ExtensionServers})
	return err
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
