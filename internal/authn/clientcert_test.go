package authn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// issuer is a certificate that can sign others.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue signs a template; a nil issuer makes it self-signed.
func (i *issuer) issue(t testing.TB, template x509.Certificate) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := &template, key
	if i != nil {
		parent, signer = i.cert, i.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{cert, key}
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func template(name string, groups []string, life time.Duration) x509.Certificate {
	return x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: groups}, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

func authority(name string, life time.Duration) x509.Certificate {
	t := template(name, nil, life)
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage, t.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	return t
}

func withCerts(list ...*issuer) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.TLS = &tls.ConnectionState{}
	for _, i := range list {
		r.TLS.PeerCertificates = append(r.TLS.PeerCertificates, i.cert)
	}
	return r
}

func TestClientCert(t *testing.T) {
	var self *issuer
	root := self.issue(t, authority("root", 24*time.Hour))
	other := self.issue(t, authority("other", 24*time.Hour))
	middle := root.issue(t, authority("middle", 2*time.Hour))
	server := template("server", nil, time.Hour)
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	early := template("early", nil, time.Hour)
	early.NotBefore = noon.Add(time.Minute)
	dev := root.issue(t, template("dev", []string{"dev", "ops"}, time.Hour))
	deep := middle.issue(t, template("deep", nil, 12*time.Hour))

	for _, c := range []struct {
		name    string
		request *http.Request
		want    *User
		err     string
	}{
		{"no TLS", httptest.NewRequest(http.MethodGet, "/", nil), nil, ""},
		{"no certificate", withCerts(), nil, ""},
		{"groups", withCerts(dev), &User{Name: "dev", Groups: []string{"dev", "ops", GroupAuthenticated}}, ""},
		{"no groups", withCerts(root.issue(t, template("plain", nil, time.Hour))), &User{Name: "plain", Groups: []string{GroupAuthenticated}}, ""},
		{"intermediate", withCerts(deep, middle), &User{Name: "deep", Groups: []string{GroupAuthenticated}}, ""},
		{"no name", withCerts(root.issue(t, template("", []string{GroupMasters}, time.Hour))), nil, ""},
		{"missing intermediate", withCerts(middle.issue(t, template("deep", nil, time.Hour))), nil, "unknown authority"},
		{"unknown authority", withCerts(other.issue(t, template("x", []string{GroupMasters}, time.Hour))), nil, "unknown authority"},
		{"own signature", withCerts(self.issue(t, template("x", []string{GroupMasters}, time.Hour))), nil, "unknown authority"},
		{"expired", withCerts(root.issue(t, template("x", nil, -time.Second))), nil, "expired"},
		{"not yet valid", withCerts(root.issue(t, early)), nil, "not yet valid"},
		{"not for clients", withCerts(root.issue(t, server)), nil, "incompatible key usage"},
		{"extra authority sent along", withCerts(other.issue(t, template("x", nil, time.Hour)), other), nil, "unknown authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := x509.NewCertPool()
			pool.AddCert(root.cert)
			certs := ClientCert(pool, func() time.Time { return noon })
			for range 2 { // the second time from the cache
				got, err := certs.Authenticate(c.request)
				if diff := cmp.Diff(c.want, userOf(got)); diff != "" {
					t.Error(diff)
				}
				if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			}
		})
	}
}

func TestClientCertWithoutRoots(t *testing.T) {
	var self *issuer
	r := withCerts(self.issue(t, template("x", nil, time.Hour)))
	if u, err := ClientCert(nil, func() time.Time { return noon }).Authenticate(r); u != nil || err == nil {
		t.Errorf("user %v, error %v", u, err)
	}
}

// TestClientCertExpires: a cached verification ends with the certificate of the chain
// that ends first.
func TestClientCertExpires(t *testing.T) {
	var self *issuer
	root := self.issue(t, authority("root", 24*time.Hour))
	middle := root.issue(t, authority("middle", 2*time.Hour))
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	now := noon
	certs := ClientCert(pool, func() time.Time { return now })
	short := withCerts(root.issue(t, template("short", nil, time.Hour)))
	deep := withCerts(middle.issue(t, template("deep", nil, 12*time.Hour)), middle)
	for _, step := range []struct {
		at          time.Duration
		short, deep bool
	}{{0, true, true}, {time.Hour, true, true}, {time.Hour + time.Second, false, true}, {2*time.Hour + time.Second, false, false}} {
		now = noon.Add(step.at)
		if _, err := certs.Authenticate(short); (err == nil) != step.short {
			t.Errorf("after %v: short: %v", step.at, err)
		}
		if _, err := certs.Authenticate(deep); (err == nil) != step.deep {
			t.Errorf("after %v: deep: %v", step.at, err)
		}
	}
}

// TestClientCertBound: the cache is bounded and users do not get mixed up when many
// certificates are in use at once.
func TestClientCertBound(t *testing.T) {
	var self *issuer
	root := self.issue(t, authority("root", 24*time.Hour))
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	certs := ClientCert(pool, func() time.Time { return noon })
	a, b := root.issue(t, template("a", nil, time.Hour)), root.issue(t, template("b", nil, time.Hour))
	var wg sync.WaitGroup
	for _, i := range []*issuer{a, b} {
		wg.Go(func() {
			for range maxVerified {
				copied := *i.cert // a certificate of another connection
				r := withCerts(&issuer{cert: &copied})
				if u, err := certs.Authenticate(r); err != nil || u.User.Name != i.cert.Subject.CommonName {
					t.Errorf("user %v, error %v", u, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := len(certs.verified); n > maxVerified {
		t.Errorf("%d certificates are remembered", n)
	}
}

func BenchmarkClientCert(b *testing.B) {
	var self *issuer
	root := self.issue(b, authority("root", 24*time.Hour))
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	r := withCerts(root.issue(b, template("dev", []string{"dev"}, time.Hour)))
	certs := ClientCert(pool, func() time.Time { return noon })
	b.Run("remembered", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := certs.Authenticate(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verified", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := certs.verify(r.TLS.PeerCertificates, noon); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Later releases know the credential of a user by the hash of the certificate, and the uid in its subject.
func TestContentOfCertificates(t *testing.T) {
	var self *issuer
	root := self.issue(t, authority("root", 24*time.Hour))
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	with := func(uids ...any) *issuer {
		of := template("dev", nil, time.Hour)
		for _, uid := range uids {
			of.Subject.ExtraNames = append(of.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: []int{1, 3, 6, 1, 4, 1, 57683, 2}, Value: uid})
		}
		return root.issue(t, of)
	}
	for name, c := range map[string]struct {
		content CertContent
		cert    *issuer
		uid     string
		refused bool
	}{
		"off":       {CertContent{}, with("u1"), "", false},
		"hash":      {CertContent{CredentialIDs: true}, with("u1"), "", false},
		"uid":       {CertContent{UIDs: true}, with("u1"), "u1", false},
		"none":      {CertContent{UIDs: true}, with(), "", false},
		"two":       {CertContent{UIDs: true}, with("u1", "u2"), "", true},
		"empty":     {CertContent{UIDs: true}, with(""), "", true},
		"two, off":  {CertContent{}, with("u1", "u2"), "", false},
		"all of it": {CertContent{true, true}, with("u1"), "u1", false},
	} {
		certs := ClientCert(pool, func() time.Time { return noon })
		certs.CertContent = c.content
		identity, err := certs.Authenticate(withCerts(c.cert))
		if (err != nil) != c.refused || (identity == nil) != c.refused {
			t.Errorf("%s: %v, %v", name, identity, err)
			continue
		}
		if identity == nil {
			continue
		}
		var want map[string][]string
		if c.content.CredentialIDs {
			want = map[string][]string{"authentication.kubernetes.io/credential-id": {fmt.Sprintf("X509SHA256=%x", sha256.Sum256(c.cert.cert.Raw))}}
		}
		if diff := cmp.Diff(want, identity.User.Extra); diff != "" || identity.User.UID != c.uid {
			t.Errorf("%s: uid %q, %s", name, identity.User.UID, diff)
		}
	}
}
