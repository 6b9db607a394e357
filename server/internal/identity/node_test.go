package identity_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestNodeAgents: the agent of a node reads what the pods on its node need, at once, and
// writes only about itself.
func TestNodeAgents(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.AuthorizationModes = []string{"Node", "RBAC"}
		c.EnableAdmissionPlugins = []string{"NodeRestriction"}
	})
	const shop, volumes = "/api/v1/namespaces/default/", `"spec":{"nodeName":"a","containers":[{"name":"c","image":"i"}],"volumes":[{"name":"s","secret":{"secretName":"x"}},{"name":"c","persistentVolumeClaim":{"claimName":"data"}}]}`
	var uid string
	for _, c := range []struct {
		as, method, path, body string
		code                   int
		part                   string // of the answer
	}{
		{"a", "GET", shop + "secrets/x", "", 403, `secrets \"x\" is forbidden: User \"system:node:a\" cannot get resource \"secrets\" in API group \"\" in the namespace \"default\": no relationship found between node 'a' and this object`},
		{"", "POST", shop + "secrets", `{"metadata":{"name":"x"}}`, 201, ""},
		{"", "POST", shop + "pods", `{"metadata":{"name":"p","labels":{"l":"v"}},` + volumes + `}`, 201, ""},
		{"a", "GET", shop + "secrets/x", "", 200, ""},
		{"a", "GET", shop + "secrets?fieldSelector=metadata.name%3Dx", "", 200, ""},
		{"a", "GET", shop + "secrets", "", 403, ": No Object name found"},
		{"a", "GET", shop + "secrets/y", "", 403, ""},
		{"b", "GET", shop + "secrets/x", "", 403, "no relationship found between node 'b'"},
		{"a", "GET", "/api/v1/persistentvolumes/v", "", 403, ""},
		{"", "POST", "/api/v1/persistentvolumes", `{"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"claimRef":{"namespace":"default","name":"data"},"csi":{"driver":"d","volumeHandle":"h","nodeStageSecretRef":{"namespace":"kube-system","name":"csi"}}}}`, 201, ""},
		{"a", "GET", "/api/v1/persistentvolumes/v", "", 200, ""},
		{"a", "GET", "/api/v1/namespaces/kube-system/secrets/csi", "", 404, ""},
		{"", "PATCH", "/api/v1/persistentvolumes/v", `{"spec":{"claimRef":null}}`, 200, ""},
		{"a", "GET", "/api/v1/persistentvolumes/v", "", 403, ""},

		{"a", "POST", "/api/v1/nodes", `{"metadata":{"name":"b"}}`, 403, `nodes \"b\" is forbidden: node \"a\" is not allowed to modify node \"b\"`},
		{"a", "POST", "/api/v1/nodes", `{"metadata":{"name":"a","labels":{"kubernetes.io/hostname":"a"}}}`, 201, ""},
		{"a", "PATCH", "/api/v1/nodes/a", `{"spec":{"taints":null}}`, 403, `node \"a\" is not allowed to modify taints`},
		{"a", "PATCH", "/api/v1/nodes/a", `{"metadata":{"labels":{"kubernetes.io/role":""}}}`, 403, "is not allowed to modify labels: kubernetes.io/role"},
		{"a", "PATCH", "/api/v1/nodes/a", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"gone","uid":"1"}]}}`, 403, `node \"a\" is not allowed to modify ownerReferences`},
		{"a", "PATCH", "/api/v1/nodes/a/status", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"gone","uid":"1"}]}}`, 403, "is not allowed to modify ownerReferences"},
		{"a", "DELETE", "/api/v1/nodes/a", "", 403, ""},
		{"a", "PATCH", "/api/v1/nodes/a/status", `{"status":{"phase":"Running"}}`, 200, ""},
		{"b", "PATCH", "/api/v1/nodes/a/status", `{"status":{"phase":"Pending"}}`, 403, ""},

		{"a", "PATCH", shop + "pods/p/status", `{"status":{"phase":"Running"}}`, 200, ""},
		{"a", "PATCH", shop + "pods/p/status", `{"metadata":{"labels":{"l":"w"}}}`, 403, `node \"a\" cannot update labels through pod status`},
		{"b", "PATCH", shop + "pods/p/status", `{"status":{"phase":"Failed"}}`, 403, ""},
		{"a", "POST", shop + "pods", `{"metadata":{"name":"q"},` + volumes + `}`, 403, "can only create mirror pods"},
		{"", "POST", shop + "serviceaccounts", `{"metadata":{"name":"sa"}}`, 201, ""},
		{"", "POST", shop + "pods", `{"metadata":{"name":"t"},"spec":{"nodeName":"a","serviceAccountName":"sa","containers":[{"name":"c","image":"i"}]}}`, 201, "uid"},
		{"a", "POST", shop + "serviceaccounts/sa/token", `{"spec":{"audiences":["x"],"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"t","uid":"UID"}}}`, 201, ""},
		{"a", "POST", shop + "serviceaccounts/sa/token", `{"spec":{"audiences":["x"]}}`, 403, `serviceaccounts \"sa\" is forbidden: node requested token not bound to a pod`},
		{"b", "POST", shop + "serviceaccounts/sa/token", `{"spec":{"audiences":["x"],"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"t","uid":"UID"}}}`, 403, "no relationship found"},

		{"a", "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", `{"metadata":{"name":"b"}}`, 403, "can only access node lease with the same name as the requesting node"},
		{"a", "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", `{"metadata":{"name":"a"}}`, 201, ""},
		{"a", "PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a", `{"spec":{"holderIdentity":"a"}}`, 200, ""},
		{"a", "POST", "/apis/storage.k8s.io/v1/csinodes", `{"metadata":{"name":"a"},"spec":{"drivers":[]}}`, 201, ""},
		{"a", "DELETE", "/apis/storage.k8s.io/v1/csinodes/b", "", 403, ""},
		{"a", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"default"}}`, 201, `"evaluationError":"node authorizer does not support user rule resolution"`},

		{"", "POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"metadata":{"name":"b"},"spec":{"minAvailable":0,"selector":{"matchLabels":{"l":"v"}}}}`, 201, ""},
		{"", "PATCH", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status", `{"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":1,"desiredHealthy":0,"expectedPods":1}}`, 200, ""},
		{"b", "POST", shop + "pods/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`, 403, "node b can only evict pods with spec.nodeName set to itself"},
		{"", "GET", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b", "", 200, `"disruptionsAllowed":1`},
		{"b", "DELETE", shop + "pods/p", "", 403, `node \"b\" can only delete pods with spec.nodeName set to itself`},
		{"a", "POST", shop + "pods/p/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`, 201, ""},
		{"", "DELETE", shop + "pods/p?gracePeriodSeconds=0", "", 0, ""},
		{"a", "GET", shop + "secrets/x", "", 403, ""},
	} {
		headers := []string{"Authorization", "Bearer " + harness.AdminToken}
		if c.as != "" {
			headers = append(headers, "Impersonate-User", "system:node:"+c.as, "Impersonate-Group", "system:nodes")
		}
		kind := ""
		if c.method == "PATCH" {
			kind = harness.MergePatchMedia
		} else if c.body != "" {
			kind = "application/json"
		}
		got := h.Send(c.method, c.path, kind, []byte(strings.ReplaceAll(c.body, "UID", uid)), headers...)
		if c.code != 0 && got.Code != c.code || !strings.Contains(string(got.Body), c.part) {
			t.Errorf("%s: %s %s %s: %d %s, want %d %s", c.as, c.method, c.path, c.body, got.Code, got.Body, c.code, c.part)
		}
		if c.part == "uid" {
			uid, _ = got.Field(t, "metadata.uid").(string)
		}
	}
}

// Without the mode and the plug-in an agent has the rights of its roles: none.
func TestAgentsWithoutTheMode(t *testing.T) {
	h := harness.Start(t, nil)
	got := h.Send("GET", "/api/v1/nodes", "", nil, "Authorization", "Bearer "+harness.AdminToken, "Impersonate-User", "system:node:a", "Impersonate-Group", "system:nodes")
	if got.Code != 403 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
