package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates for an etcd and its clients.
type Authority struct {
	File string // its own certificate, PEM
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority with files that end with the test.
func NewAuthority(t testing.TB) *Authority {
	a := &Authority{cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of etcd"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}}
	a.File, _, a.key = a.issue(t, a.cert)
	return a
}

// Issue makes the files of a certificate and its key, for a user and addresses.
func (a *Authority) Issue(t testing.TB, user string, addresses ...net.IP) (cert, key string) {
	cert, key, _ = a.issue(t, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: user}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: addresses, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}})
	return cert, key
}

func (a *Authority) issue(t testing.TB, template *x509.Certificate) (cert, key string, private *ecdsa.PrivateKey) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", secret), private
}
