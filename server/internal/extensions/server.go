package extensions

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"

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
	w := &way{requests: outbound.NewLane(now.at.connect), checks: outbound.NewLane(unverified.connect)}
	w.places.Set(requestsAtOnce)
	return &server{now, w}
}

// requestsAtOnce bounds the requests that wait for one server, long-running ones and those
// of administrators not counted: a server that stalls keeps no others from being served.
const requestsAtOnce = 200

// way is the connections to an extension server, and what is known of it.
type way struct {
	requests  *outbound.Lane[*tls.Certificate]
	checks    *outbound.Lane[*tls.Certificate] // does not verify the server's certificate
	places    request.Pool
	documents atomic.Pointer[documents]
	stale     atomic.Bool
	notes
}

// close ends the connections, those in use when their requests end.
func (w *way) close() {
	w.requests.Close()
	w.checks.Close()
}

// connect makes transports to the server, with a client certificate, nil for none.
func (d *destination) connect(certificate *tls.Certificate) *outbound.Transports {
	config := &tls.Config{ServerName: d.name + "." + d.namespace + ".svc", InsecureSkipVerify: d.insecure,
		MinVersion: tls.VersionTLS12} //nolint:gosec // as the API service says
	if len(d.authorities) > 0 && !d.insecure {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(d.authorities) {
			return &outbound.Transports{Err: errors.New("unable to load root certificates: unable to parse bytes as PEM block")}
		}
	}
	if certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	return outbound.NewTransports(config, outbound.Dialer().DialContext)
}
