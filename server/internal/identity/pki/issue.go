package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Lifetimes of certificates that the server makes. The next start replaces one that ends
// within renewBefore.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	issuedLife    = 365 * 24 * time.Hour
	renewBefore   = 30 * 24 * time.Hour
	clockSkew     = time.Hour // certificates are valid from this long before they are made
)

// certDir is a directory of certificates made by the server: NAME.crt with NAME.key, PEM.
// An empty path keeps nothing, so everything is made anew.
type certDir struct {
	path string
	now  time.Time
}

// keyPair is a certificate with its private key.
type keyPair struct {
	cert        *x509.Certificate
	key         *ecdsa.PrivateKey
	pem, keyPEM []byte
}

// authority returns an authority of the directory, with that common name. A missing or
// expiring one is made anew; an unreadable one is an error, because clients may trust it.
func (d certDir) authority(name, subject string) (*keyPair, error) {
	return findOrMake(d, "own certificate authority "+name, func() (*keyPair, error) {
		p, err := d.read(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("own certificate authority %s: %w; restore the files from a backup, or remove both and a new authority is made (clients then need the new kubeconfig)", name, err)
		}
		if err != nil || !d.lasts(p.cert) {
			return nil, fs.ErrNotExist
		}
		return p, nil
	}, func() (*keyPair, error) {
		return d.make(name, nil, &x509.Certificate{
			Subject:               pkix.Name{CommonName: subject},
			NotAfter:              d.now.Add(authorityLife),
			IsCA:                  true,
			BasicConstraintsValid: true,
			KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		})
	})
}

// issued returns the certificate with that name, signed by ca. It is made anew when it is
// missing, expiring, damaged, of another authority, or not as requested.
func (d certDir) issued(name string, ca *keyPair, request *x509.Certificate) (*keyPair, error) {
	return findOrMake(d, "certificate "+name, func() (*keyPair, error) {
		p, err := d.read(name)
		if err != nil || !d.lasts(p.cert) || p.cert.CheckSignatureFrom(ca.cert) != nil || !satisfies(p.cert, request) {
			return nil, fs.ErrNotExist
		}
		return p, nil
	}, func() (*keyPair, error) {
		request.NotAfter = d.now.Add(issuedLife)
		request.KeyUsage = x509.KeyUsageDigitalSignature
		return d.make(name, ca, request)
	})
}

// lasts reports whether a certificate is valid now and for some time.
func (d certDir) lasts(c *x509.Certificate) bool {
	return !d.now.Before(c.NotBefore) && d.now.Add(renewBefore).Before(c.NotAfter)
}

// satisfies reports whether a certificate has everything requested.
func satisfies(c, request *x509.Certificate) bool {
	if c.Subject.String() != request.Subject.String() || !slices.Equal(c.ExtKeyUsage, request.ExtKeyUsage) {
		return false
	}
	for _, name := range request.DNSNames {
		if !slices.Contains(c.DNSNames, name) {
			return false
		}
	}
	for _, ip := range request.IPAddresses {
		if !slices.ContainsFunc(c.IPAddresses, ip.Equal) {
			return false
		}
	}
	return true
}

// adminRequest describes the administrator's certificate.
func adminRequest() *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: adminName, Organization: []string{authn.GroupMasters}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// servingRequest describes the serving certificate for these names and addresses.
func servingRequest(names []string) *x509.Certificate {
	r := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "capstan"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			r.IPAddresses = append(r.IPAddresses, ip)
		} else {
			r.DNSNames = append(r.DNSNames, name)
		}
	}
	return r
}

// make makes a key and a certificate for it, signed by ca (nil: by itself), and keeps
// both, under the lock. The key is written first: a certificate without its key would be taken for a
// damaged authority after a crash.
func (d certDir) make(name string, ca *keyPair, template *x509.Certificate) (*keyPair, error) {
	p, err := sign(ca, template, d.now)
	if err == nil && d.path != "" {
		if err = writePrivate(d.file(name+".key"), p.keyPEM); err == nil {
			err = writePrivate(d.file(name+".crt"), p.pem)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	return p, nil
}

// sign completes a template whose subject, purpose and end are set.
func sign(ca *keyPair, template *x509.Certificate, now time.Time) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.NotBefore = now.Add(-clockSkew) // CreateCertificate chooses a random serial number
	parent, signer := template, key
	if ca != nil {
		parent, signer = ca.cert, ca.key
		if template.NotAfter.After(parent.NotAfter) {
			template.NotAfter = parent.NotAfter
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &keyPair{cert: cert, key: key,
		pem:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})}, nil
}

// read reads the pair with that name. The error is fs.ErrNotExist when the certificate's
// file is missing.
func (d certDir) read(name string) (*keyPair, error) {
	if d.path == "" {
		return nil, fs.ErrNotExist
	}
	certPEM, err := os.ReadFile(d.file(name + ".crt"))
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(d.file(name + ".key"))
	if err != nil {
		return nil, fmt.Errorf("the key of %s: %s", d.file(name+".crt"), err) // not %w: the certificate exists
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", d.file(name+".crt"), d.file(name+".key"), err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an ECDSA key", d.file(name+".key"))
	}
	return &keyPair{cert: pair.Leaf, key: key, pem: bytes.Clone(certPEM), keyPEM: keyPEM}, nil
}

func (d certDir) file(name string) string { return filepath.Join(d.path, name) }
