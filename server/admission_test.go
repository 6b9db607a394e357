package server_test

import (
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// A priority class counts for the next pod after it was acknowledged, and no
// longer after it was deleted.
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
		h.run(t, []step{{"gone", "DELETE", classes + "/std", "", "", 200, ""}})
	}
}

// A pod gets the credentials of an account that a controller has just made.
func TestServiceAccountPlugin(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers, c.DisableAdmissionPlugins = []string{"*"}, nil })
	h.run(t, []step{
		{"namespace", "POST", "/api/v1/namespaces", "", `{"metadata":{"name":"new"}}`, 201, ""},
		{"pod", "POST", "/api/v1/namespaces/new/pods", "", podBody, 201, `"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"`},
		{"unknown account", "POST", "/api/v1/namespaces/new/pods", "", `{"metadata":{"name":"q"},"spec":{"serviceAccountName":"x","containers":[{"name":"c","image":"i"}]}}`, 403, `service account new/x`},
	})
}
