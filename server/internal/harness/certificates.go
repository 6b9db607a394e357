package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

// Signings is the collection of certificate signing requests.
const Signings = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// Signing is a certificate signing request for a member of a group.
func Signing(t *testing.T, name, signer, group string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x", Organization: []string{group}}}, key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"signerName": signer,
		"usages": []string{"client auth"}, "request": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Certificates are those of another server: its client certificate as a proxy, and a
// serving certificate for some names.
func Certificates(t *testing.T, names ...string) *pki.Credentials {
	t.Helper()
	keys, err := pki.Open(pki.Config{}, pki.Site{Names: names, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return keys.Credentials()
}

// File writes a file of the test.
func File(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// As is the harness with a client certificate, and without a token where the header
// Authorization is set to nothing.
func (h *Server) As(cert, key []byte) *Server {
	h.T.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		h.T.Fatal(err)
	}
	return h.Presenting(pair)
}

// Presenting is the harness with a client certificate that it presents whatever
// authorities the server asks for.
func (h *Server) Presenting(pair tls.Certificate) *Server {
	other := *h
	transport := h.HTTP.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	h.T.Cleanup(transport.CloseIdleConnections)
	other.HTTP = &http.Client{Transport: transport, Timeout: h.HTTP.Timeout}
	return &other
}

// ToJSON is a value as JSON.
func ToJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// NewAuthority writes the files of an authority that servers do not trust.
func NewAuthority(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "given"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return File(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), File(t, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
}
