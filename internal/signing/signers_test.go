package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// requested is a request as a client sends it.
func requested(t *testing.T, template *x509.CertificateRequest) *x509.CertificateRequest {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRequest(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSigners(t *testing.T) {
	node := func(change func(*x509.CertificateRequest)) *x509.CertificateRequest {
		r := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}}
		if change != nil {
			change(r)
		}
		return r
	}
	person := func(groups ...string) *x509.CertificateRequest {
		return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "anna", Organization: groups}}
	}
	serving := func(change func(*x509.CertificateRequest)) *x509.CertificateRequest {
		r := node(func(r *x509.CertificateRequest) { r.DNSNames, r.IPAddresses = []string{"n1"}, []net.IP{{10, 0, 0, 1}} })
		if change != nil {
			change(r)
		}
		return r
	}
	mail := func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@example.com"} }
	uri := func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }
	for _, c := range []struct {
		name, signer string
		request      *x509.CertificateRequest
		usages, want string // "" for signed
	}{
		{"a client", ClientSigner, person("dev"), "client auth", ""},
		{"with all that clients may have", ClientSigner, person(), "key encipherment,digital signature,client auth", ""},
		{"for everything", ClientSigner, person("dev", "system:masters"), "client auth", "system:masters is not allowed"},
		{"to serve", ClientSigner, person(), "client auth,server auth", "invalid usage for client certificate: server auth"},
		{"not to log in", ClientSigner, person(), "digital signature", "missing required usage for client certificate: client auth"},
		{"a node", NodeClientSigner, node(nil), "digital signature,key encipherment,client auth", ""},
		{"a node without RSA", NodeClientSigner, node(nil), "client auth,digital signature", ""},
		{"a node that serves", NodeClientSigner, node(nil), "digital signature,server auth", "usages did not match [client auth digital signature key encipherment]"},
		{"a node for less", NodeClientSigner, node(nil), "client auth", "usages did not match"},
		{"another group", NodeClientSigner, person("dev"), "digital signature,client auth", "subject organization is not system:nodes"},
		{"another group too", NodeClientSigner, node(func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:nodes", "system:masters"} }),
			"digital signature,client auth", "subject organization is not system:nodes"},
		{"another name", NodeClientSigner, node(func(r *x509.CertificateRequest) { r.Subject.CommonName = "anna" }), "digital signature,client auth", "common name does not begin with system:node:"},
		{"a host name", NodeClientSigner, serving(nil), "digital signature,client auth", "DNS subjectAltNames are not allowed"},
		{"an address", NodeClientSigner, serving(func(r *x509.CertificateRequest) { r.DNSNames = nil }), "digital signature,client auth", "IP subjectAltNames are not allowed"},
		{"mail", NodeClientSigner, node(mail), "digital signature,client auth", "Email subjectAltNames are not allowed"},
		{"a URI", NodeClientSigner, node(uri), "digital signature,client auth", "URI subjectAltNames are not allowed"},
		{"a node's server", NodeServingSigner, serving(nil), "digital signature,key encipherment,server auth", ""},
		{"without names", NodeServingSigner, node(nil), "digital signature,server auth", "DNS or IP subjectAltName is required"},
		{"a server with mail", NodeServingSigner, serving(mail), "digital signature,server auth", "Email subjectAltNames are not allowed"},
		{"a server with a URI", NodeServingSigner, serving(uri), "digital signature,server auth", "URI subjectAltNames are not allowed"},
		{"a server that logs in", NodeServingSigner, serving(nil), "digital signature,client auth", "usages did not match [digital signature key encipherment server auth]"},
		{"a server of another group", NodeServingSigner, serving(func(r *x509.CertificateRequest) { r.Subject.Organization = nil }), "digital signature,server auth", "subject organization is not system:nodes"},
		{"a server of another name", NodeServingSigner, serving(func(r *x509.CertificateRequest) { r.Subject.CommonName = "n1" }), "digital signature,server auth", "common name does not begin"},
		{"anything", LegacySigner, person("dev"), "code signing", ""},
		{"anything but this", LegacySigner, person("system:masters"), "client auth", "system:masters is not allowed"},
		{"elsewhere", "example.com/x", person(), "client auth", "unrecognized signerName"},
	} {
		err := Check(c.signer, requested(t, c.request), strings.Split(c.usages, ","))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	stolen := requested(t, person())
	stolen.RawTBSCertificateRequest = append(slices.Clone(stolen.RawTBSCertificateRequest), 0)
	if err := Check(ClientSigner, stolen, []string{"client auth"}); err == nil {
		t.Error("a request that its key has not signed is accepted")
	}
}

// newAuthority is an authority that ends at a time.
func newAuthority(t *testing.T, end time.Time) *Authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, NotBefore: end.Add(-100 * time.Hour), NotAfter: end, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseAuthority(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestIssue(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	a := newAuthority(t, now.Add(50*time.Hour))
	request := requested(t, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "anna", Organization: []string{"dev"}}, DNSNames: []string{"n1"},
		ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}}}) // CA:TRUE
	serials := map[string]bool{}
	for _, c := range []struct{ life, end time.Duration }{
		{time.Hour, time.Hour},
		{8 * time.Hour, 8*time.Hour - 5*time.Minute},
		{1000 * time.Hour, 50 * time.Hour}, // that of the authority
	} {
		text, err := a.Issue(request, []string{"client auth", "digital signature", "any"}, c.life, now)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !cert.NotBefore.Equal(now.Add(-5*time.Minute)) || !cert.NotAfter.Equal(now.Add(c.end)) {
			t.Errorf("%v: from %v to %v", c.life, cert.NotBefore.Sub(now), cert.NotAfter.Sub(now))
		}
		if err := cert.CheckSignatureFrom(a.Certificate); err != nil {
			t.Error(err)
		}
		if cert.IsCA || cert.Subject.String() != request.Subject.String() || !slices.Equal(cert.DNSNames, request.DNSNames) ||
			cert.KeyUsage != x509.KeyUsageDigitalSignature || !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageAny, x509.ExtKeyUsageClientAuth}) {
			t.Errorf("got %+v", cert)
		}
		serials[cert.SerialNumber.String()] = true
	}
	if len(serials) != 3 {
		t.Errorf("serial numbers %v", serials)
	}
	if _, err := a.Issue(request, []string{"client auth"}, time.Hour, now.Add(51*time.Hour)); err == nil {
		t.Error("an authority that has ended signs")
	}
	if _, err := a.Issue(request, []string{"cooking"}, time.Hour, now); err == nil {
		t.Error("an unknown usage is signed")
	}
}

func TestLife(t *testing.T) {
	for seconds, want := range map[int64]time.Duration{0: time.Hour, 1: 10 * time.Minute, 600: 10 * time.Minute, 1200: 20 * time.Minute, 3600: time.Hour, 1 << 40: time.Hour, -1: time.Hour} {
		if got := Life(seconds, time.Hour); got != want {
			t.Errorf("%d: %v, want %v", seconds, got, want)
		}
	}
}
