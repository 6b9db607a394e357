package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"os"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

const signings = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// signing is a certificate signing request for a member of a group.
func signing(t *testing.T, name, signer, group string) string {
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

// Decisions are final, each endpoint writes its own fields, and a refused write changes
// nothing.
func TestDecisionsOnSigningRequests(t *testing.T) {
	h := startServer(t, nil)
	chain, err := os.ReadFile("internal/kinds/policy/testdata/certificate.pem")
	if err != nil {
		t.Fatal(err)
	}
	certificate := func(text string) string {
		body, _ := json.Marshal(map[string]any{"status": map[string]any{"certificate": []byte(text)}})
		return string(body)
	}
	conditions := func(types ...string) string {
		list := make([]map[string]string, len(types))
		for i, typ := range types {
			list[i] = map[string]string{"type": typ, "status": "True", "reason": "Kit"}
		}
		body, _ := json.Marshal(map[string]any{"status": map[string]any{"conditions": list}})
		return string(body)
	}
	a, b, c := signings+"/a", signings+"/b", signings+"/c"
	h.run(t, []step{
		{"a", "POST", signings, "", signing(t, "a", "example.com/x", "dev"), 201, ""},
		{"by the object", "PATCH", a, mergePatch, conditions("Approved"), 200, `"status":{}`},
		{"dry run", "PATCH", a + "/approval?dryRun=All", mergePatch, conditions("Approved"), 200, `"Approved"`},
		{"not decided", "GET", a, "", "", 200, `"status":{}`},
		{"stale", "PATCH", a + "/approval", mergePatch, `{"metadata":{"resourceVersion":"1"},"status":{}}`, 409, "Conflict"},
		{"approve", "PATCH", a + "/approval", mergePatch, conditions("Approved"), 200, `"Approved"`},
		{"deny as well", "PATCH", a + "/approval", mergePatch, conditions("Approved", "Denied"), 422, "status.conditions"},
		{"take back", "PATCH", a + "/approval", mergePatch, conditions(), 422, "status.conditions"},
		{"no certificate", "PATCH", a + "/status", mergePatch, certificate("x"), 422, "status.certificate"},
		{"certificate by approval", "PATCH", a + "/approval", mergePatch, certificate(string(chain)), 200, `"Approved"`},
		{"certificate", "PATCH", a + "/status", mergePatch, certificate(string(chain)), 200, `"certificate":"LS0t`},
		{"another one", "PATCH", a + "/status", mergePatch, certificate(string(chain) + string(chain)), 422, "status.certificate"},
		{"none", "PATCH", a + "/status", mergePatch, `{"status":{"certificate":null}}`, 422, "status.certificate"},
		{"another reason", "PATCH", a + "/status", mergePatch, `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Other"}]}}`, 200, `"reason":"Kit"`},

		{"b", "POST", signings, "", signing(t, "b", "example.com/x", "dev"), 201, ""},
		{"deny", "PATCH", b + "/approval", mergePatch, conditions("Denied"), 200, `"Denied"`},
		{"approve as well", "PATCH", b + "/approval", mergePatch, conditions("Denied", "Approved"), 422, "status.conditions"},
		{"c", "POST", signings, "", signing(t, "c", "example.com/x", "dev"), 201, ""},
		{"fail", "PATCH", c + "/status", mergePatch, conditions("Failed"), 200, `"Failed"`},
		{"approve by status", "PATCH", c + "/status", mergePatch, conditions("Failed", "Approved"), 422, "status.conditions"},
		{"not so", "PATCH", c + "/approval", mergePatch, `{"status":{"conditions":[{"type":"Failed","status":"True"},{"type":"Denied","status":"False"}]}}`, 422, "status.conditions[1].status"},
		{"twice nothing", "PATCH", c + "/approval", mergePatch, `{"status":{"conditions":[{},{}]}}`, 422, `"field":"status.conditions[1].status"},{"reason":"FieldValueDuplicate"`},
		{"labels by approval", "PATCH", c + "/approval", mergePatch, `{"metadata":{"labels":{"a":"b"}},"spec":{"signerName":"example.com/y"}}`, 200, `"signerName":"example.com/x"`},
		{"no such request", "PATCH", signings + "/d/approval", mergePatch, conditions("Denied"), 404, "NotFound"},
		{"delete the approval", "DELETE", a + "/approval", "", "", 405, "MethodNotAllowed"},
		{"the object goes", "DELETE", a, "", "", 200, "Success"},
	})
}

// Requests for privileged groups are refused, and the server sets the requester.
func TestSubjectsOfSigningRequests(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.AuthorizationModes = []string{"AlwaysAllow"} })
	const client = "kubernetes.io/kube-apiserver-client"
	as := func(name, signer, group string) reply {
		return h.send("POST", signings, "application/json", []byte(signing(t, name, signer, group)), "Authorization", "Bearer bob-token")
	}
	as("a", client, "system:masters").expect(t, 403, "Forbidden")
	as("a", "example.com/x", "system:masters").expect(t, 201, "")
	made := as("b", client, "dev")
	made.expect(t, 201, "")
	if name := made.field(t, "spec.username"); name != "bob" {
		t.Errorf("asked for by %v", name)
	}
	if r := h.send("PATCH", signings+"/b/approval", mergePatch, []byte(`{"status":{"conditions":[{"type":"Approved","status":"True"}]}}`), "Authorization", "Bearer bob-token"); r.code != 200 {
		t.Errorf("who may sign anything: %d %s", r.code, r.body)
	}
	off := startServer(t, func(c *server.Config) {
		c.DisableAdmissionPlugins = append(c.DisableAdmissionPlugins, "CertificateSubjectRestriction")
	})
	off.post(signings, signing(t, "a", client, "system:masters")).expect(t, 201, "")
	off.send("POST", signings, "application/json", []byte(signing(t, "b", client, "dev")), "Authorization", "Bearer bob-token").expect(t, 403, "Forbidden")
}
