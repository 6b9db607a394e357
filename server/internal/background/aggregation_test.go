package background_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// shownRules are the verbs of a role's rules, in order: "get list".
func shownRules(role map[string]any) string {
	var verbs []string
	rules, _ := role["rules"].([]any)
	for _, rule := range rules {
		for _, verb := range rule.(map[string]any)["verbs"].([]any) {
			verbs = append(verbs, verb.(string))
		}
	}
	return strings.Join(verbs, " ")
}

// Roles with an aggregation rule get the rules of the roles that it selects, through
// others that aggregate too, and lose those of roles that it does not select any more.
func TestClusterRolesAggregate(t *testing.T) {
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"clusterrole-aggregation"} })
	role := func(name, label, verbs string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"into-%s":"true"}},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":[%s]}]}`, name, label, verbs)
	}
	sum := func(name, labels string, selected ...string) string {
		for i, s := range selected {
			selected[i] = `{"matchExpressions":[{"key":"into-` + s + `","operator":"Exists"}]}`
		}
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"aggregationRule":{"clusterRoleSelectors":[%s]},"rules":[{"apiGroups":[""],"resources":["nodes"],"verbs":["bad"]}]}`, name, labels, strings.Join(selected, ","))
	}
	for _, body := range []string{sum("outer", "", "outer"), sum("inner", `"into-outer":"x","into-inner":"x"`, "b", "a", "inner"),
		role("z", "a", `"get"`), role("y", "a", `"list"`), role("x", "b", `"get"`), role("w", "b", `"watch"`)} {
		h.Post(roles, body).Expect(t, http.StatusCreated, "")
	}
	wait := func(name, want string) {
		t.Helper()
		h.Await(roles, func(all harness.Contents) bool { return shownRules(all[name]) == want })
	}
	// The rules of x and z are equal; a role does not aggregate itself.
	wait("inner", "watch get list")
	wait("outer", "watch get list")

	h.MergePatch(roles+"/y", `{"metadata":{"labels":null}}`)
	wait("outer", "watch get")
	h.Remove(roles+"/w", "").Expect(t, http.StatusOK, "")
	wait("outer", "get")
	h.MergePatch(roles+"/inner", `{"rules":[]}`)
	h.Post(roles, role("v", "outer", `"patch"`)).Expect(t, http.StatusCreated, "")
	wait("outer", "get patch")
	wait("inner", "get")
	h.MergePatch(roles+"/inner", `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"none":"x"}}]}}`)
	wait("outer", "patch")
	wait("inner", "")
}
