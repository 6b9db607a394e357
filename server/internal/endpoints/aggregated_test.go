package endpoints_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestAggregatedDiscovery(t *testing.T) {
	h := harness.Start(t, nil)
	const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	ask := func(path string, header ...string) harness.Reply {
		return h.Send(http.MethodGet, path, "", nil, header...)
	}

	core := ask("/api", "Accept", v2+",application/json")
	if got := core.Header.Get("Content-Type"); got != v2 {
		t.Errorf("content type %q", got)
	}
	if core.Field(t, "kind") != "APIGroupDiscoveryList" || core.Field(t, "items.0.metadata.name") != nil {
		t.Errorf("/api: %s", core.Body)
	}
	for _, part := range []string{`"resource":"pods"`, `"scope":"Namespaced","singularResource":"pod"`, `"subresource":"eviction","responseKind":{"group":"policy","version":"v1","kind":"Eviction"}`} {
		if !strings.Contains(string(core.Body), part) {
			t.Errorf("/api has no %s", part)
		}
	}
	groups := ask("/apis", "Accept", strings.Replace(v2, "v=v2", "v=v2beta1", 1)+",application/json")
	if groups.Field(t, "apiVersion") != "apidiscovery.k8s.io/v2beta1" || groups.Field(t, "items.1.metadata.name") != "apps" {
		t.Errorf("/apis: %s", groups.Body)
	}
	tag := groups.Header.Get("ETag")
	same := ask("/apis", "Accept", strings.Replace(v2, "v=v2", "v=v2beta1", 1), "If-None-Match", tag)
	if same.Code != http.StatusNotModified || len(same.Body) != 0 {
		t.Errorf("known document: %d %s", same.Code, same.Body)
	}
	if old := ask("/apis", "Accept", "application/json"); old.Field(t, "kind") != "APIGroupList" {
		t.Errorf("old clients: %s", old.Body)
	}
	ask("/apis/apps", "Accept", v2).Expect(t, http.StatusNotAcceptable, "NotAcceptable")
}
