package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Transports are connections to other servers. Answers are neither decompressed nor
// followed.
//
// Invariant: open has every connection that was dialed and is not closed; after Close there
// are none, and none is dialed.
type Transports struct {
	Requests *http.Transport // HTTP/2 where the server has it
	Upgrades *http.Transport // HTTP/1.1, which can change to another protocol

	mu     ranks.Mutex[ranks.Leaf]
	open   map[*dialed]bool
	closed bool
}

// dialed is a connection of Transports.
type dialed struct {
	net.Conn
	of *Transports
}

// Close implements net.Conn.
func (d *dialed) Close() error {
	d.of.mu.Lock()
	delete(d.of.open, d)
	d.of.mu.Unlock()
	return d.Conn.Close()
}

// errClosed refuses connections of closed Transports.
var errClosed = errors.New("the connections to this server have been closed")

// keep makes a dial function note its connections.
func (t *Transports) keep(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		d := &dialed{conn, t}
		t.mu.Lock()
		late := t.closed
		if !late {
			t.open[d] = true
		}
		t.mu.Unlock()
		if late {
			_ = conn.Close()
			return nil, errClosed
		}
		return d, nil
	}
}

// Close closes all connections, also those in use and those that are being dialed. Net/http
// alone would keep a connection that comes to rest a moment later.
func (t *Transports) Close() {
	t.mu.Lock()
	t.closed = true
	open := t.open
	t.open = nil
	t.mu.Unlock()
	for d := range open {
		_ = d.Conn.Close()
	}
	t.CloseIdle()
}

// The bounds of connections to other servers.
const (
	dialTime         = 10 * time.Second
	handshakeTime    = 10 * time.Second
	idleTime         = 90 * time.Second
	pingTime         = 30 * time.Second // of silence, until the server is asked whether it lives
	pingAnswer       = 15 * time.Second
	idleConnections  = 25
	responseHeadSize = 1 << 20
)

// Dialer returns one for connections to other servers.
func Dialer() *net.Dialer { return &net.Dialer{Timeout: dialTime, KeepAlive: pingTime} }

// NewTransports makes connections with a configuration of TLS.
func NewTransports(config *tls.Config, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Transports {
	t := &Transports{open: map[*dialed]bool{}}
	dial = t.keep(dial)
	t.Requests, t.Upgrades = newTransport(config, dial), newTransport(config, dial)
	t.Upgrades.ForceAttemptHTTP2, t.Upgrades.DisableKeepAlives = false, true
	t.Upgrades.Protocols = new(http.Protocols)
	t.Upgrades.Protocols.SetHTTP1(true)
	return t
}

func newTransport(config *tls.Config, dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{DialContext: dial, TLSClientConfig: config.Clone(), TLSHandshakeTimeout: handshakeTime,
		ForceAttemptHTTP2: true, DisableCompression: true, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: idleConnections, MaxResponseHeaderBytes: responseHeadSize,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingAnswer}}
}

// CloseIdle closes the connections that are not in use.
func (t *Transports) CloseIdle() {
	t.Requests.CloseIdleConnections()
	t.Upgrades.CloseIdleConnections()
}
