package background_test

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
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
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
func demand(h *harness.Server, t *testing.T, w wanted, header ...string) *ecdsa.PrivateKey {
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
	h.Send("POST", signingRequests, "", text, header...).Expect(t, 201, "")
	return key
}

// decide approves or denies a certificate signing request.
func decide(h *harness.Server, t *testing.T, name, decision string) {
	t.Helper()
	h.Send("PATCH", signingRequests+"/"+name+"/approval", "application/merge-patch+json",
		[]byte(`{"status":{"conditions":[{"type":"`+decision+`","status":"True","reason":"Test"}]}}`)).Expect(t, 200, "")
}

// signed waits for the certificate of a request.
func signed(h *harness.Server, t *testing.T, name string) (text []byte, cert *x509.Certificate) {
	t.Helper()
	all := h.Await(signingRequests, func(all harness.Contents) bool {
		certificate, _ := all.In(name, "status.certificate").(string)
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
func withCertificate(h *harness.Server, t *testing.T, cert []byte, key *ecdsa.PrivateKey, path, body string) harness.Reply {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return h.As(cert, text).Send("POST", path, "application/json", []byte(body), "Authorization", "")
}

// whoami is the question of a client for its own name.
func whoami(h *harness.Server, t *testing.T, cert []byte, key *ecdsa.PrivateKey) harness.Reply {
	t.Helper()
	return withCertificate(h, t, cert, key, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"nonResourceAttributes":{"path":"/x","verb":"get"}}}`)
}

// withSigners starts a server with the controllers of certificate signing requests.
func withSigners(t *testing.T, change func(*server.Config)) *harness.Server {
	t.Helper()
	return harness.Start(t, func(c *server.Config) {
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
	bindGroup(h, t, "bob", "nodeclient")
	bob := []string{"Authorization", "Bearer bob-token"}
	grantRequests(h, t, "bob", "carol")
	demand(h, t, wanted{name: "refused", signer: "kube-apiserver-client-kubelet", usages: clientUsages, user: "system:node:n0", group: "system:nodes"}, "Authorization", "Bearer carol-token")
	key := demand(h, t, wanted{name: "n1", signer: "kube-apiserver-client-kubelet", usages: clientUsages, user: "system:node:n1", group: "system:nodes"}, bob...)
	text, cert := signed(h, t, "n1")
	if cert.Subject.CommonName != "system:node:n1" || time.Until(cert.NotAfter) < 364*24*time.Hour {
		t.Errorf("got %v until %v", cert.Subject, cert.NotAfter)
	}
	for path, want := range map[string]any{"status.conditions.0.reason": "AutoApproved", "status.conditions.0.message": "Auto approving kubelet client certificate after SubjectAccessReview."} {
		if got := h.Get(signingRequests+"/n1").Field(t, path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	whoami(h, t, text, key).Expect(t, 201, "")
	// The node renews its certificate itself, under another permission.
	bindGroup(h, t, "system:node:n1", "selfnodeclient")
	grantRequests(h, t, "system:node:n1")
	request := h.Get(signingRequests+"/n1").Field(t, "spec.request").(string)
	again := `{"metadata":{"name":"n1-again"},"spec":{"signerName":"kubernetes.io/kube-apiserver-client-kubelet","request":"` + request + `","usages":["digital signature","client auth"],"expirationSeconds":1200}}`
	withCertificate(h, t, text, key, signingRequests, again).Expect(t, 201, "")
	if _, cert := signed(h, t, "n1-again"); time.Until(cert.NotAfter) > 20*time.Minute {
		t.Errorf("ends at %v", cert.NotAfter)
	}
	if got := h.Get(signingRequests+"/n1-again").Field(t, "status.conditions.0.message"); got != "Auto approving self kubelet client certificate after SubjectAccessReview." {
		t.Error(got)
	}
	// One author may not: the request waits for the permission.
	if r := h.Get(signingRequests + "/refused"); !strings.Contains(string(r.Body), `"status":{}`) {
		t.Errorf("a request without a permission: %s", r.Body)
	}
	bindGroup(h, t, "carol", "nodeclient")
	signed(h, t, "refused")
}

// bindGroup gives a user the permission for certificates of nodes.
func bindGroup(h *harness.Server, t *testing.T, user, way string) {
	t.Helper()
	h.Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"`+user+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
		"name":"system:certificates.k8s.io:certificatesigningrequests:`+way+`"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"`+user+`"}]}`).Expect(t, 201, "")
}

// grantRequests lets users send certificate signing requests.
func grantRequests(h *harness.Server, t *testing.T, users ...string) {
	t.Helper()
	for _, user := range users {
		h.Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"ask-`+user+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
		"name":"system:node-bootstrapper"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"`+user+`"}]}`).Expect(t, 201, "")
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
		key := demand(h, t, c.wanted)
		decide(h, t, c.name, c.decision)
		if c.failure == "" {
			text, cert := signed(h, t, c.name)
			if left := time.Until(cert.NotAfter); left < time.Hour || left > 2*time.Hour || time.Since(cert.NotBefore) < 5*time.Minute {
				t.Errorf("%s: from %v to %v", c.name, cert.NotBefore, cert.NotAfter)
			}
			want := 201
			if c.name == "serving" {
				want = 401 // made for another use
			}
			whoami(h, t, text, key).Expect(t, want, "")
			continue
		}
		h.Await(signingRequests, func(all harness.Contents) bool {
			return strings.Contains(harness.ToJSON(all[c.name]), `"type":"Failed"`)
		})
		r := h.Get(signingRequests + "/" + c.name)
		if !strings.Contains(string(r.Body), c.failure) || r.Field(t, "status.conditions.1.reason") != "SignerValidationFailure" || strings.Contains(string(r.Body), `"certificate"`) {
			t.Errorf("%s: %s", c.name, r.Body)
		}
	}
	for _, decision := range []string{"Denied", ""} { // later requests show that these had their turn
		name := "decided-" + strings.ToLower(decision) + "x"
		demand(h, t, wanted{name: name, signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
		if decision != "" {
			decide(h, t, name, decision)
		}
	}
	key := demand(h, t, wanted{name: "empty", signer: "kube-apiserver-client", usages: "client auth"})
	decide(h, t, "empty", "Approved")
	text, _ := signed(h, t, "empty")
	if r := whoami(h, t, text, key); r.Code < 400 {
		t.Errorf("a certificate without a name logs in: %s", r.Body)
	}
	for _, name := range []string{"decided-deniedx", "decided-x"} {
		if r := h.Get(signingRequests + "/" + name); strings.Contains(string(r.Body), `"certificate"`) {
			t.Errorf("signed: %s", r.Body)
		}
	}
}

// A given authority signs, and its certificates count where it is trusted.
func TestGivenSigningAuthority(t *testing.T) {
	cert, keyFile := harness.NewAuthority(t)
	h := withSigners(t, func(c *server.Config) { c.ClusterSigningCertFile, c.ClusterSigningKeyFile = cert, keyFile })
	key := demand(h, t, wanted{name: "r", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	decide(h, t, "r", "Approved")
	text, signed := signed(h, t, "r")
	if signed.Issuer.CommonName != "given" {
		t.Errorf("signed by %v", signed.Issuer)
	}
	whoami(h, t, text, key).Expect(t, 401, "")
	for _, c := range []server.PKI{{ClusterSigningCertFile: cert}, {ClusterSigningKeyFile: keyFile}} {
		if err := (&server.Config{InMemory: true, PKI: c}).Validate(); err == nil || !strings.Contains(err.Error(), "--cluster-signing-key-file") {
			t.Error(err)
		}
	}
}

// TestSignerAuthorities: signers with authorities of their own, and one that then has none.
func TestSignerAuthorities(t *testing.T) {
	h := withSigners(t, func(c *server.Config) {
		c.ClusterSigningCertFile, c.ClusterSigningKeyFile = harness.NewAuthority(t)
		c.SignerAuthorities.APIServerClient.Cert, c.SignerAuthorities.APIServerClient.Key = harness.NewAuthority(t)
	})
	demand(h, t, wanted{name: "old", signer: "kube-apiserver-client-kubelet", usages: clientUsages, user: "system:node:n0", group: "system:nodes"})
	decide(h, t, "old", "Approved")
	demand(h, t, wanted{name: "r", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	decide(h, t, "r", "Approved")
	if _, signed := signed(h, t, "r"); signed.Issuer.CommonName != "given" {
		t.Errorf("signed by %v", signed.Issuer)
	}
	if got := h.Get(harness.Signings+"/old").Field(t, "status.certificate"); got != nil {
		t.Errorf("a signer without an authority has signed: %v", got)
	}
	wrong := server.PKI{}
	wrong.SignerAuthorities.KubeletServing.Cert = "x"
	if err := (&server.Config{InMemory: true, PKI: wrong}).Validate(); err == nil || !strings.Contains(err.Error(), "--cluster-signing-kubelet-serving-key-file") {
		t.Error(err)
	}
}

// Old requests are deleted.
func TestSigningRequestsAreCleaned(t *testing.T) {
	h := withSigners(t, func(c *server.Config) {
		harness.Shorten(c, func(d *seams.Durations) {
			d.Certificates.Interval, d.Certificates.Pending, d.Certificates.Decided = 10*time.Millisecond, time.Hour, time.Millisecond
		})
	})
	demand(h, t, wanted{name: "pending", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	demand(h, t, wanted{name: "denied", signer: "kube-apiserver-client", usages: "client auth", user: "anna"})
	decide(h, t, "denied", "Denied")
	h.AwaitGone(signingRequests, "denied")
	h.Get(signingRequests+"/pending").Expect(t, 200, "")
}
