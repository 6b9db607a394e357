package objects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestApply(t *testing.T) {
	h := harness.Start(t, nil)
	path := harness.ConfigMaps + "/a"
	const leasePath = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
	const lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: l}\nspec:\n  "
	const levels = "/apis/flowcontrol.apiserver.k8s.io/"
	const level = "apiVersion: flowcontrol.apiserver.k8s.io/%s\nkind: PriorityLevelConfiguration\nmetadata: {name: a}\nspec: {type: Limited, limited: {assuredConcurrencyShares: %s, limitResponse: {type: Reject}}}"
	config := func(data string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: " + data }
	h.Run(t, []harness.Step{
		{"no manager", "PATCH", path, harness.ApplyMedia, config("{k: v}"), 422, "fieldManager"},
		{"a manager that cannot be printed", "PATCH", path + "?fieldManager=a%0Ab", harness.ApplyMedia, config("{}"), 422, "invalid character U+000A (at position 1)"},
		{"a manager of too many letters", "PATCH", path + "?fieldManager=" + strings.Repeat("m", 129), harness.ApplyMedia, config("{}"), 422, "Too long: must have at most 128 bytes"},
		{"other name", "PATCH", path + "?fieldManager=m", harness.ApplyMedia, strings.Replace(config("{}"), "name: a", "name: b", 1), 400, "does not match"},
		{"other kind", "PATCH", path + "?fieldManager=m", harness.ApplyMedia, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}", 400, "Secret"},
		{"no YAML", "PATCH", path + "?fieldManager=m", harness.ApplyMedia, "{", 400, "YAML"},
		{"a uid of nothing", "PATCH", path + "?fieldManager=m", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, uid: x}", 409, "uid mismatch"},
		{"dry run", "PATCH", path + "?fieldManager=m&dryRun=All", harness.ApplyMedia, config("{k: v}"), 201, `"k":"v"`},
		{"nothing stored", "GET", path, "", "", 404, ""},
		{"status of nothing", "PATCH", harness.PodsPath + "/p/status?fieldManager=m", harness.ApplyMedia, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}", 404, ""},
		{"create", "PATCH", path + "?fieldManager=m", harness.ApplyMedia, config("{k: v, l: w}"), 201, `"manager":"m","operation":"Apply"`},
		{"conflict", "PATCH", path + "?fieldManager=n", harness.ApplyMedia, config("{k: x}"), 409, `{"reason":"FieldManagerConflict","message":"conflict with \"m\"","field":".data.k"}`},
		{"shared", "PATCH", path + "?fieldManager=n", harness.ApplyMedia, config("{l: w}"), 200, `"manager":"n"`},
		{"force", "PATCH", path + "?fieldManager=n&force=true", harness.ApplyMedia, config("{k: x, l: w}"), 200, `"k":"x"`},
		{"left out, but shared", "PATCH", path + "?fieldManager=m", harness.ApplyMedia, config("{}"), 200, `"l":"w"`},
		{"left out", "PATCH", path + "?fieldManager=n", harness.ApplyMedia, config("{k: x}"), 200, `"data":{"k":"x"}`},
		{"update takes over", "PATCH", path, "application/merge-patch+json", `{"data":{"k":"y"}}`, 200, `"manager":"capstan-test","operation":"Update"`},
		{"conflict with an update", "PATCH", path + "?fieldManager=n", harness.ApplyMedia, config("{k: z}"), 409, `conflict with \"capstan-test\" using v1`},
		{"force is for apply", "PATCH", path + "?force=true", "application/merge-patch+json", `{}`, 422, "force"},
		{"what the server sets elsewhere", "PATCH", harness.ConfigMaps + "/b?fieldManager=m", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, deletionGracePeriodSeconds: 5}", 201, `"deletionGracePeriodSeconds":5`},
		{"the same again", "PATCH", harness.ConfigMaps + "/b?fieldManager=m", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, deletionGracePeriodSeconds: 5}", 200, `"deletionGracePeriodSeconds":5`},
		{"a value that does not fit", "PATCH", path + "?fieldManager=n", harness.ApplyMedia, config("{k: a}") + "\nbinaryData: {b: '#'}", 409, "capstan-test"},
		{"without a conflict", "PATCH", path + "?fieldManager=n&force=true", harness.ApplyMedia, config("{k: a}") + "\nbinaryData: {b: '#'}", 400, "binaryData[b]"},
		{"for another object", "PATCH", path + "x?fieldManager=n", harness.ApplyMedia, config("{}"), 400, "does not match"},
		{"to another object, with a conflict", "PATCH", path + "?fieldManager=o", harness.ApplyMedia, strings.Replace(config("{k: a}"), "name: a", "name: b", 1), 409, "capstan-test"},
		{"to another object, without one", "PATCH", path + "?fieldManager=o&force=true", harness.ApplyMedia, strings.Replace(config("{k: a}"), "name: a", "name: b", 1), 400, "does not match"},
		{"a lease", "PATCH", leasePath + "?fieldManager=m", harness.ApplyMedia, lease + "renewTime: 2020-01-01T00:00:00.000000Z", 201, ""},
		{"a finalizer of any name", "PATCH", leasePath, "application/merge-patch+json", `{"metadata":{"finalizers":["a"]}}`, 200, `"finalizers":["a"]`},
		{"a number for a time, with a conflict", "PATCH", leasePath + "?fieldManager=n", harness.ApplyMedia, lease + "renewTime: 1", 409, "renewTime"},
		{"a list for a time, with a conflict", "PATCH", leasePath + "?fieldManager=n", harness.ApplyMedia, lease + "renewTime: []", 409, "renewTime"},
		{"a level of priority", "PATCH", levels + "v1beta2/prioritylevelconfigurations/a?fieldManager=m", harness.ApplyMedia, fmt.Sprintf(level, "v1beta2", "5"), 201, ""},
		{"in another version, with a number that does not fit", "PATCH", levels + "v1beta1/prioritylevelconfigurations/a?fieldManager=n", harness.ApplyMedia, fmt.Sprintf(level, "v1beta1", "9223372036854776000"), 400, "assuredConcurrencyShares"},
		{"a number for a time", "PATCH", leasePath + "?fieldManager=m", harness.ApplyMedia, lease + "renewTime: 1", 400, "renewTime"},
		{"in a new object", "PATCH", path + "x?fieldManager=n", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nbinaryData: {b: '#'}", 400, "binaryData[b]"},
		{"unknown field", "PATCH", path + "?fieldManager=n&fieldValidation=Strict", harness.ApplyMedia, config("{}") + "\nnosuch: 1", 400, "nosuch"},
	})
	again := h.Send("PATCH", path+"?fieldManager=n&force=true", harness.ApplyMedia, []byte(config("{k: z}")))
	same := h.Send("PATCH", path+"?fieldManager=n&force=true", harness.ApplyMedia, []byte(config("{k: z}")))
	if a, b := again.Field(t, "metadata.resourceVersion"), same.Field(t, "metadata.resourceVersion"); a != b {
		t.Errorf("an apply that changes nothing moved the revision from %v to %v", a, b)
	}
}

func TestApplyToSubresources(t *testing.T) {
	h := harness.Start(t, nil)
	const path = "/apis/apps/v1/namespaces/default/deployments/d"
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
	h.Run(t, []harness.Step{
		{"create", "PATCH", path + "?fieldManager=m", harness.ApplyMedia, head + "spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}", 201, ""},
		{"status", "PATCH", path + "/status?fieldManager=s", harness.ApplyMedia, head + "status: {replicas: 3}", 200, `"subresource":"status"`},
		{"a manifest of a deleted object", "PATCH", harness.ConfigMaps + "/gone?fieldManager=x", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone, resourceVersion: \"99999999\"}", 201, ""},
		{"one in a dry run", "PATCH", harness.ConfigMaps + "/dry?fieldManager=x&dryRun=All", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dry, resourceVersion: \"99999999\"}", 201, `"resourceVersion":"99999999"`},
		{"one that is there", "PATCH", harness.ConfigMaps + "/gone?fieldManager=x", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone, resourceVersion: \"99999999\"}", 409, "modified"},
		{"one without a number", "PATCH", harness.ConfigMaps + "/other?fieldManager=x", harness.ApplyMedia, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, resourceVersion: x}", 400, "resourceVersion"},
		{"scale of another object", "PUT", path + "/scale", "", `{"metadata":{"name":"d","uid":"x"},"spec":{"replicas":-1}}`, 409, "Precondition failed"},
		{"scale of another version", "PUT", path + "/scale", "", `{"metadata":{"name":"d","resourceVersion":"1"},"spec":{"replicas":-1}}`, 422, "spec.replicas"},
		{"scale of an owner without a uid", "PUT", path + "/scale", "", `{"metadata":{"name":"d","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a"}]},"spec":{"replicas":-1}}`, 422, `"field":"metadata.ownerReferences.uid"`},
		{"strategic patch of another kind", "PATCH", path + "/scale?dryRun=All", "application/strategic-merge-patch+json", `{"kind":"Foo","apiVersion":"v1"}`, 200, `"kind":"Scale","apiVersion":"autoscaling/v1"`},
		{"scale of no version", "PATCH", path + "/scale?fieldManager=x", harness.ApplyMedia, "kind: Scale\nmetadata: {name: d}\nspec: {replicas: 5}", 400, "Incorrect version"},
		{"scale of no kind", "PATCH", path + "/scale?fieldManager=x", harness.ApplyMedia, "apiVersion: autoscaling/v1\nmetadata: {name: d}\nspec: {replicas: 5}", 400, "kind"},
		{"scale is owned", "PATCH", path + "/scale?fieldManager=x", harness.ApplyMedia, "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: d}\nspec: {replicas: 5}", 409, "replicas"},
		{"scale", "PATCH", path + "/scale?fieldManager=x&force=true", harness.ApplyMedia, "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: d}\nspec: {replicas: 5}", 200, `"kind":"Scale"`},
		{"read", "GET", path, "", "", 200, `"manager":"x","operation":"Apply","apiVersion":"apps/v1"`},
	})
	object := h.Get(path)
	if object.Field(t, "spec.replicas") != 5.0 || object.Field(t, "status.replicas") != 3.0 {
		t.Errorf("%s", object.Body)
	}
}

// A write that would only change a time is not a write.
func TestOwnershipKeepsNoOps(t *testing.T) {
	h := harness.Start(t, nil)
	before := h.Post(harness.ConfigMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	after := h.Send("PATCH", harness.ConfigMaps+"/a?fieldManager=other", "application/merge-patch+json", []byte(`{"data":{"k":"v"}}`))
	if a, b := before.Field(t, "metadata.resourceVersion"), after.Field(t, "metadata.resourceVersion"); a != b {
		t.Errorf("the revision moved from %v to %v", a, b)
	}
	reset := h.Send("PATCH", harness.ConfigMaps+"/a", "application/merge-patch+json", []byte(`{"metadata":{"managedFields":[{}]}}`))
	if reset.Field(t, "metadata.managedFields") != nil {
		t.Errorf("after a reset: %s", reset.Body)
	}
}
