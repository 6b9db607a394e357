package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// signer signs certificates of a test; nil for themselves.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign makes a certificate that names a member of system:masters, changed.
func (s *signer) sign(t *testing.T, change func(*x509.Certificate)) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "mallory", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if change != nil {
		change(c)
	}
	parent, by := c, key
	if s != nil {
		parent, by = s.cert, s.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &signer{c, key}
}

// chain is the certificate with those above it, PEM.
func chain(certs ...*signer) (text []byte) {
	for _, c := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})...)
	}
	return text
}

// TestHostileCertificates: a certificate that is not one of a client of the trusted
// authority is refused, and one without a name is nobody's, whatever groups it names.
func TestHostileCertificates(t *testing.T) {
	var self *signer
	authority := func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	}
	root, other := self.sign(t, authority), self.sign(t, authority)
	middle, late := root.sign(t, authority), root.sign(t, func(c *x509.Certificate) { authority(c); c.NotAfter = time.Now().Add(-time.Minute) })
	leaf := root.sign(t, nil)
	h := harness.Start(t, func(c *server.Config) { c.ClientCAFile = harness.File(t, chain(root)) })
	usage := func(u ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtKeyUsage = u }
	}
	for _, c := range []struct {
		name  string
		certs []*signer
		code  int
		text  string
	}{
		{"good", []*signer{leaf}, 200, ""},
		{"by an intermediate", []*signer{middle.sign(t, nil), middle}, 200, ""},
		{"empty name", []*signer{root.sign(t, func(c *x509.Certificate) { c.Subject.CommonName = "" })}, 403, `User \"system:anonymous\"`},
		{"no subject", []*signer{root.sign(t, func(c *x509.Certificate) { c.Subject = pkix.Name{}; c.DNSNames = []string{"mallory"} })}, 403, `User \"system:anonymous\"`},
		{"expired", []*signer{root.sign(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })}, 401, ""},
		{"not yet", []*signer{root.sign(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })}, 401, ""},
		{"by an expired intermediate", []*signer{late.sign(t, nil), late}, 401, ""},
		{"for servers", []*signer{root.sign(t, usage(x509.ExtKeyUsageServerAuth))}, 401, ""},
		{"for signing code", []*signer{root.sign(t, usage(x509.ExtKeyUsageCodeSigning, x509.ExtKeyUsageEmailProtection))}, 401, ""},
		{"unknown authority", []*signer{other.sign(t, nil)}, 401, ""},
		{"unknown authority, sent along", []*signer{other.sign(t, nil), other}, 401, ""},
		{"unknown authority, with ours", []*signer{other.sign(t, nil), root}, 401, ""},
		{"signed by itself", []*signer{self.sign(t, nil)}, 401, ""},
		{"signed by a client", []*signer{leaf.sign(t, nil), leaf}, 401, ""},
	} {
		der, err := x509.MarshalPKCS8PrivateKey(c.certs[0].key)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(chain(c.certs...), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		if err != nil {
			t.Fatal(err)
		}
		got := h.Presenting(pair).Send("GET", harness.ConfigMaps, "", nil, "Authorization", "")
		if got.Code != c.code || !strings.Contains(string(got.Body), c.text) {
			t.Errorf("%s: %d %s, want %d", c.name, got.Code, got.Body, c.code)
		}
		got = h.Presenting(pair).Send("GET", harness.ConfigMaps, "", nil)
		if got.Code != 200 {
			t.Errorf("%s, with a good token: %d %s", c.name, got.Code, got.Body)
		}
	}
}

// TestWrongPoliciesRefuseStart: a mistake in a file of policies is an error with its place.
func TestWrongPoliciesRefuseStart(t *testing.T) {
	abac := harness.File(t, []byte("{\"user\":\"ann\"}\n\n# a comment\n{\"user\":\"bob\",\"verb\":\"get\"}\n"))
	plugins := harness.File(t, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: PodSecurity\n  configuration:\n    level: strict\n"))
	for want, change := range map[string]func(*server.Config){
		abac + ", line 4: ": func(c *server.Config) {
			c.AuthorizationModes, c.AuthorizationPolicyFile = []string{"ABAC"}, abac
		},
		filepath.Base(plugins) + ":": func(c *server.Config) { c.AdmissionControlConfigFile = plugins },
		"no such file": func(c *server.Config) {
			c.AuthorizationModes, c.AuthorizationPolicyFile = []string{"ABAC"}, "/nowhere/policy"
		},
	} {
		cfg := server.Config{InMemory: true}
		change(&cfg)
		s, err := server.Start(t.Context(), cfg)
		if err == nil {
			_ = s.Shutdown(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
