package endpoints_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A certificate signing request gets its requester from the server, its decision in the
// approval and its certificate in the status.
func TestCertificateSigningRequest(t *testing.T) {
	h := harness.Start(t, nil)
	pem, err := os.ReadFile("../kinds/policy/testdata/request.pem")
	if err != nil {
		t.Fatal(err)
	}
	chain, err := os.ReadFile("../kinds/policy/testdata/certificate.pem")
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := json.Marshal(map[string]any{"request": pem, "signerName": "example.com/x", "usages": []string{"any"}, "username": "somebody", "extra": map[string][]string{"a": {"b"}}})
	const all, one, merge = "/apis/certificates.k8s.io/v1/certificatesigningrequests", "/apis/certificates.k8s.io/v1/certificatesigningrequests/r", "application/merge-patch+json"
	approved := `{"status":{"certificate":"eA==","conditions":[{"type":"Approved","status":"True","reason":"Kit"}]}}`
	certificate := `{"status":{"certificate":"` + base64.StdEncoding.EncodeToString(chain) + `"}}`
	h.Run(t, []harness.Step{
		{"create", "POST", all, "", `{"metadata":{"name":"r","labels":{"l":"1"}},"spec":` + string(spec) + `,"status":{"certificate":"eA=="}}`, 201, `"status":{}`},
		{"spec stays", "PATCH", one, merge, `{"spec":{"signerName":"example.com/y"}}`, 200, `"signerName":"example.com/x"`},
		{"approve at the wrong place", "PATCH", one + "/status", merge, approved, 422, "use the approval subresource"},
		{"approve", "PATCH", one + "/approval", merge, approved, 200, `"reason":"Kit"`},
		{"read", "GET", one + "/approval", "", "", 200, `"lastTransitionTime":"2`},
		{"who approved", "GET", one, "", "", 200, `"subresource":"approval"`},
		{"issue", "PATCH", one + "/status", merge, certificate, 200, `"certificate":"LS0t`},
		{"take back", "PATCH", one + "/approval", merge, `{"status":{"conditions":null}}`, 422, "may not remove"},
		{"certificate stays", "PATCH", one + "/approval", merge, `{"status":{"certificate":null}}`, 200, `"certificate":"LS0t`},
		{"other verbs", "POST", one + "/approval", "", "{}", 405, "MethodNotAllowed"},
		{"by signer", "GET", all + "?fieldSelector=spec.signerName%3Dexample.com/y", "", "", 200, `"items":[]`},
	})
	if r := h.Get(one); r.Field(t, "spec.username") != "admin" || r.Field(t, "status.conditions.0.type") != "Approved" {
		t.Errorf("got %s", r.Body)
	}
}
