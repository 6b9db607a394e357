// Package client talks to an API server. It is generic: the typed client of gen/client is
// rows over it, and a custom kind needs only its struct.
package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Config describes the connection to a server.
type Config struct {
	// Host is the server's base URL, "https://127.0.0.1:6443".
	Host string
	// BearerToken is sent with every request; "" for none.
	BearerToken string
	// TLS holds the trusted authorities and the client's certificate; nil for
	// those of the system. It is not used together with Transport.
	TLS *tls.Config
	// Transport sends requests; nil for one that the client makes.
	Transport http.RoundTripper
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
	case c.BearerToken != "" && u.Scheme == "http" && !isLoopback(u.Hostname()):
		return fmt.Errorf("client configuration: host %q: use https, or the token can be read on the way", c.Host)
	case c.TLS != nil && c.Transport != nil:
		return errors.New("client configuration: set TLS or Transport, not both")
	}
	return nil
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// REST sends requests to one server. It is safe for concurrent use.
type REST struct {
	base      *url.URL
	token     string
	userAgent string
	http      *http.Client
}

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
	transport := c.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = c.TLS
		t.ForceAttemptHTTP2 = true
		transport = t
	}
	agent := c.UserAgent
	if agent == "" {
		agent = "capstan-client"
	}
	return &REST{base: base, token: c.BearerToken, userAgent: agent, http: &http.Client{Transport: transport}}, nil
}
