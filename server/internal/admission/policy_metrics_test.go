package admission_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestPolicyRecords counts what policies and match conditions decide, under upstream's names
// and labels, and notes it in audit events.
func TestPolicyRecords(t *testing.T) {
	h, lines := harness.StartAudited(t, "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- {level: Metadata, resources: [{resources: [configmaps]}]}\n", nil)
	named := func(c string) string {
		return `"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('` + c + `')"}],`
	}
	policyFor(h, "broken", named("b")+`"validations":[{"expression":"true"},{"expression":"false","message":"never"}],"auditAnnotations":[{"key":"who","valueExpression":"'by ' + request.userInfo.username"},{"key":"none","valueExpression":"null"}]`,
		`"validationActions":["Audit","Warn"]`)
	policyFor(h, "denied", named("d")+`"validations":[{"expression":"false"}]`, denies)
	policyFor(h, "ignored", `"failurePolicy":"Ignore",`+named("i")+`"validations":[{"expression":"object.data.none == ''"}]`, denies)
	policyFor(h, "noted", named("n")+`"validations":[{"expression":"true"}],"auditAnnotations":[{"key":"k","valueExpression":"string(object.data.none)"}]`, denies)
	h.MutateFor("changed", named("c")+`"mutations":[`+harness.ConfigurationChange(`Object{data: {"a": "b"}}`)+`]`)
	h.MutateFor("failing", named("f")+`"mutations":[`+patchChange(`[JSONPatch{op: "add", path: "/data/a", value: object.data.none}]`)+`]`)
	v := harness.NewReviewer(t, nil)
	h.ValidateBy(v, "hook", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), `,"failurePolicy":"Ignore","matchConditions":[{"name":"w","expression":"object.data.none == 'x'"},{"name":"n","expression":"object.metadata.name != 'b'"}]`)
	for name, code := range map[string]int{"b": 201, "d": 422, "i": 201, "n": 422, "c": 201, "f": 403} {
		if got := h.Post(harness.ConfigMaps, harness.ConfigMap(name, `{}`)); got.Code != code {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	text := string(h.Get("/metrics").Body)
	const checks, mutations = "apiserver_validating_admission_policy_check_", "apiserver_mutating_admission_policy_check_"
	for _, want := range []string{
		checks + `total{enforcement_action="audit",error_type="invalid_error",policy="broken",policy_binding="broken"} 1`,
		checks + `total{enforcement_action="warn",error_type="invalid_error",policy="broken",policy_binding="broken"} 1`,
		checks + `total{enforcement_action="deny",error_type="invalid_error",policy="denied",policy_binding="denied"} 1`,
		checks + `total{enforcement_action="allow",error_type="invalid_error",policy="ignored",policy_binding="ignored"} 1`,
		checks + `total{enforcement_action="deny",error_type="invalid_error",policy="noted",policy_binding="noted"} 1`,
		checks + `duration_seconds_bucket{enforcement_action="deny",error_type="invalid_error",policy="denied",policy_binding="denied",le="5e-07"} `,
		checks + `duration_seconds_bucket{enforcement_action="deny",error_type="invalid_error",policy="denied",policy_binding="denied",le="1"} 1`,
		mutations + `total{error_type="no_error",policy="changed",policy_binding="changed"} 1`,
		mutations + `total{error_type="invalid_error",policy="failing",policy_binding="failing"} 1`,
		mutations + `duration_seconds_count{error_type="no_error",policy="changed",policy_binding="changed"} 1`,
		`apiserver_admission_match_condition_exclusions_total{kind="webhook",name="hook.example.com",operation="CREATE",type="validating"} `,
		`apiserver_admission_match_condition_evaluation_errors_total{kind="webhook",name="hook.example.com",operation="CREATE",type="validating"} `,
		`apiserver_admission_match_condition_evaluation_seconds_bucket{kind="policy",name="denied",operation="CREATE",type="validate",le="0.25"} `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(text, checks+`total{enforcement_action="deny",error_type="no_error"`) || strings.Contains(text, `policy="broken",policy_binding="broken",le="+Inf"} 2`) {
		t.Error("a validation that is fulfilled is counted")
	}
	events := strings.Join(lines(), "\n")
	for _, want := range []string{`"broken/who":"by admin"`,
		`"validation.policy.admission.k8s.io/validation_failure":"[{\"message\":\"never\",\"policy\":\"broken\",\"binding\":\"broken\",\"expressionIndex\":1,\"validationActions\":[\"Audit\",\"Warn\"]}]"`} {
		if !strings.Contains(events, want) {
			t.Errorf("the events lack %s: %s", want, events)
		}
	}
	if strings.Contains(events, "broken/none") {
		t.Errorf("an annotation without a value: %s", events)
	}
}
