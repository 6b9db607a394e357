package admission_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// May allows the verbs listed as "signers/<user>/<verb> <signer>".
func (w world) May(_ context.Context, user *authn.User, r admission.Right) (bool, string, error) {
	_, allowed := w[r.Resource+"/"+user.Name+"/"+r.Verb+" "+r.Name]
	return allowed, "", nil
}

func (w world) Kind(string, string) *api.Resource { return nil }

func TestSigners(t *testing.T) {
	const (
		pending  = "{spec: {signerName: example.com/serving}}"
		approved = "{spec: {signerName: example.com/serving}, status: {conditions: [{type: Approved, status: 'True'}]}}"
		issued   = "{spec: {signerName: example.com/serving}, status: {certificate: eA==}}"
		refused  = `certificatesigningrequests.certificates.k8s.io "Unknown" is forbidden: user not permitted to `
		signer   = ` requests with signerName "example.com/serving"`
	)
	bob := &authn.User{Name: "bob"}
	for _, c := range []struct {
		name, endpoint, next, allowed string
		user                          *authn.User
		disabled                      string
		want                          string
	}{
		{name: "approve", endpoint: "approval", next: approved, user: bob, want: refused + "approve" + signer},
		{name: "approve by name", endpoint: "approval", next: approved, user: bob, allowed: "approve example.com/serving"},
		{name: "approve by domain", endpoint: "approval", next: approved, user: bob, allowed: "approve example.com/*"},
		{name: "sign is another verb", endpoint: "approval", next: approved, user: bob, allowed: "sign example.com/*", want: refused + "approve" + signer},
		{name: "the server itself", endpoint: "approval", next: approved},
		{name: "plug-in is off", endpoint: "approval", next: approved, user: bob, disabled: "CertificateApproval"},
		{name: "sign", endpoint: "status", next: issued, user: bob, want: refused + "sign" + signer},
		{name: "sign, allowed", endpoint: "status", next: issued, user: bob, allowed: "sign example.com/serving"},
		{name: "conditions are signing too", endpoint: "status", next: approved, user: bob, want: refused + "sign" + signer},
		{name: "nothing changes", endpoint: "status", next: pending, user: bob},
		{name: "the request itself", next: issued, user: bob},
	} {
		res := resource(t, "certificatesigningrequests")
		chain := admission.New(world{"signers/bob/" + c.allowed: ""}, admission.Config{DisableAdmissionPlugins: []string{c.disabled}})
		err := chain.Check(context.Background(), &admission.Request{Operation: admission.Update, Resource: res, Subresource: c.endpoint,
			User: c.user, Object: decode(t, res, c.next), Old: decode(t, res, pending)})
		if got := text(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSubjectsOfClientCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := func(organization string) string {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{Organization: []string{organization}}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	}
	const client = "kubernetes.io/kube-apiserver-client"
	const refused = `certificatesigningrequests.certificates.k8s.io "r" is forbidden: `
	for _, c := range []struct{ signer, request, want string }{
		{client, request("dev"), ""},
		{client, request("system:masters"), refused + "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		{"example.com/x", request("system:masters"), ""},
		{client, "eA==", refused + "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"},
	} {
		res := resource(t, "certificatesigningrequests")
		err := admission.New(world{}, admission.Config{}).Check(context.Background(), &admission.Request{Operation: admission.Create, Resource: res, Old: document.Value{},
			Object: decode(t, res, "{metadata: {name: r}, spec: {signerName: "+c.signer+", request: "+c.request+"}}")})
		if got := text(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.signer, got, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
