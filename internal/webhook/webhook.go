// Package webhook calls webhooks over HTTPS: a body of bytes goes out, the body of the
// answer comes back. The content of both, and the decision about a failure, are the
// caller's.
package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/dialed"
	"github.com/capstan-dev/capstan/internal/document"
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

// TargetOf reads a member clientConfig of the formats of the API. The target keeps nothing of the document.
func TargetOf(config document.Value) Target {
	bundle, _ := base64.StdEncoding.DecodeString(config.Get("caBundle").Text()) // it is of the format byte
	t := Target{URL: strings.Clone(config.Get("url").Text()), CABundle: bundle}
	if s := config.Get("service"); s.Kind() == document.Object {
		port, _ := s.Get("port").Int()
		t.Service = &Service{Namespace: strings.Clone(s.Get("namespace").Text()), Name: strings.Clone(s.Get("name").Text()), Port: int32(port),
			Path: strings.Clone(s.Get("path").Text())}
	}
	return t
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
	mostDials       = 8 // for one call, whose connections end before it has an answer
	idleFor         = 90 * time.Second
	dialFor         = 10 * time.Second
	pingAfter       = 10 * time.Second // of silence of an HTTP/2 connection, which may be dead
	pingFor         = 5 * time.Second
	mostHeaders     = 64 << 10  // bytes of an answer's headers
	streamWindow    = 256 << 10 // bytes of an answer that wait for their reader
)

// Client calls one webhook, over connections that it keeps. It is safe for concurrent
// use.
//
// Invariant: no redirect is followed, and nothing of a body is logged.
type Client struct {
	address string            // without a query
	as      *Credentials      // nil for none
	send    http.RoundTripper // with credentials of a program
	conns   dialed.Conns
}

// New makes a client; it does not connect. resolver is for services.
func New(target Target, resolver Resolver) (*Client, error) {
	at, err := target.address()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: target.ServerName, InsecureSkipVerify: target.Insecure,
		DynamicRecordSizingDisabled: true} // a body in one record, and one system call
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
	transport := &http.Transport{
		TLSClientConfig:     config,
		TLSHandshakeTimeout: dialFor,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingFor, WriteByteTimeout: pingAfter,
			MaxReceiveBufferPerStream: streamWindow},
		MaxResponseHeaderBytes: mostHeaders,
		MaxConnsPerHost:        mostConnections,
		MaxIdleConnsPerHost:    mostIdle,
		IdleConnTimeout:        idleFor,
		DisableCompression:     true, // the bound of an answer is that of its text
	}
	dial := counted((&net.Dialer{Timeout: dialFor}).DialContext)
	if s := target.Service; s != nil {
		config.ServerName = at.Hostname()
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			address, err := resolver.Resolve(ctx, s.Namespace, s.Name, s.port())
			if err != nil {
				return nil, err
			}
			return dial(ctx, network, address)
		}
	} else {
		transport.Proxy = http.ProxyFromEnvironment
		transport.DialContext = dial
	}
	c.conns.Carry(transport)
	c.send = &c.conns
	if target.Credentials.byProgram() {
		if c.send, err = target.Credentials.exec.Transport(transport); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// dials is the key of the number of connections that a call has had made, in its context.
type dials struct{}

// counted is dial, but for a call that has had too many connections made: http.Transport
// would make further ones without a pause.
func counted(dial dialed.Func) dialed.Func {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if made, ok := ctx.Value(dials{}).(*atomic.Int32); ok && made.Add(1) > mostDials {
			return nil, errors.New("the webhook ends its connections before it answers")
		}
		return dial(ctx, network, address)
	}
}

// Close closes the connections: now, or at the end of the calls that are under way. Further
// calls are possible; each closes its connection.
func (c *Client) Close() { c.conns.Retire() }

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
