// Package webhook calls webhooks over HTTPS: a body of bytes goes out, the body of the
// answer comes back. The content of both, and the decision about a failure, are the
// caller's.
package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Resolver finds the servers behind services.
type Resolver interface {
	// Resolve returns the address, host and port, of a server behind the port of a
	// service.
	Resolve(ctx context.Context, namespace, name string, port int32) (address string, err error)
}

// Target is the place of a webhook: a URL or a service.
type Target struct {
	URL      string   // with the scheme https
	Plain    bool     // the scheme http is accepted too
	Service  *Service // nil with a URL
	CABundle []byte   // certificates in PEM; with none the system's authorities count

	ServerName  string // in the server's certificate; "" for that of the address
	Insecure    bool   // the server's certificate is not verified
	Credentials *Credentials
}

// Service is a port of a service of the cluster.
type Service struct {
	Namespace, Name string
	Port            int32  // 0 for 443
	Path            string // of the URL, may be empty
}

// Bounds of the connections of one client.
const (
	mostConnections = 32 // at once; over HTTP/2 one carries many calls
	mostIdle        = 4
	idleFor         = 90 * time.Second
	dialFor         = 10 * time.Second
)

// Client calls one webhook, over connections that it keeps. It is safe for concurrent
// use.
//
// Invariant: no redirect is followed, and nothing of a body is logged.
type Client struct {
	address   string       // without a query
	as        *Credentials // nil for none
	transport *http.Transport
	send      http.RoundTripper // the transport, with credentials of a program
	calls     atomic.Int64
	closed    atomic.Bool

	mu    ranks.Mutex[ranks.Derived]
	conns []*multiplex // those of HTTP/2 that have not ended
}

// New makes a client; it does not connect. resolver is for services.
func New(target Target, resolver Resolver) (*Client, error) {
	at, err := target.address()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: target.ServerName, InsecureSkipVerify: target.Insecure,
		NextProtos: []string{"h2", "http/1.1"}, DynamicRecordSizingDisabled: true} // a body in one record, and one system call
	if as := target.Credentials; as != nil && as.Certificate != nil {
		config.Certificates = []tls.Certificate{*as.Certificate}
	}
	if len(target.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(target.CABundle) {
			return nil, errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	c := &Client{address: at.String(), as: target.Credentials}
	c.transport = &http.Transport{
		TLSClientConfig:     config,
		TLSHandshakeTimeout: dialFor,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{"h2": c.multiplex},
		MaxConnsPerHost:     mostConnections,
		MaxIdleConnsPerHost: mostIdle,
		IdleConnTimeout:     idleFor,
		DisableCompression:  true, // the bound of an answer is that of its text
	}
	dialer := net.Dialer{Timeout: dialFor}
	if s := target.Service; s != nil {
		config.ServerName = at.Hostname()
		c.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			address, err := resolver.Resolve(ctx, s.Namespace, s.Name, s.port())
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, address)
		}
	} else {
		c.transport.Proxy = http.ProxyFromEnvironment
		c.transport.DialContext = dialer.DialContext
	}
	c.send = c.transport
	if target.Credentials.byProgram() {
		if c.send, err = target.Credentials.exec.Transport(c.transport); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close closes the connections: idle ones now, the others at the end of their calls.
// Further calls are possible; each closes its connection.
func (c *Client) Close() {
	c.closed.Store(true)
	c.closeIdle()
}

// closeIdle closes idle connections, and those of HTTP/2 after their last calls.
func (c *Client) closeIdle() {
	c.transport.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.conns {
		m.retire()
	}
	c.conns = nil
}

// multiplex takes a connection of HTTP/2 into use, unless calls that began at the same
// time have made one already.
func (c *Client) multiplex(_ string, conn *tls.Conn) http.RoundTripper {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.conns {
		if m.open() {
			go func() { _ = conn.Close() }() // its last record may wait for the server
			return m
		}
	}
	m := newMultiplex(conn)
	c.conns = append(slices.DeleteFunc(c.conns, (*multiplex).gone), m)
	return m
}

// done ends a call.
func (c *Client) done() {
	if c.calls.Add(-1) == 0 && c.closed.Load() {
		c.closeIdle()
	}
}

// address is the URL of the webhook. That of a service has the name by which its
// certificate is verified.
func (t *Target) address() (*url.URL, error) {
	if s := t.Service; s != nil {
		host := net.JoinHostPort(s.Name+"."+s.Namespace+".svc", strconv.Itoa(int(s.port())))
		return &url.URL{Scheme: "https", Host: host, Path: path.Join("/", s.Path)}, nil
	}
	if t.URL == "" {
		return nil, errors.New("webhook configuration must have either service or URL")
	}
	at, err := url.Parse(t.URL)
	if err != nil {
		//lint:ignore ST1005 the words of 1.25, which clients see
		return nil, fmt.Errorf("Unparsable URL: %w", err)
	}
	if at.Scheme != "https" && (at.Scheme != "http" || !t.Plain) || at.Host == "" {
		return nil, fmt.Errorf("a webhook is called over https, which %q is not", t.URL)
	}
	return &url.URL{Scheme: at.Scheme, Host: at.Host, Path: path.Join("/", at.Path)}, nil
}

func (s *Service) port() int32 {
	if s.Port == 0 {
		return 443
	}
	return s.Port
}
