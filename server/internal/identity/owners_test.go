package identity_test

import (
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestOwnerRights: OwnerReferencesPermissionEnforcement, with the refusals of 1.25.
func TestOwnerRights(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.EnableAdmissionPlugins = []string{"OwnerReferencesPermissionEnforcement"}
	})
	grant := func(subject, name, rules string) {
		h.Send("POST", harness.RBACGroup+"clusterroles", "application/json", []byte(harness.RoleOf(name, rules))).Expect(t, 201, "")
		h.Send("POST", harness.RBACGroup+"clusterrolebindings", "application/json", []byte(harness.BindingOf(name, "ClusterRole", name, subject))).Expect(t, 201, "")
	}
	const edit = `{"apiGroups":[""],"resources":["configmaps","pods"],"verbs":["create","update","patch"]}`
	grant(harness.ToBob, "edits", edit)
	grant(harness.ToCarol, "owns", edit+`,{"apiGroups":[""],"resources":["configmaps"],"verbs":["delete"]},
		{"apiGroups":["apps"],"resources":["replicasets/finalizers"],"resourceNames":["mine"],"verbs":["update"]}`)
	object := func(name, owners string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"ownerReferences":[%s]}}`, name, owners)
	}
	owner := func(apiVersion, kind, name, more string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":%q,"uid":"u-%s"%s}`, apiVersion, kind, name, name, more)
	}
	const block = `,"blockOwnerDeletion":true`
	mine, free := owner("apps/v1", "ReplicaSet", "mine", block), owner("apps/v1", "ReplicaSet", "mine", "")
	const cannotDelete = `configmaps \"c\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>`
	const cannotBlock = `is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>`
	patch := func(owners string) string { return `{"metadata":{"ownerReferences":[` + owners + `]}}` }
	h.Each([]harness.RoleRequest{
		{"bob-token", "POST", harness.ConfigMaps, object("c", free), 201, ""},
		{"bob-token", "POST", harness.ConfigMaps, object("d", mine), 403, `configmaps \"d\" ` + cannotBlock},
		{"carol-token", "POST", harness.ConfigMaps, object("d", mine), 201, ""},
		{"carol-token", "POST", harness.ConfigMaps, object("e", owner("apps/v1", "ReplicaSet", "other", block)), 403, cannotBlock},
		{"carol-token", "POST", harness.ConfigMaps, object("e", owner("v1", "Node", "n", block)), 403, cannotBlock},
		{"carol-token", "POST", harness.ConfigMaps, object("e", owner("example.com/v1", "Shoe", "s", block)), 403,
			`cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind Shoe: no matches for kind \"Shoe\" in version \"example.com/v1\"`},
		{"bob-token", "PATCH", harness.ConfigMaps + "/c", `{"data":{"a":"1"}}`, 200, ""},
		{"bob-token", "PATCH", harness.ConfigMaps + "/c", patch(""), 403, cannotDelete},
		{"bob-token", "PATCH", harness.ConfigMaps + "/c", patch(mine), 403, cannotDelete},
		{"carol-token", "PATCH", harness.ConfigMaps + "/c", patch(mine), 200, ""},
		{"carol-token", "PATCH", harness.ConfigMaps + "/d", patch(mine + "," + owner("v1", "Node", "n", "")), 200, ""},
		{"carol-token", "PATCH", harness.ConfigMaps + "/d", patch(mine + "," + owner("v1", "Node", "n", block)), 403, cannotBlock},
		{"carol-token", "PATCH", harness.ConfigMaps + "/d", patch(""), 200, ""},
		{harness.AdminToken, "POST", harness.ConfigMaps, object("e", owner("example.com/v1", "Shoe", "s", block)), 201, ""},
	})
}
