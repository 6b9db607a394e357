package server_test

import (
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// A priority class counts for the next pod after its create was acknowledged, and no
// longer after its delete was.
func TestPriorityClassesAreSeenAtOnce(t *testing.T) {
	h := startServer(t, nil)
	const classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
	pod := func() any {
		return h.send("POST", podsPath+"?dryRun=All", "application/json", []byte(podBody)).field(t, "spec.priority")
	}
	for range 20 {
		if got := pod(); got != 0.0 {
			t.Fatalf("without a class the priority is %v", got)
		}
		h.run(t, []step{{"class", "POST", classes, "", `{"metadata":{"name":"std"},"value":7,"globalDefault":true}`, 201, ""}})
		if got := pod(); got != 7.0 {
			t.Fatalf("with a default class the priority is %v", got)
		}
		h.run(t, []step{{"second", "POST", classes, "", `{"metadata":{"name":"z"},"value":6,"globalDefault":true}`, 403, `"z\" is forbidden: PriorityClass std is already marked as default. Only one default can exist`}})
		h.run(t, []step{{"gone", "DELETE", classes + "/std", "", "", 200, ""}})
	}
}

// A pod gets the credentials of an account that a controller has just created.
func TestServiceAccountPlugin(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers, c.DisableAdmissionPlugins = []string{"*"}, nil })
	h.run(t, []step{
		{"namespace", "POST", "/api/v1/namespaces", "", `{"metadata":{"name":"new"}}`, 201, ""},
		{"pod", "POST", "/api/v1/namespaces/new/pods", "", podBody, 201, `"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"`},
		{"unknown account", "POST", "/api/v1/namespaces/new/pods", "", `{"metadata":{"name":"q"},"spec":{"serviceAccountName":"x","containers":[{"name":"c","image":"i"}]}}`, 403, `service account new/x`},
	})
}

// The value of a priority class cannot change: pods have copies of it. Other fields may,
// without a new generation.
func TestPriorityClassChanges(t *testing.T) {
	h := startServer(t, nil)
	const classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
	h.run(t, []step{
		{"class", "POST", classes, "", `{"metadata":{"name":"std","generation":5},"value":7}`, 201, `"generation":1`},
		{"value", "PATCH", classes + "/std", mergePatch, `{"value":8}`, 422, `"reason":"FieldValueForbidden","message":"Forbidden: may not be changed in an update.","field":"value"`},
		{"no value", "PATCH", classes + "/std", mergePatch, `{"value":null}`, 422, `"field":"value"`},
		{"preemption", "PATCH", classes + "/std", mergePatch, `{"preemptionPolicy":"Never"}`, 422, `"field":"preemptionPolicy"`},
		{"description", "PATCH", classes + "/std", mergePatch, `{"description":"usual","globalDefault":true}`, 200, `"generation":1`},
		{"an empty policy", "POST", classes, "", `{"metadata":{"name":"x"},"value":1,"preemptionPolicy":""}`, 422, `"reason":"FieldValueRequired","message":"Required value","field":"preemptionPolicy"`},
		{"of the system", "DELETE", classes + "/system-node-critical", "", "", 403, `"message":"priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this is a system priority class and cannot be deleted"`},
		{"named like one", "POST", classes, "", `{"metadata":{"name":"system-x"},"value":7}`, 422, `system use only. error: system-x is not a known system priority class`},
	})
}

// A pod gets the fields of its runtime class when it is created.
func TestRuntimeClassOfAPod(t *testing.T) {
	h := startServer(t, nil)
	pod := func(name, more string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i"}],` + more + `}}`
	}
	h.run(t, []step{
		{"unknown", "POST", podsPath, "", pod("a", `"runtimeClassName":"vm"`), 403, `RuntimeClass \"vm\" not found`},
		{"class", "POST", "/apis/node.k8s.io/v1/runtimeclasses", "", `{"metadata":{"name":"vm"},"handler":"h","overhead":{"podFixed":{"memory":"1Gi"}}}`, 201, ""},
		{"known", "POST", podsPath, "", pod("a", `"runtimeClassName":"vm"`), 201, `"overhead":{"memory":"1Gi"}`},
		{"too little", "POST", podsPath, "", pod("b", `"runtimeClassName":"vm","overhead":{"memory":"1Mi"}`), 403, "doesn't match"},
		{"own cost", "POST", podsPath, "", pod("b", `"overhead":{"memory":"1Mi"}`), 403, "without corresponding RuntimeClass"},
		{"invalid first", "POST", podsPath, "", pod("b", `"overhead":{"memory":"-1"}`), 422, "spec.overhead"},
		{"class goes", "DELETE", "/apis/node.k8s.io/v1/runtimeclasses/vm", "", "", 200, ""},
		{"pod lives on", "PATCH", podsPath + "/a", mergePatch, `{"metadata":{"labels":{"a":"b"}}}`, 200, `"overhead":{"memory":"1Gi"}`},
	})
}
