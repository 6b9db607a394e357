package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config describes the connection to a server, and the credentials of its client. Of
// several credentials a token goes before a program; a name with a password cannot be
// together with a token. LoadKubeconfig makes one.
type Config struct {
	// Host is the server's base URL, "https://127.0.0.1:6443".
	Host string
	// BearerToken is sent with every request; "" for none.
	BearerToken string
	// BearerTokenFile holds the token; it is read again each minute. While it cannot be read
	// BearerToken counts.
	BearerTokenFile string
	// Username and Password are for basic authentication; "" for none.
	Username, Password string
	// CertificateFile and KeyFile hold the client's certificate and its key, PEM. They are
	// read again each minute; another certificate closes all connections.
	CertificateFile, KeyFile string
	// Exec makes the credentials, unless there are others; nil for none.
	Exec *Exec
	// Impersonate is the user as whom requests are made.
	Impersonate Impersonate
	// Proxy is the proxy of a request; nil for those of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// DisableCompression asks for answers that are not compressed.
	DisableCompression bool
	// TLS holds the trusted authorities and the client's certificate; nil for
	// those of the system. It is not used together with Transport.
	TLS *tls.Config
	// Transport sends requests; nil for one that the client makes.
	Transport http.RoundTripper
	// Retries is how often a request is sent again that the server puts off (429, 503 and,
	// for reads, other failures with a Retry-After header); 0 for 10, negative for never.
	Retries int
	// UserAgent is the client's name in requests; "" for "capstan-client".
	UserAgent string
}

// Validate reports mistakes in the configuration.
func (c Config) Validate() error {
	u, err := url.Parse(c.Host)
	if err != nil {
		return fmt.Errorf("client configuration: host: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("client configuration: host %q: want a URL like https://127.0.0.1:6443", c.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("client configuration: host %q: want a URL without query and fragment", c.Host)
	case (c.BearerToken != "" || c.BearerTokenFile != "" || c.Password != "" || c.Exec != nil) && u.Scheme == "http" && !isLoopback(u.Hostname()):
		return fmt.Errorf("client configuration: host %q: use https, or the credentials can be read on the way", c.Host)
	case c.TLS != nil && c.Transport != nil:
		return errors.New("client configuration: set TLS or Transport, not both")
	case c.Transport != nil && (c.CertificateFile != "" || c.Proxy != nil || c.DisableCompression):
		return errors.New("client configuration: certificates, proxies and compression are those of Transport; leave them out")
	case c.Username != "" && (c.BearerToken != "" || c.BearerTokenFile != ""):
		return errors.New("client configuration: set a name with a password, or a token, not both")
	case (c.CertificateFile == "") != (c.KeyFile == ""):
		return errors.New("client configuration: a certificate needs its key, and a key its certificate")
	case c.Impersonate.User == "" && (c.Impersonate.UID != "" || len(c.Impersonate.Groups) > 0 || len(c.Impersonate.Extra) > 0):
		return errors.New("client configuration: impersonation needs the name of a user")
	case c.Exec != nil:
		if err := c.Exec.Validate(); err != nil {
			return fmt.Errorf("client configuration: %w", err)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// REST sends requests to one server. It is safe for concurrent use.
type REST struct {
	base      *url.URL
	login     *login
	userAgent string
	retries   int
	http      *http.Client
}

// pings notice a dead connection of HTTP/2, on which a watch would wait for ever.
const (
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// NewREST returns a REST for the server, or the mistakes in the configuration. It does
// not connect.
func NewREST(c Config) (*REST, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimSuffix(c.Host, "/"))
	if err != nil {
		return nil, err
	}
	as := newLogin(&c)
	transport := c.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ForceAttemptHTTP2, t.DisableCompression = true, c.DisableCompression
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
		if c.Proxy != nil {
			t.Proxy = c.Proxy
		}
		if t.TLSClientConfig = c.TLS.Clone(); c.CertificateFile != "" || c.usesExec() {
			if t.TLSClientConfig == nil {
				t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
			}
			t.TLSClientConfig.GetClientCertificate = as.certificate
		}
		as.conns.Carry(t)
		transport = &as.conns
	}
	agent := c.UserAgent
	if agent == "" {
		agent = "capstan-client"
	}
	retries := c.Retries
	if retries == 0 {
		retries = mostRetries
	}
	return &REST{base: base, login: as, userAgent: agent, retries: retries, http: &http.Client{Transport: transport}}, nil
}

// Close closes the connections that no request uses, and the others after the last request;
// of a Transport of the configuration, only the idle ones.
func (c *REST) Close() {
	c.http.CloseIdleConnections()
	c.login.conns.Retire()
}
