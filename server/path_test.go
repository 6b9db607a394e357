package server_test

import "testing"

// A slash at the end of a path has no effect, and paths below an object without
// subresources do not exist.
func TestPathsOfResources(t *testing.T) {
	h := startServer(t, nil)
	const object = configMaps + "/a"
	h.run(t, []step{
		{"create", "POST", configMaps + "/", "", configMap("a", `{"a":"1"}`), 201, ""},
		{"zero is no version", "POST", configMaps, "", `{"metadata":{"name":"b","resourceVersion":"0"}}`, 201, ""},
		{"a version is refused", "POST", configMaps, "", `{"metadata":{"name":"c","resourceVersion":"1"}}`, 400, "resourceVersion"},
		{"list", "GET", configMaps + "/", "", "", 200, `"kind":"ConfigMapList"`},
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
		{"a pod in no namespace", "POST", "/api/v1/namespaces//configmaps", "", configMap("a", ""), 404, "NotFound"},
		{"an object without name", "GET", "/api/v1/namespaces/default/pods//status", "", "", 404, "NotFound"},
		{"a slash in the name", "GET", object + "%2F", "", "", 400, "BadRequest"},
		{"no status", "GET", object + "/status", "", "", 404, "could not find the requested resource"},
		{"no such subresource", "PUT", object + "/x/y", "", configMap("a", `{"a":"2"}`), 404, "could not find the requested resource"},
		{"nothing happened", "GET", object, "", "", 200, `"data":{"a":"1"}`},
	})
}
