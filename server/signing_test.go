package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

const signingRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// wanted is a certificate signing request of a test.
type wanted struct {
	name, signer, usages string
	user, group          string // of the subject
	seconds              int
	dns                  string
}

// demand sends a certificate signing request, and returns its key.
func (h *harness) demand(t *testing.T, w wanted, header ...string) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: w.user}}
	if w.group != "" {
		template.Subject.Organization = []string{w.group}
	}
	if w.dns != "" {
		template.DNSNames = []string{w.dns}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{"request": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		"signerName": "kubernetes.io/" + w.signer, "usages": strings.Split(w.usages, ",")}
	if w.seconds > 0 {
		spec["expirationSeconds"] = w.seconds
	}
	text, _ := json.Marshal(map[string]any{"metadata": map[string]any{"name": w.name}, "spec": spec})
	h.send("POST", signingRequests, "", text, header...).expect(t, 201, "")
	return key
}

// decide approves or denies a certificate signing request.
func (h *harness) decide(t *testing.T, name, decision string) {
	t.Helper()
	h.send("PATCH", signingRequests+"/"+name+"/approval", "application/merge-patch+json",
		[]byte(`{"status":{"conditions":[{"type":"`+decision+`","status":"True","reason":"Test"}]}}`)).expect(t, 200, "")
}

// signed waits for the certificate of a request.
func (h *harness) signed(t *testing.T, name string) (text []byte, cert *x509.Certificate) {
	t.Helper()
	all := h.await(signingRequests, func(all contents) bool {
		certificate, _ := all.in(name, "status.certificate").(string)
		return certificate != ""
	})
	object, _ := json.Marshal(all[name])
	var r struct{ Status struct{ Certificate []byte } }
	if err := json.Unmarshal(object, &r); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(r.Status.Certificate)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Certificate, cert
}

// withCertificate sends a request with a client certificate, whatever its authority.
func (h *harness) withCertificate(t *testing.T, cert []byte, key *ecdsa.PrivateKey, path, body string) reply {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return h.as(cert, text).send("POST", path, "application/json", []byte(body), "Authorization", "")
}

// whoami is the question of a client for its own name.
func (h *harness) whoami(t *testing.T, cert []byte, key *ecdsa.PrivateKey) reply {
	t.Helper()
	return h.withCertificate(t, cert, key, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"nonResourceAttributes":{"path":"/x","verb":"get"}}}`)
}

// withSigners starts a server with the controllers of certificate signing requests.
func withSigners(t *testing.T, change func(*server.Config)) *harness {
	t.Helper()
	return startServer(t, func(c *server.Config) {
		c.Controllers = []string{"csrapproving", "csrsigning", "csrcleaner"}
		if change != nil {
			change(c)
		}
	})
}

const (
	clientUsages = "digital signature,client auth"
	serverUsages = "digital signature,server auth"
)

// The request of a node is approved by its author's permission, and signed; the
// certificate logs the node in.
func TestNodeCertificates(t *testing.T) {
	h := withSigners(t, nil)
	h.bindGroup(t, "bob", "nodeclient")
	bob := []string{"Authorization", "Bearer bob-token"}
	h.grantRequests(t, "bob", "carol")
	h.demand(t, wanted{name: "refused", signer: "kube-apiserver-client-kubelet", usages: clientUsages, user: "system:node:n0", group: "system:nodes"}, "Authorization", "Bearer carol-token")
	key := h.demand(t, wanted{name: "n1", signer: "kube-apiserver-client-kubelet", usages: clientUsages, user: "system:node:n1", group: "system:nodes"}, bob...)
	text, cert := h.signed(t, "n1")
	if cert.Subject.CommonName != "system:node:n1" || time.Until(cert.NotAfter) < 364*24*time.Hour {
		t.Errorf("got %v until %v", cert.Subject, cert.NotAfter)
	}
	for path, want := range map[string]any{"status.conditions.0.reason": "AutoApproved", "status.conditions.0.message": "Auto approving kubelet client certificate after SubjectAccessReview."} {
		if got := h.get(signingRequests+"/n1").field(t, path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	h.whoami(t, text, key).expect(t, 201, "")
	// The node renews its certificate itself, under another permission.
	h.bindGroup(t, "system:node:n1", "selfnodeclient")
	h.grantRequests(t, "system:node:n1")
	request := h.get(signingRequests+"/n1").field(t, "spec.request").(string)
	again := `{"metadata":{"name":"n1-again"},"spec":{"signerName":"kubernetes.io/kube-apiserver-client-kubelet","request":"` + request + `","usages":["digital signature","client auth"],"expirationSeconds":1200}}`
	h.withCertificate(t, text, key, signingRequests, again).expect(t, 201, "")
	if _, cert := h.signed(t, "n1-again"); time.Until(cert.NotAfter) > 20*time.Minute {
		t.Errorf("ends at %v", cert.NotAfter)
	}
	if got := h.get(signingRequests+"/n1-again").field(t, "status.conditions.0.message"); got != "Auto approving self kubelet client certificate after SubjectAccessReview." {
		t.Error(got)
	}
	// One author may not: the request waits for the permission.
	if r := h.get(signingRequests + "/refused"); !strings.Contains(string(r.body), `"status":{}`) {
		t.Errorf("a request without a permission: %s", r.body)
	}
	h.bindGroup(t, "carol", "nodeclient")
	h.signed(t, "refused")
}

// bindGroup gives a user the permission for certificates of nodes.
func (h *harness) bindGroup(t *testing.T, user, way string) {
	t.Helper()
	h.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"`+user+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
		"name":"system:certificates.k8s.io:certificatesigningrequests:`+way+`"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"`+user+`"}]}`).expect(t, 201, "")
}

// grantRequests lets users send certificate signing requests.
func (h *harness) grantRequests(t *testing.T, users ...string) {
	t.Helper()
	for _, user := range users {
		h.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"ask-`+user+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
		"name":"system:node-bootstrapper"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"`+user+`"}]}`).expect(t, 201, "")
	}
}

func TestSigners(t *testing.T) {
	h := withSigners(t, func(c *server.Config) { c.ClusterSigningDuration = 2 * time.Hour })
	for _, c := range []struct {
		wanted
		decision, failure string // "" for signed
	}{
		{wanted{name: "client", signer: "kube-apiserver-client", usages: "client auth", user: "anna", group: "dev"}, "Approved", ""},
		{wanted{name: "long", signer: "kube-apiserver-client", usages: "client auth", user: "anna", seconds: 1 << 30}, "Approved", ""},
		{wanted{name: "serving", signer: "kubelet-serving", usages: serverUsages, user: "system:node:n1", group: "system:nodes", dns: "n1"}, "Approved", ""},
		{wanted{name: "for-serving", signer: "kube-apiserver-client", usages: "server auth", user: "anna"}, "Approved", "invalid usage for client certificate: server auth"},
		{wanted{name: "nameless", signer: "kubelet-serving", usages: serverUsages, user: "system:node:n1", group: "system:nodes"}, "Approved", "DNS or IP subjectAltName is required"},
		{wanted{name: "stranger", signer: "kube-apiserver-client-kubelet", usages: clientUsages, user: "anna", group: "system:nodes"}, "Approved", "does not begin with system:node:"},
		{wanted{name: "masters", signer: "kubelet-serving", usages: serverUsages, user: "system:node:n1", group: "system:masters", dns: "n1"}, "Approved", "organization is not system:nodes"},
	} {
		key := h.demand(t, c.wanted)
		h.decide(t, c.name, c.decision)
		if c.failure == "" {
			text, cert := h.signed(t, c.name)
			if left := time.Until(cert.NotAfter); left < time.Hour || left > 2*time.Hour || time.Since(cert.NotBefore) < 5*time.Minute {
				t.Errorf("%s: from %v to %v", c.name, cert.NotBefore, cert.NotAfter)
			}
			want := 201
			if c.name == "serving" {
				want = 401 // made for another use
			}
			h.whoami(t, text, key).expect(t, want, "")
			continue
		}
		h.await(signingRequests, func(all contents) bool { return strings.Contains(toJSON(all[c.name]), `"type":"Failed"`) })
		r := h.get(signingRequests + "/" + c.name)
		if !strings.Contains(string(r.body), c.failure) || r.field(t, "status.conditions.1.reason") != "SignerValidationFailure" || strings.Contains(string(r.body), `"certificate"`) {
			t.Errorf("%s: %s", c.name, r.body)
		}
	}
	for _, decision := range []string{"Denied", ""} { // later requests show that these had their turn
		name := "decided-" + strings.ToLower(decision) + "x"
		h.demand(t, wanted{name: name, signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
		if decision != "" {
			h.decide(t, name, decision)
		}
	}
	key := h.demand(t, wanted{name: "empty", signer: "kube-apiserver-client", usages: "client auth"})
	h.decide(t, "empty", "Approved")
	text, _ := h.signed(t, "empty")
	if r := h.whoami(t, text, key); r.code < 400 {
		t.Errorf("a certificate without a name logs in: %s", r.body)
	}
	for _, name := range []string{"decided-deniedx", "decided-x"} {
		if r := h.get(signingRequests + "/" + name); strings.Contains(string(r.body), `"certificate"`) {
			t.Errorf("signed: %s", r.body)
		}
	}
}

func toJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// A given authority signs, and its certificates count where it is trusted.
func TestGivenSigningAuthority(t *testing.T) {
	cert, keyFile := newAuthority(t)
	h := withSigners(t, func(c *server.Config) { c.ClusterSigningCertFile, c.ClusterSigningKeyFile = cert, keyFile })
	key := h.demand(t, wanted{name: "r", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	h.decide(t, "r", "Approved")
	text, signed := h.signed(t, "r")
	if signed.Issuer.CommonName != "given" {
		t.Errorf("signed by %v", signed.Issuer)
	}
	h.whoami(t, text, key).expect(t, 401, "")
	for _, c := range []server.PKI{{ClusterSigningCertFile: cert}, {ClusterSigningKeyFile: keyFile}} {
		if err := (&server.Config{InMemory: true, PKI: c}).Validate(); err == nil || !strings.Contains(err.Error(), "--cluster-signing-key-file") {
			t.Error(err)
		}
	}
}

// TestSignerAuthorities: signers with authorities of their own, and one that then has none.
func TestSignerAuthorities(t *testing.T) {
	h := withSigners(t, func(c *server.Config) {
		c.ClusterSigningCertFile, c.ClusterSigningKeyFile = newAuthority(t)
		c.SignerAuthorities.APIServerClient.Cert, c.SignerAuthorities.APIServerClient.Key = newAuthority(t)
	})
	h.demand(t, wanted{name: "old", signer: "kube-apiserver-client-kubelet", usages: clientUsages, user: "system:node:n0", group: "system:nodes"})
	h.decide(t, "old", "Approved")
	h.demand(t, wanted{name: "r", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	h.decide(t, "r", "Approved")
	if _, signed := h.signed(t, "r"); signed.Issuer.CommonName != "given" {
		t.Errorf("signed by %v", signed.Issuer)
	}
	if got := h.get(signings+"/old").field(t, "status.certificate"); got != nil {
		t.Errorf("a signer without an authority has signed: %v", got)
	}
	wrong := server.PKI{}
	wrong.SignerAuthorities.KubeletServing.Cert = "x"
	if err := (&server.Config{InMemory: true, PKI: wrong}).Validate(); err == nil || !strings.Contains(err.Error(), "--cluster-signing-kubelet-serving-key-file") {
		t.Error(err)
	}
}

// newAuthority writes the files of an authority that servers do not trust.
func newAuthority(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "given"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), file(t, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
}

// Old requests are deleted.
func TestSigningRequestsAreCleaned(t *testing.T) {
	h := withSigners(t, func(c *server.Config) {
		c.Shorten(func(d *server.Durations) {
			d.Certificates.Interval, d.Certificates.Pending, d.Certificates.Decided = 10*time.Millisecond, time.Hour, time.Millisecond
		})
	})
	h.demand(t, wanted{name: "pending", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	h.demand(t, wanted{name: "denied", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	h.decide(t, "denied", "Denied")
	h.awaitGone(signingRequests, "denied")
	h.get(signingRequests+"/pending").expect(t, 200, "")
}
