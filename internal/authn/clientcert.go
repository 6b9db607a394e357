package authn

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
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
	CertContent
	roots *x509.CertPool
	now   func() time.Time

	mu       ranks.RWMutex[ranks.Leaf]
	verified map[*x509.Certificate]verified
}

// CertContent says what later releases than 1.25 read of a certificate besides names.
type CertContent struct {
	// CredentialIDs has users with the hash of their certificate as an extra value.
	CredentialIDs bool
	// UIDs has users with the uid that their certificate names.
	UIDs bool
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
		user := &User{Name: name, Groups: leaf.Subject.Organization}
		if c.CredentialIDs {
			sum := sha256.Sum256(leaf.Raw)
			user.Extra = map[string][]string{CredentialExtra: {"X509SHA256=" + hex.EncodeToString(sum[:])}}
		}
		if c.UIDs {
			if user.UID, err = uidOf(leaf); err != nil {
				return verified{}, err
			}
		}
		v.identity = Known(user)
	}
	return v, nil
}

// uidOf is the uid of the user in the subject of a certificate, "" for none.
func uidOf(cert *x509.Certificate) (string, error) {
	var uids []string
	for _, part := range cert.Subject.Names {
		if part.Type.String() != uidName {
			continue
		}
		uid, ok := part.Value.(string)
		if !ok || uid == "" {
			return "", errors.New("the uid in its subject is not a text, or empty")
		}
		uids = append(uids, uid)
	}
	switch len(uids) {
	case 0:
		return "", nil
	case 1:
		return uids[0], nil
	}
	return "", fmt.Errorf("its subject has %d uids; name one", len(uids))
}

// uidName is the type of the part of a subject that is the uid of a user.
const uidName = "1.3.6.1.4.1.57683.2"
