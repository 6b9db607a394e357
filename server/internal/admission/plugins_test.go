package admission_test

import (
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A priority class counts for the next pod after its create was acknowledged, and no
// longer after its delete was.
func TestPriorityClassesAreSeenAtOnce(t *testing.T) {
	h := harness.Start(t, nil)
	const classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
	pod := func() any {
		return h.Send("POST", harness.PodsPath+"?dryRun=All", "application/json", []byte(harness.PodBody)).Field(t, "spec.priority")
	}
	for range 20 {
		if got := pod(); got != 0.0 {
			t.Fatalf("without a class the priority is %v", got)
		}
		h.Run(t, []harness.Step{{"class", "POST", classes, "", `{"metadata":{"name":"std"},"value":7,"globalDefault":true}`, 201, ""}})
		if got := pod(); got != 7.0 {
			t.Fatalf("with a default class the priority is %v", got)
		}
		h.Run(t, []harness.Step{{"second", "POST", classes, "", `{"metadata":{"name":"z"},"value":6,"globalDefault":true}`, 403, `"z\" is forbidden: PriorityClass std is already marked as default. Only one default can exist`}})
		h.Run(t, []harness.Step{{"gone", "DELETE", classes + "/std", "", "", 200, ""}})
	}
}

// A pod gets the credentials of an account that a controller has just created.
func TestServiceAccountPlugin(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers, c.DisableAdmissionPlugins = []string{"*"}, nil })
	h.Run(t, []harness.Step{
		{"namespace", "POST", "/api/v1/namespaces", "", `{"metadata":{"name":"new"}}`, 201, ""},
		{"pod", "POST", "/api/v1/namespaces/new/pods", "", harness.PodBody, 201, `"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"`},
		{"unknown account", "POST", "/api/v1/namespaces/new/pods", "", `{"metadata":{"name":"q"},"spec":{"serviceAccountName":"x","containers":[{"name":"c","image":"i"}]}}`, 403, `service account new/x`},
	})
}

// The value of a priority class cannot change: pods have copies of it. Other fields may,
// without a new generation.
func TestPriorityClassChanges(t *testing.T) {
	h := harness.Start(t, nil)
	const classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
	h.Run(t, []harness.Step{
		{"class", "POST", classes, "", `{"metadata":{"name":"std","generation":5},"value":7}`, 201, `"generation":1`},
		{"value", "PATCH", classes + "/std", harness.MergePatchMedia, `{"value":8}`, 422, `"reason":"FieldValueForbidden","message":"Forbidden: may not be changed in an update.","field":"value"`},
		{"no value", "PATCH", classes + "/std", harness.MergePatchMedia, `{"value":null}`, 422, `"field":"value"`},
		{"preemption", "PATCH", classes + "/std", harness.MergePatchMedia, `{"preemptionPolicy":"Never"}`, 422, `"field":"preemptionPolicy"`},
		{"description", "PATCH", classes + "/std", harness.MergePatchMedia, `{"description":"usual","globalDefault":true}`, 200, `"generation":1`},
		{"an empty policy", "POST", classes, "", `{"metadata":{"name":"x"},"value":1,"preemptionPolicy":""}`, 422, `"reason":"FieldValueRequired","message":"Required value","field":"preemptionPolicy"`},
		{"of the system", "DELETE", classes + "/system-node-critical", "", "", 403, `"message":"priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this is a system priority class and cannot be deleted"`},
		{"named like one", "POST", classes, "", `{"metadata":{"name":"system-x"},"value":7}`, 422, `system use only. error: system-x is not a known system priority class`},
	})
}

// A pod gets the fields of its runtime class when it is created.
func TestRuntimeClassOfAPod(t *testing.T) {
	h := harness.Start(t, nil)
	pod := func(name, more string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i"}],` + more + `}}`
	}
	h.Run(t, []harness.Step{
		{"unknown", "POST", harness.PodsPath, "", pod("a", `"runtimeClassName":"vm"`), 403, `RuntimeClass \"vm\" not found`},
		{"class", "POST", "/apis/node.k8s.io/v1/runtimeclasses", "", `{"metadata":{"name":"vm"},"handler":"h","overhead":{"podFixed":{"memory":"1Gi"}}}`, 201, ""},
		{"known", "POST", harness.PodsPath, "", pod("a", `"runtimeClassName":"vm"`), 201, `"overhead":{"memory":"1Gi"}`},
		{"too little", "POST", harness.PodsPath, "", pod("b", `"runtimeClassName":"vm","overhead":{"memory":"1Mi"}`), 403, "doesn't match"},
		{"own cost", "POST", harness.PodsPath, "", pod("b", `"overhead":{"memory":"1Mi"}`), 403, "without corresponding RuntimeClass"},
		{"invalid first", "POST", harness.PodsPath, "", pod("b", `"overhead":{"memory":"-1"}`), 422, "spec.overhead"},
		{"class goes", "DELETE", "/apis/node.k8s.io/v1/runtimeclasses/vm", "", "", 200, ""},
		{"pod lives on", "PATCH", harness.PodsPath + "/a", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 200, `"overhead":{"memory":"1Gi"}`},
	})
}
