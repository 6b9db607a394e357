package objects_test

import (
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Some resources are replaced only with a resourceVersion; patches need none, but may not
// remove it, and a PUT that creates has none.
func TestReplacingWithoutAVersion(t *testing.T) {
	h := harness.Start(t, nil)
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	const events = "/apis/events.k8s.io/v1/namespaces/default/events/e"
	const budget = `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{}}}`
	h.Run(t, []harness.Step{
		{"with a uid", "PUT", leases + "/l", "", `{"metadata":{"name":"l","uid":"x"},"spec":{"leaseTransitions":-1}}`, 404, "NotFound"},
		{"with a version, wrong", "PUT", leases + "/l", "", `{"metadata":{"name":"l","resourceVersion":"1"},"spec":{"leaseTransitions":-1}}`, 422, "leaseTransitions"},
		{"with a version", "PUT", leases + "/l", "", `{"metadata":{"name":"l","resourceVersion":"1"}}`, 404, "NotFound"},
		{"in another version", "PUT", events, "", `{"metadata":{"name":"e","resourceVersion":"1"},"eventTime":"2020-01-01T00:00:00.000000Z","type":"Normal","action":"a","reason":"r","regarding":{"namespace":"default"},"reportingController":"example.com/c","reportingInstance":"c-1"}`, 404, "NotFound"},
		{"by PUT", "PUT", leases + "/l", "", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}}`, 201, ""},
		{"again", "PUT", leases + "/l", "", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"b"}}`, 422, `leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update`},
		{"zero", "PUT", leases + "/l", "", `{"metadata":{"name":"l","resourceVersion":"0"}}`, 422, `"field":"metadata.resourceVersion"`},
		{"patched away", "PATCH", leases + "/l", "application/merge-patch+json", `{"metadata":{"resourceVersion":null}}`, 422, "must be specified"},
		{"patched with another", "PATCH", leases + "/l", "application/json-patch+json", `[{"op":"replace","path":"/metadata","value":{"name":"l"}}]`, 422, "must be specified"},
		{"patched", "PATCH", leases + "/l?dryRun=All", "application/merge-patch+json", `{"spec":{"leaseTransitions":1}}`, 200, ""},
		{"dry run", "PUT", leases + "/l?dryRun=All", "", `{"metadata":{"name":"l"}}`, 422, "must be specified"},
		{"stale", "PUT", leases + "/l", "", `{"metadata":{"name":"l","resourceVersion":"1"}}`, 409, "Conflict"},
		{"patch", "PATCH", leases + "/l", harness.MergePatchMedia, `{"spec":{"holderIdentity":"c"}}`, 200, `"c"`},
		{"budget", "POST", harness.BudgetPath, "", budget, 201, ""},
		{"budget again", "PUT", harness.BudgetPath + "/b", "", budget, 422, "must be specified"},
		{"its status", "PUT", harness.BudgetPath + "/b/status", "", budget, 422, "must be specified"},
		{"others may", "POST", harness.ConfigMaps, "", harness.ConfigMap("c", `{"a":"1"}`), 201, ""},
		{"be replaced", "PUT", harness.ConfigMaps + "/c", "", harness.ConfigMap("c", `{"a":"2"}`), 200, `"a":"2"`},
	})
	version := h.Get(leases+"/l").Field(t, "metadata.resourceVersion").(string)
	h.Run(t, []harness.Step{{"known", "PUT", leases + "/l", "", `{"metadata":{"name":"l","resourceVersion":"` + version + `"},"spec":{"holderIdentity":"d"}}`, 200, `"d"`}})
}
