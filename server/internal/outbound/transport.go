package outbound

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/dialed"
)

// Transports are connections to other servers. Answers are neither decompressed nor
// followed.
type Transports struct {
	Requests *http.Transport // HTTP/2 where the server has it; nil with Err
	Upgrades *http.Transport // HTTP/1.1, which can change to another protocol; nil with Err
	Err      error           // the reason why there are no connections

	conns dialed.Conns
}

// End notes that the answer to a request has been read, or given up, see Lane.Begin.
func (t *Transports) End() { t.conns.End() }

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
func NewTransports(config *tls.Config, dial dialed.Func) *Transports {
	t := &Transports{}
	dial = t.conns.Keep(dial)
	t.Requests, t.Upgrades = newTransport(config, dial), newTransport(config, dial)
	t.Upgrades.ForceAttemptHTTP2, t.Upgrades.DisableKeepAlives = false, true
	t.Upgrades.Protocols = new(http.Protocols)
	t.Upgrades.Protocols.SetHTTP1(true)
	return t
}

func newTransport(config *tls.Config, dial dialed.Func) *http.Transport {
	return &http.Transport{DialContext: dial, TLSClientConfig: config.Clone(), TLSHandshakeTimeout: handshakeTime,
		ForceAttemptHTTP2: true, DisableCompression: true, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: idleConnections, MaxResponseHeaderBytes: responseHeadSize,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingAnswer}}
}
