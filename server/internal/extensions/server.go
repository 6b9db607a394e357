package extensions

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/outbound"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// server is an extension server of a group version. It never changes; the way to it
// outlives changes that do not concern its destination.
type server struct {
	*service
	way *way
}

// with is the server after its API service has changed; s is nil for a new one.
func (s *server) with(now *service) *server {
	if s != nil && s.at.equal(now.at) {
		return &server{now, s.way}
	}
	unverified := *now.at
	unverified.insecure = true
	w := &way{lane: lane{destination: now.at}, checks: lane{destination: &unverified}}
	w.places.Set(requestsAtOnce)
	return &server{now, w}
}

// requestsAtOnce bounds the requests that wait for one server, long-running ones and those
// of administrators not counted: a server that stalls keeps no others from being served.
const requestsAtOnce = 200

// way is the connections to an extension server, and what is known of it.
type way struct {
	lane           // of requests
	checks    lane // of the checks, which do not verify the server's certificate
	places    request.Pool
	documents atomic.Pointer[documents]
	stale     atomic.Bool
	notes
}

// close ends connections that are not in use.
func (w *way) close() {
	w.lane.close()
	w.checks.close()
}

// lane is connections to a server.
type lane struct {
	*destination
	mu     ranks.Mutex[ranks.Inner]
	made   *transports
	closed bool
}

// transports are connections with one client certificate. Whoever has sent a request calls
// ended.
type transports struct {
	*outbound.Transports // nil with an error
	certificate          *tls.Certificate
	err                  error        // the reason why there are none
	users                atomic.Int64 // requests that have begun and not ended
	retired              atomic.Bool  // connections are closed with the last of them
}

// transports are those with the present client certificate. A request that is late, for a
// server that is gone, has connections of its own.
func (l *lane) transports(certificate *tls.Certificate) *transports {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		own := newTransports(l.destination, certificate)
		own.users.Store(1)
		own.retired.Store(true)
		return own
	}
	if l.made == nil || l.made.certificate != certificate {
		if l.made != nil {
			l.made.retire()
		}
		l.made = newTransports(l.destination, certificate)
	}
	l.made.users.Add(1)
	return l.made
}

// close ends the connections, those in use when their requests end.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.made != nil {
		l.made.retire()
	}
}

// retire lets nobody else begin.
func (t *transports) retire() {
	t.retired.Store(true)
	t.closeUnused()
}

// ended notes that the answer to a request has been read, or given up.
func (t *transports) ended() {
	t.users.Add(-1)
	t.closeUnused()
}

// closeUnused closes retired connections that nobody uses any more.
func (t *transports) closeUnused() {
	if t.retired.Load() && t.users.Load() == 0 && t.Transports != nil {
		t.Close()
	}
}

func newTransports(to *destination, certificate *tls.Certificate) *transports {
	t := &transports{certificate: certificate}
	config := &tls.Config{ServerName: to.name + "." + to.namespace + ".svc", InsecureSkipVerify: to.insecure, MinVersion: tls.VersionTLS12} //nolint:gosec // as the API service says
	if len(to.authorities) > 0 && !to.insecure {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(to.authorities) {
			t.err = errors.New("unable to load root certificates: unable to parse bytes as PEM block")
			return t
		}
	}
	if certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	t.Transports = outbound.NewTransports(config, outbound.Dialer().DialContext)
	return t
}
