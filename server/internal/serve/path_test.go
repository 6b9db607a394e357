package serve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A slash at the end of a path has no effect, and paths below an object without
// subresources do not exist.
func TestPathsOfResources(t *testing.T) {
	h := harness.Start(t, nil)
	const object = harness.ConfigMaps + "/a"
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ConfigMaps + "/", "", harness.ConfigMap("a", `{"a":"1"}`), 201, ""},
		{"zero is no version", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"b","resourceVersion":"0"}}`, 201, ""},
		{"a version is refused", "POST", harness.ConfigMaps, "", `{"metadata":{"name":"c","resourceVersion":"1"}}`, 400, "resourceVersion"},
		{"list", "GET", harness.ConfigMaps + "/", "", "", 200, `"kind":"ConfigMapList"`},
		{"read", "GET", object + "/", "", "", 200, `"data"`},
		{"namespace", "GET", "/api/v1/namespaces/default/", "", "", 200, `"kind":"Namespace"`},
		{"discovery", "GET", "/apis/apps/v1/", "", "", 200, `"kind":"APIResourceList"`},
		{"index", "GET", "/", "", "", 200, `"/readyz/ping"`},
		{"index of groups", "GET", "/", "", "", 200, `"/apis/apps/v1"`},
		{"index by any method", "POST", "/", "", "{}", 200, `"/readyz/ping"`},
		{"index by its other name", "GET", "/index.html", "", "", 200, `"/readyz/ping"`},
		{"groups by any method", "DELETE", "/apis", "", "", 200, `"kind":"APIGroupList"`},
		{"a group by an unknown method", "BREW", "/apis/apps", "", "", 200, `"kind":"APIGroup"`},
		{"a group version is only read", "POST", "/apis/apps/v1", "", "{}", 405, "MethodNotAllowed"},
		{"an unknown method", "BREW", object, "", "", 405, "MethodNotAllowed"},
		{"an unknown method of nothing", "BREW", "/api/v1/nothing", "", "", 404, "NotFound"},
		{"checks have no slash behind", "GET", "/healthz/", "", "", 404, "404 page not found"},
		{"percent-encoding", "GET", "/%61pi/v1/namespaces/default/%63onfigmaps/%61", "", "", 200, `"data"`},
		{"two slashes", "GET", object + "//", "", "", 200, `"data"`},
		{"a slash inside", "GET", "/api/v1/namespaces//configmaps", "", "", 404, "NotFound"},
		{"a pod in no namespace", "POST", "/api/v1/namespaces//configmaps", "", harness.ConfigMap("a", ""), 404, "NotFound"},
		{"an object without name", "GET", "/api/v1/namespaces/default/pods//status", "", "", 404, "NotFound"},
		{"a slash in the name", "GET", object + "%2F", "", "", 400, "BadRequest"},
		{"no status", "GET", object + "/status", "", "", 404, "could not find the requested resource"},
		{"no such subresource", "PUT", object + "/x/y", "", harness.ConfigMap("a", `{"a":"2"}`), 404, "could not find the requested resource"},
		{"a namespace in a namespace", "GET", "/api/v1/namespaces/default/namespaces/kube-system", "", "", 404, "could not find the requested resource"},
		{"a namespace in itself", "GET", "/api/v1/namespaces/default/namespaces/default", "", "", 404, "could not find the requested resource"},
		{"its status", "GET", "/api/v1/namespaces/default/namespaces/default/status", "", "", 404, "could not find the requested resource"},
		{"namespaces in a namespace", "GET", "/api/v1/namespaces/default/namespaces", "", "", 404, "could not find the requested resource"},
		{"creating one there", "POST", "/api/v1/namespaces/default/namespaces", "", `{"metadata":{"name":"inside"}}`, 404, "could not find the requested resource"},
		{"deleting one there", "DELETE", "/api/v1/namespaces/default/namespaces/kube-public", "", "", 404, "could not find the requested resource"},
		{"watching one there", "GET", "/api/v1/watch/namespaces/default/namespaces/kube-system", "", "", 404, "could not find the requested resource"},
		{"another cluster-scoped object in a namespace", "GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/clusterroles/admin", "", "", 404, "could not find the requested resource"},
		{"a name without a namespace", "GET", "/api/v1/configmaps/a", "", "", 404, "could not find the requested resource"},
		{"nothing happened", "GET", object, "", "", 200, `"data":{"a":"1"}`},
	})
}

// TestTurnedOff: a path of a resource that is off is answered as an unknown one, with a warning that names the flag
// which turns it on.
func TestTurnedOff(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.RuntimeConfig = []string{"batch/v1/cronjobs=false"} })
	for path, want := range map[string]string{
		"/apis/networking.k8s.io/v1alpha1/clustercidrs":       "--runtime-config=networking.k8s.io/v1alpha1=true",
		"/apis/batch/v1/namespaces/default/cronjobs":          "--runtime-config=batch/v1/cronjobs=true",
		"/apis/batch/v1/namespaces/default/nothing":           "",
		"/apis/nowhere.example.com/v1/namespaces/default/all": "",
	} {
		r := h.Get(path)
		if have := r.Header.Get("Warning"); r.Code != 404 || (have == "") != (want == "") || !strings.Contains(have, want) {
			t.Errorf("%s: %d, %s, want %s", path, r.Code, have, want)
		}
	}
}

// Custom objects are served at paths of their scope only, also those of a kind whose plural
// is that of namespaces.
func TestPathsOfCustomResources(t *testing.T) {
	h := harness.Start(t, nil)
	define := func(plural, kind, scope string) {
		h.Create(harness.DefinitionsPath, fmt.Sprintf(`{"metadata":{"name":"%s.%s.example.com"},"spec":{"group":"%[2]s.example.com","scope":%[3]q,"names":{"plural":%[1]q,"kind":%[4]q},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, plural, map[string]string{"Cluster": "wide", "Namespaced": "narrow"}[scope], scope, kind))
	}
	define("planets", "Planet", "Cluster")
	define("namespaces", "Space", "Cluster")
	define("moons", "Moon", "Namespaced")
	define("namespaces", "Room", "Namespaced")
	const wide, narrow = "/apis/wide.example.com/v1/", "/apis/narrow.example.com/v1/"
	for _, path := range []string{wide + "planets", wide + "namespaces", narrow + "moons", narrow + "namespaces"} {
		h.AwaitCode(path, 200)
	}
	object := func(kind string) string {
		return `{"apiVersion":"` + map[bool]string{true: "wide", false: "narrow"}[kind == "Planet" || kind == "Space"] + `.example.com/v1","kind":"` + kind + `","metadata":{"name":"default"}}`
	}
	h.Run(t, []harness.Step{
		{"planet", "POST", wide + "planets", "", object("Planet"), 201, ""},
		{"planet in a namespace", "GET", wide + "namespaces/default/planets/default", "", "", 404, ""},
		{"planets in a namespace", "GET", wide + "namespaces/default/planets", "", "", 404, ""},
		{"creating a planet there", "POST", wide + "namespaces/default/planets", "", object("Planet"), 404, ""},
		{"space", "POST", wide + "namespaces", "", object("Space"), 201, ""},
		{"space itself", "GET", wide + "namespaces/default", "", "", 200, `"kind":"Space"`},
		{"space in a namespace", "GET", wide + "namespaces/default/namespaces/default", "", "", 404, ""},
		{"moon", "POST", narrow + "namespaces/default/moons", "", object("Moon"), 201, ""},
		{"moon without a namespace", "GET", narrow + "moons/default", "", "", 404, ""},
		{"deleting it there", "DELETE", narrow + "moons/default", "", "", 404, ""},
		{"creating one of all namespaces", "POST", narrow + "moons", "", object("Moon"), 405, ""},
		{"room", "POST", narrow + "namespaces/default/namespaces", "", object("Room"), 201, ""},
		{"room in its namespace", "GET", narrow + "namespaces/default/namespaces/default", "", "", 200, `"kind":"Room"`},
		{"room without a namespace", "GET", narrow + "namespaces/default", "", "", 404, ""},
	})
}
