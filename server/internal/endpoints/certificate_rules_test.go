package endpoints_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Decisions are final, each endpoint writes its own fields, and a refused write changes
// nothing.
func TestDecisionsOnSigningRequests(t *testing.T) {
	h := harness.Start(t, nil)
	chain, err := os.ReadFile("../kinds/policy/testdata/certificate.pem")
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
	a, b, c := harness.Signings+"/a", harness.Signings+"/b", harness.Signings+"/c"
	h.Run(t, []harness.Step{
		{"a", "POST", harness.Signings, "", harness.Signing(t, "a", "example.com/x", "dev"), 201, ""},
		{"by the object", "PATCH", a, harness.MergePatchMedia, conditions("Approved"), 200, `"status":{}`},
		{"dry run", "PATCH", a + "/approval?dryRun=All", harness.MergePatchMedia, conditions("Approved"), 200, `"Approved"`},
		{"not decided", "GET", a, "", "", 200, `"status":{}`},
		{"stale", "PATCH", a + "/approval", harness.MergePatchMedia, `{"metadata":{"resourceVersion":"1"},"status":{}}`, 409, "Conflict"},
		{"approve", "PATCH", a + "/approval", harness.MergePatchMedia, conditions("Approved"), 200, `"Approved"`},
		{"deny as well", "PATCH", a + "/approval", harness.MergePatchMedia, conditions("Approved", "Denied"), 422, "status.conditions"},
		{"take back", "PATCH", a + "/approval", harness.MergePatchMedia, conditions(), 422, "status.conditions"},
		{"no certificate", "PATCH", a + "/status", harness.MergePatchMedia, certificate("x"), 422, "status.certificate"},
		{"certificate by approval", "PATCH", a + "/approval", harness.MergePatchMedia, certificate(string(chain)), 200, `"Approved"`},
		{"certificate", "PATCH", a + "/status", harness.MergePatchMedia, certificate(string(chain)), 200, `"certificate":"LS0t`},
		{"another one", "PATCH", a + "/status", harness.MergePatchMedia, certificate(string(chain) + string(chain)), 422, "status.certificate"},
		{"none", "PATCH", a + "/status", harness.MergePatchMedia, `{"status":{"certificate":null}}`, 422, "status.certificate"},
		{"another reason", "PATCH", a + "/status", harness.MergePatchMedia, `{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Other"}]}}`, 200, `"reason":"Kit"`},

		{"b", "POST", harness.Signings, "", harness.Signing(t, "b", "example.com/x", "dev"), 201, ""},
		{"deny", "PATCH", b + "/approval", harness.MergePatchMedia, conditions("Denied"), 200, `"Denied"`},
		{"approve as well", "PATCH", b + "/approval", harness.MergePatchMedia, conditions("Denied", "Approved"), 422, "status.conditions"},
		{"c", "POST", harness.Signings, "", harness.Signing(t, "c", "example.com/x", "dev"), 201, ""},
		{"fail", "PATCH", c + "/status", harness.MergePatchMedia, conditions("Failed"), 200, `"Failed"`},
		{"approve by status", "PATCH", c + "/status", harness.MergePatchMedia, conditions("Failed", "Approved"), 422, "status.conditions"},
		{"not so", "PATCH", c + "/approval", harness.MergePatchMedia, `{"status":{"conditions":[{"type":"Failed","status":"True"},{"type":"Denied","status":"False"}]}}`, 422, "status.conditions[1].status"},
		{"twice nothing", "PATCH", c + "/approval", harness.MergePatchMedia, `{"status":{"conditions":[{},{}]}}`, 422, `"field":"status.conditions[1].status"},{"reason":"FieldValueDuplicate"`},
		{"labels by approval", "PATCH", c + "/approval", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}},"spec":{"signerName":"example.com/y"}}`, 200, `"signerName":"example.com/x"`},
		{"no such request", "PATCH", harness.Signings + "/d/approval", harness.MergePatchMedia, conditions("Denied"), 404, "NotFound"},
		{"delete the approval", "DELETE", a + "/approval", "", "", 405, "MethodNotAllowed"},
		{"the object goes", "DELETE", a, "", "", 200, "Success"},
	})
}

// Requests for privileged groups are refused, and the server sets the requester.
func TestSubjectsOfSigningRequests(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.AuthorizationModes = []string{"AlwaysAllow"} })
	const client = "kubernetes.io/kube-apiserver-client"
	as := func(name, signer, group string) harness.Reply {
		return h.Send("POST", harness.Signings, "application/json", []byte(harness.Signing(t, name, signer, group)), "Authorization", "Bearer bob-token")
	}
	as("a", client, "system:masters").Expect(t, 403, "Forbidden")
	as("a", "example.com/x", "system:masters").Expect(t, 201, "")
	made := as("b", client, "dev")
	made.Expect(t, 201, "")
	if name := made.Field(t, "spec.username"); name != "bob" {
		t.Errorf("asked for by %v", name)
	}
	if r := h.Send("PATCH", harness.Signings+"/b/approval", harness.MergePatchMedia, []byte(`{"status":{"conditions":[{"type":"Approved","status":"True"}]}}`), "Authorization", "Bearer bob-token"); r.Code != 200 {
		t.Errorf("who may sign anything: %d %s", r.Code, r.Body)
	}
	off := harness.Start(t, func(c *server.Config) {
		c.DisableAdmissionPlugins = append(c.DisableAdmissionPlugins, "CertificateSubjectRestriction")
	})
	off.Post(harness.Signings, harness.Signing(t, "a", client, "system:masters")).Expect(t, 201, "")
	off.Send("POST", harness.Signings, "application/json", []byte(harness.Signing(t, "b", client, "dev")), "Authorization", "Bearer bob-token").Expect(t, 403, "Forbidden")
}
