package serve_test

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// offered are the handshakes that a server accepts, one try for each version, suite of
// TLS 1.2, curve and application protocol.
func offered(h *harness.Server) (all []string) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(h.Running.CA())
	try := func(name string, c *tls.Config) {
		c.RootCAs = pool
		conn, err := tls.Dial("tcp", strings.TrimPrefix(h.Running.URL(), "https://"), c)
		if err != nil {
			return
		}
		if protocol := conn.ConnectionState().NegotiatedProtocol; protocol != "" {
			name += " " + protocol
		}
		all = append(all, name)
		_ = conn.Close()
	}
	for _, v := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		try(tls.VersionName(v), &tls.Config{MinVersion: v, MaxVersion: v})
	}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS12) {
			try(s.Name, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{s.ID}})
		}
	}
	for _, c := range []tls.CurveID{tls.CurveP256, tls.CurveP384, tls.CurveP521, tls.X25519, tls.X25519MLKEM768} {
		try(c.String(), &tls.Config{CurvePreferences: []tls.CurveID{c}})
	}
	for _, p := range [][]string{{"h2", "http/1.1"}, {"http/1.1"}, {"spdy/3.1"}} {
		try("ALPN", &tls.Config{NextProtos: p})
	}
	return all
}

func TestWhatTLSOffers(t *testing.T) {
	const curves = ", CurveP256, CurveP384, CurveP521, X25519, X25519MLKEM768, ALPN h2, ALPN http/1.1"
	for name, c := range map[string]struct {
		change func(*server.Config)
		want   string
	}{
		"default":  {func(*server.Config) {}, "TLS 1.2, TLS 1.3, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" + curves},
		"only 1.3": {func(c *server.Config) { c.TLSMinVersion = "VersionTLS13" }, "TLS 1.3" + curves},
		"one suite": {func(c *server.Config) {
			c.TLSCipherSuites = []string{"TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}
		}, "TLS 1.2, TLS 1.3, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" + curves},
	} {
		if got := strings.Join(offered(harness.Start(t, c.change)), ", "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}
