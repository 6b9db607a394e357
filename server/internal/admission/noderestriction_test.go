package admission_test

import (
	"context"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// TestNodeRestriction: writes of the agent of the node a, with the refusals of 1.25.
func TestNodeRestriction(t *testing.T) {
	w := world{
		"pods/shop/mine":   `{"metadata":{"name":"mine","uid":"1"},"spec":{"nodeName":"a"}}`,
		"pods/shop/theirs": `{"metadata":{"name":"theirs","uid":"2"},"spec":{"nodeName":"b"}}`,
		"nodes//a":         `{"metadata":{"name":"a","uid":"7"}}`,
	}
	mirror := func(spec, owner string) string {
		return "metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [" + owner + "]}\nspec: {" + spec + "}"
	}
	const owner = "{apiVersion: v1, kind: Node, name: a, uid: '7', controller: true}"
	const onA = "metadata: {name: p, labels: {x: w}}\nspec: {nodeName: a}"
	const claim = "metadata: {name: c}\nspec: {volumeName: v}\nstatus: {phase: Bound, capacity: {storage: 1Gi}}"
	token := func(ref string) string { return "spec: {audiences: [x], boundObjectRef: {" + ref + "}}" }
	for _, c := range []struct {
		request     string // OPERATION RESOURCE[/SUBRESOURCE] NAME
		object, old string
		refusal     string
	}{
		{"create pods p", "metadata: {name: p}\nspec: {nodeName: a}", "", `pods "p" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "a" can only create mirror pods`},
		{"create pods p", mirror("nodeName: b", owner), "", `node "a" can only create pods with spec.nodeName set to itself`},
		{"create pods p", mirror("nodeName: a", ""), "", `node "a" can only create pods with an owner reference set to itself`},
		{"create pods p", mirror("nodeName: a", owner+","+owner), "", `node "a" can only create pods with a single owner reference set to itself`},
		{"create pods p", mirror("nodeName: a", "{apiVersion: v1, kind: Pod, name: a, uid: '7', controller: true}"), "", `with an owner reference set to itself`},
		{"create pods p", mirror("nodeName: a", "{apiVersion: v1, kind: Node, name: a, uid: '7'}"), "", `node "a" can only create pods with a controller owner reference set to itself`},
		{"create pods p", mirror("nodeName: a", "{apiVersion: v1, kind: Node, name: a, uid: '7', controller: true, blockOwnerDeletion: true}"), "", `node "a" must not set blockOwnerDeletion on an owner reference`},
		{"create pods p", mirror("nodeName: a", "{apiVersion: v1, kind: Node, name: a, uid: '8', controller: true}"), "", `node a UID mismatch: expected 8 got 7`},
		{"create pods p", mirror("nodeName: a, serviceAccountName: s", owner), "", `node "a" can not create pods that reference a service account`},
		{"create pods p", mirror("nodeName: a, imagePullSecrets: [{name: s}]", owner), "", `node "a" can not create pods that reference secrets`},
		{"create pods p", mirror("nodeName: a, containers: [{name: c, env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]", owner), "", `reference secrets`},
		{"create pods p", mirror("nodeName: a, volumes: [{name: v, configMap: {name: m}}]", owner), "", `node "a" can not create pods that reference configmaps`},
		{"create pods p", mirror("nodeName: a, volumes: [{name: v, persistentVolumeClaim: {claimName: m}}]", owner), "", `node "a" can not create pods that reference persistentvolumeclaims`},
		{"create pods p", mirror("nodeName: a, volumes: [{name: v, hostPath: {path: /}}]", owner), "", ""},
		{"update pods p", onA, onA, `unexpected operation "UPDATE", node "a" can only create and delete mirror pods`},
		{"delete pods p", "", onA, ""},
		{"delete pods p", "", "spec: {nodeName: b}", `pods "p" is forbidden: node "a" can only delete pods with spec.nodeName set to itself`},
		{"delete pods p", "", "spec: {}", `can only delete pods`},
		{"update pods/status p", onA, onA, ""},
		{"update pods/status p", onA, "spec: {nodeName: b}", `node "a" can only update pod status for pods with spec.nodeName set to itself`},
		{"update pods/status p", "metadata: {labels: {x: z}}\nspec: {nodeName: a}", onA, `node "a" cannot update labels through pod status`},
		{"create pods/eviction mine", "metadata: {name: mine}", "", ""},
		{"create pods/eviction theirs", "metadata: {name: theirs}", "", `pods "theirs" is forbidden: node a can only evict pods with spec.nodeName set to itself`},
		{"create pods/eviction gone", "metadata: {name: gone}", "", `pod "gone" not found`},
		{"create pods/binding p", "metadata: {name: p}", "", `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`},
		{"update pods/ephemeralcontainers p", onA, onA, `unexpected pod subresource "ephemeralcontainers"`},

		{"create nodes a", "metadata: {name: a, labels: {x: w, kubernetes.io/hostname: a, beta.kubernetes.io/os: l, node.kubernetes.io/x: w, a.kubelet.kubernetes.io/x: w, example.com/x: w}}\nspec: {taints: [{key: k, effect: NoSchedule}]}", "", ""},
		{"create nodes b", "metadata: {name: b}", "", `nodes "b" is forbidden: node "a" is not allowed to modify node "b"`},
		{"create nodes a", "metadata: {labels: {node-restriction.kubernetes.io/x: w, x.k8s.io/b: '', sub.node-restriction.kubernetes.io/x: w, kubernetes.io/x: ''}}", "", `node "a" is not allowed to set the following labels: kubernetes.io/x, node-restriction.kubernetes.io/x, sub.node-restriction.kubernetes.io/x, x.k8s.io/b`},
		{"create nodes a", "spec: {configSource: {configMap: {name: m, namespace: ns, kubeletConfigKey: k}}}", "", `node "a" is not allowed to create pods with a non-nil configSource`},
		{"update nodes a", "metadata: {labels: {kubernetes.io/os: l}}", "metadata: {labels: {x: w, kubernetes.io/os: k}}", ""},
		{"update nodes a", "metadata: {labels: {x: w}}", "metadata: {labels: {kubernetes.io/role: m}}", `nodes "a" is forbidden: is not allowed to modify labels: kubernetes.io/role`},
		{"update nodes/status a", "metadata: {labels: {kubernetes.io/role: o}}", "metadata: {labels: {kubernetes.io/role: m}}", `is not allowed to modify labels: kubernetes.io/role`},
		{"update nodes a", "spec: {}", "spec: {taints: [{key: k, effect: NoSchedule}]}", `node "a" is not allowed to modify taints`},
		{"update nodes a", "spec: {configSource: {configMap: {name: m}}}", "spec: {}", `node "a" is not allowed to update configSource to a new non-nil configSource`},
		{"update nodes a", "spec: {}", "spec: {configSource: {configMap: {name: m}}}", ""},
		{"delete nodes b", "", "{}", `node "a" is not allowed to modify node "b"`},

		{"create persistentvolumeclaims c", claim, "", `persistentvolumeclaims "c" is forbidden: may only update PVC status`},
		{"delete persistentvolumeclaims c", "", claim, `may only update PVC status`},
		{"update persistentvolumeclaims/status c", strings.Replace(claim, "1Gi}", "2Gi}, conditions: [{type: Resizing, status: 'True'}]", 1), claim, ""},
		{"update persistentvolumeclaims/status c", strings.Replace(claim, "Bound", "Lost", 1), claim, `node "a" is not allowed to update fields other than status.capacity and status.conditions: [phase]`},
		{"update persistentvolumeclaims/status c", strings.Replace(claim, "name: c", "name: c, labels: {x: ''}", 1), claim, `[labels]`},
		{"update persistentvolumeclaims/status c", strings.Replace(claim, "volumeName: v", "volumeName: w", 1), claim, `[spec]`},

		{"create serviceaccounts s", "metadata: {name: s}", "", ""},
		{"create serviceaccounts/token s", "spec: {audiences: [x]}", "", `serviceaccounts "s" is forbidden: node requested token not bound to a pod`},
		{"create serviceaccounts/token s", token("apiVersion: v1, kind: Secret, name: x, uid: y"), "", `node requested token not bound to a pod`},
		{"create serviceaccounts/token s", token("apiVersion: v1, kind: Pod, name: mine"), "", `node requested token with a pod binding without a uid`},
		{"create serviceaccounts/token s", token("apiVersion: v1, kind: Pod, name: mine, uid: '2'"), "", `the UID in the bound object reference (2) does not match the UID in record. The object might have been deleted and then recreated`},
		{"create serviceaccounts/token s", token("apiVersion: v1, kind: Pod, name: theirs, uid: '2'"), "", `node requested token bound to a pod scheduled on a different node`},
		{"create serviceaccounts/token s", token("apiVersion: v1, kind: Pod, name: gone, uid: '2'"), "", `pod "gone" not found`},
		{"create serviceaccounts/token s", token("apiVersion: v1, kind: Pod, name: mine, uid: '1'"), "", ""},

		{"create leases a", "metadata: {name: a}", "", `leases.coordination.k8s.io "a" is forbidden: can only access leases in the "kube-node-lease" system namespace`},
		{"create kube-node-lease:leases a", "metadata: {name: a}", "", ""},
		{"create kube-node-lease:leases b", "metadata: {name: b}", "", `can only access node lease with the same name as the requesting node`},
		{"update kube-node-lease:leases b", "{}", "{}", `can only access node lease with the same name as the requesting node`},
		{"create csinodes b", "metadata: {name: b}", "", `csinodes.storage.k8s.io "b" is forbidden: can only access CSINode with the same name as the requesting node`},
		{"delete csinodes a", "", "{}", ""},
		{"create events e", "{}", "", ""},
	} {
		chain := admission.New(w, admission.Config{EnableAdmissionPlugins: []string{"NodeRestriction"},
			DisableAdmissionPlugins: []string{"ServiceAccount", "TaintNodesByCondition", "Priority", "DefaultTolerationSeconds", "StorageObjectInUseProtection", "RuntimeClass"}})
		words := strings.Fields(c.request)
		namespace, path, ok := strings.Cut(words[1], ":")
		if !ok {
			namespace, path = "shop", words[1]
		}
		plural, sub, _ := strings.Cut(path, "/")
		res := resource(t, plural)
		r := &admission.Request{Operation: map[string]admission.Operation{"create": admission.Create, "update": admission.Update, "delete": admission.Delete}[words[0]],
			Resource: res, Subresource: sub, Namespace: namespace, Name: words[2], User: &authn.User{Name: "system:node:a", Groups: []string{"system:nodes"}}}
		if c.object != "" {
			r.Object = decodeBody(t, res, sub, c.object)
		}
		if c.old != "" {
			r.Old = decode(t, res, c.old)
		}
		err := chain.Admit(context.Background(), r)
		if (err == nil) != (c.refusal == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %v, want %q", c.request, err, c.refusal)
		}
		for _, user := range []*authn.User{nil, {Name: "system:node:a"}, {Name: "admin", Groups: []string{"system:nodes"}}} {
			if r.User = user; chain.Admit(context.Background(), r) != nil {
				t.Errorf("%s of %v is refused", c.request, user)
			}
		}
		if r.User = (&authn.User{Name: "system:node:", Groups: []string{"system:nodes"}}); chain.Admit(context.Background(), r) == nil {
			t.Errorf("%s of an agent without a node is permitted", c.request)
		}
	}
}

// decodeBody decodes the body of a request, whose kind may be that of a subresource.
func decodeBody(t *testing.T, res *api.Resource, sub, source string) document.Value {
	t.Helper()
	if sub != "eviction" && sub != "token" && sub != "binding" {
		return decode(t, res, source)
	}
	text, err := yaml.ToJSON([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := document.DecodeAny(text, document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}
