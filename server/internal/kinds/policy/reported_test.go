package policy_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// 1.25's causes of mistakes in objects, each once and at its field.
func TestCausesAreThoseOf125(t *testing.T) {
	h := harness.Start(t, nil)
	const roles = "/apis/rbac.authorization.k8s.io/v1/"
	for _, c := range []struct {
		name, path, body string
		want             []string // "field reason", sorted
	}{
		{"role without verbs", roles + "namespaces/default/roles", `{"metadata":{"name":"v"},"rules":[{"verbs":[]}]}`,
			[]string{"rules[0].apiGroups FieldValueRequired", "rules[0].resources FieldValueRequired", "rules[0].verbs FieldValueRequired"}},
		{"binding without role", roles + "namespaces/default/rolebindings", `{"metadata":{"name":"v"}}`,
			[]string{"roleRef.kind FieldValueNotSupported", "roleRef.name FieldValueRequired"}},
		{"binding of half a role", roles + "clusterrolebindings", `{"metadata":{"name":"v"},"roleRef":{"kind":"ClusterRole"},"subjects":[{"kind":"User"},{"name":"a"}]}`,
			[]string{"roleRef.name FieldValueRequired", "subjects[0].name FieldValueRequired", "subjects[1].kind FieldValueNotSupported"}},
		{"selector with a bad key", roles + "clusterroles", `{"metadata":{"name":"v"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a b":"c"}}]}}`,
			[]string{"aggregationRule.clusterRoleSelectors[0] FieldValueInvalid", "aggregationRule.clusterRoleSelectors[0].matchLabels FieldValueInvalid"}},
		{"class without handler", "/apis/node.k8s.io/v1/runtimeclasses", `{"metadata":{"name":"v"}}`,
			[]string{"handler FieldValueInvalid"}},
		{"class with a bad handler", "/apis/node.k8s.io/v1/runtimeclasses", `{"metadata":{"name":"v"},"handler":"A"}`,
			[]string{"handler FieldValueInvalid"}},
		{"taints", "/api/v1/nodes", `{"metadata":{"name":"v"},"spec":{"taints":[{"key":"a","effect":"X"},{"key":"b"}]}}`,
			[]string{"metadata.taints[0].effect FieldValueNotSupported", "metadata.taints[1].effect FieldValueRequired"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := h.Post(c.path+"?dryRun=All", c.body)
			r.Expect(t, http.StatusUnprocessableEntity, "Invalid")
			var got []string
			for _, cause := range r.Field(t, "details.causes").([]any) {
				m := cause.(map[string]any)
				got = append(got, m["field"].(string)+" "+m["reason"].(string))
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("causes %q, want %q", got, c.want)
			}
		})
	}
}

// An empty list that is always written is stored as absent, so it is null.
func TestEmptyListsAreNull(t *testing.T) {
	h := harness.Start(t, nil)
	const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	r := h.Post(path, `{"metadata":{"name":"a"},"rules":[]}`)
	r.Expect(t, http.StatusCreated, "")
	if v, ok := fieldsOf(t, r)["rules"]; !ok || v != nil {
		t.Errorf("created with the rules %v", v)
	}
	r = h.MergePatch(path+"/a", `{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`)
	if v, _ := fieldsOf(t, r)["rules"].([]any); len(v) != 1 {
		t.Errorf("patched to the rules %v", v)
	}
	r = h.MergePatch(path+"/a", `{"rules":[]}`)
	if v, ok := fieldsOf(t, r)["rules"]; !ok || v != nil {
		t.Errorf("patched to the rules %v", v)
	}
}

func fieldsOf(t *testing.T, r harness.Reply) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(r.Body, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
