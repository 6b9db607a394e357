package authn

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// maxVerified bounds the certificates whose verification is cached. It is far above the
// clients of one server; a full cache is cleared.
const maxVerified = 1024

// ClientCerts authenticates requests by the client certificate of their
// connection: the common name is the user, each organization a group.
//
// Verifying a chain takes about 150 µs and a lookup 30 ns (BenchmarkClientCert),
// so the outcome is remembered for as long as the chain is valid.
//
// Invariants:
//
//	V1. Only verified chains are remembered, under the certificate as the connection
//	    holds it (crypto/tls gives all requests of a connection the same pointer). The
//	    entry keeps the certificate alive, so another one can never get its address.
//	V2. No entry is used after the first certificate of its chain has expired.
type ClientCerts struct {
	roots *x509.CertPool
	now   func() time.Time

	mu       ranks.RWMutex[ranks.Leaf]
	verified map[*x509.Certificate]verified
}

type verified struct {
	identity *Identity // nil: valid, but without a user
	until    time.Time
}

// ClientCert returns the authenticator of certificates that lead to roots (nil for none)
// and may be used by clients. now is the time of day.
func ClientCert(roots *x509.CertPool, now func() time.Time) *ClientCerts {
	if roots == nil {
		roots = x509.NewCertPool() // a nil pool would mean the machine's roots
	}
	return &ClientCerts{roots: roots, now: now, verified: map[*x509.Certificate]verified{}}
}

// Authenticate returns the identity that the request's certificate names, nil for a request
// without one or a certificate without common name, and an error for an invalid
// certificate.
func (c *ClientCerts) Authenticate(r *http.Request) (*Identity, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	leaf, now := r.TLS.PeerCertificates[0], c.now()
	c.mu.RLock()
	v, ok := c.verified[leaf]
	c.mu.RUnlock()
	if ok && !now.After(v.until) {
		return v.identity, nil
	}

	v, err := c.verify(r.TLS.PeerCertificates, now)
	if err != nil {
		return nil, fmt.Errorf("client certificate %q (serial %s, issued by %q): %w", leaf.Subject, leaf.SerialNumber, leaf.Issuer, err)
	}
	c.mu.Lock()
	if len(c.verified) >= maxVerified {
		clear(c.verified)
	}
	c.verified[leaf] = v
	c.mu.Unlock()
	return v.identity, nil
}

func (c *ClientCerts) verify(certs []*x509.Certificate, now time.Time) (verified, error) {
	leaf := certs[0]
	options := x509.VerifyOptions{Roots: c.roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if len(certs) > 1 {
		options.Intermediates = x509.NewCertPool()
		for _, intermediate := range certs[1:] {
			options.Intermediates.AddCert(intermediate)
		}
	}
	chains, err := leaf.Verify(options)
	if err != nil {
		return verified{}, err
	}
	v := verified{until: leaf.NotAfter}
	for _, cert := range chains[0] {
		if cert.NotAfter.Before(v.until) {
			v.until = cert.NotAfter
		}
	}
	if name := leaf.Subject.CommonName; name != "" {
		v.identity = Known(&User{Name: name, Groups: leaf.Subject.Organization})
	}
	return v, nil
}
