package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A server of own groups has the plug-ins and modes of every server.
func TestPlugInsOfOwnServers(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.OwnGroupsOnly, c.API, c.EnableAdmissionPlugins = true, harness.OwnAPI(false), []string{"AlwaysDeny"}
		c.AuthorizationModes = []string{"Node", "RBAC"}
	})
	if got := h.Post("/api/v1/namespaces", `{"metadata":{"name":"a"}}`); got.Code != 403 || !strings.Contains(string(got.Body), "is forbidden") {
		t.Errorf("a namespace although everything is denied: %d %s", got.Code, got.Body)
	}
}

// A server of own groups shows only what it serves, in discovery and in the documents, and
// runtime-config turns on more.
func TestOwnServersShowWhatIsOn(t *testing.T) {
	start := func(config ...string) *harness.Server {
		return harness.Start(t, func(c *server.Config) { c.OwnGroupsOnly, c.API, c.RuntimeConfig = true, harness.OwnAPI(false), config })
	}
	for _, c := range []struct {
		config  []string
		core    string // the resources of the core group, but for subresources
		groups  string
		on, off []string // paths in the documents
	}{
		{nil, "namespaces", "authentication.k8s.io authorization.k8s.io rbac.authorization.k8s.io tools.example.com",
			[]string{"/api/v1/namespaces/{name}", "/apis/rbac.authorization.k8s.io/v1/clusterroles"}, []string{"/api/v1/namespaces/{namespace}/pods", "/apis/apps/", "/apis/apps/v1/deployments"}},
		{[]string{"v1/configmaps=true", "apps/v1=true"}, "configmaps namespaces", "apps authentication.k8s.io authorization.k8s.io rbac.authorization.k8s.io tools.example.com",
			[]string{"/api/v1/namespaces/{namespace}/configmaps", "/apis/apps/v1/deployments"}, []string{"/api/v1/namespaces/{namespace}/pods", "/apis/batch/"}},
	} {
		h := start(c.config...)
		var core, groups []string
		for _, r := range h.Get("/api/v1").Field(t, "resources").([]any) {
			if name := r.(map[string]any)["name"].(string); !strings.Contains(name, "/") {
				core = append(core, name)
			}
		}
		for _, g := range h.Get("/apis").Field(t, "groups").([]any) {
			groups = append(groups, g.(map[string]any)["name"].(string))
		}
		slices.Sort(groups)
		if got := strings.Join(core, " ") + "; " + strings.Join(groups, " "); got != c.core+"; "+c.groups {
			t.Errorf("%v: %s", c.config, got)
		}
		second, third := h.Get("/openapi/v2"), h.Get("/openapi/v3")
		paths, definitions := second.Field(t, "paths").(map[string]any), second.Field(t, "definitions").(map[string]any)
		for _, path := range c.on {
			if paths[path] == nil {
				t.Errorf("%v: the document has no %s", c.config, path)
			}
		}
		for _, path := range c.off {
			if paths[path] != nil {
				t.Errorf("%v: the document has %s", c.config, path)
			}
		}
		if definitions["io.k8s.api.core.v1.Namespace"] == nil || definitions["io.k8s.api.batch.v1.Job"] != nil {
			t.Errorf("%v: the document has other definitions than those of what is on", c.config)
		}
		if all := third.Field(t, "paths").(map[string]any); all["api/v1"] == nil || all["apis/batch/v1"] != nil {
			t.Errorf("%v: documents %v", c.config, all)
		}
		if doc := h.Get("/openapi/v3/api/v1"); strings.Contains(string(doc.Body), "/pods") || !strings.Contains(string(doc.Body), "/api/v1/namespaces/{name}/finalize") {
			t.Errorf("%v: the document of the core group: %.300s", c.config, doc.Body)
		}
		if got := h.Get("/api/v1/pods"); got.Code != 404 {
			t.Errorf("%v: pods: %d", c.config, got.Code)
		}
	}
}
