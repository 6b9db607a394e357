package server_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAggregatedDiscovery(t *testing.T) {
	h := startServer(t, nil)
	const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	ask := func(path string, header ...string) reply { return h.send(http.MethodGet, path, "", nil, header...) }

	core := ask("/api", "Accept", v2+",application/json")
	if got := core.header.Get("Content-Type"); got != v2 {
		t.Errorf("content type %q", got)
	}
	if core.field(t, "kind") != "APIGroupDiscoveryList" || core.field(t, "items.0.metadata.name") != nil {
		t.Errorf("/api: %s", core.body)
	}
	for _, part := range []string{`"resource":"pods"`, `"scope":"Namespaced","singularResource":"pod"`, `"subresource":"eviction","responseKind":{"group":"policy","version":"v1","kind":"Eviction"}`} {
		if !strings.Contains(string(core.body), part) {
			t.Errorf("/api has no %s", part)
		}
	}
	groups := ask("/apis", "Accept", strings.Replace(v2, "v=v2", "v=v2beta1", 1)+",application/json")
	if groups.field(t, "apiVersion") != "apidiscovery.k8s.io/v2beta1" || groups.field(t, "items.1.metadata.name") != "apps" {
		t.Errorf("/apis: %s", groups.body)
	}
	tag := groups.header.Get("ETag")
	same := ask("/apis", "Accept", strings.Replace(v2, "v=v2", "v=v2beta1", 1), "If-None-Match", tag)
	if same.code != http.StatusNotModified || len(same.body) != 0 {
		t.Errorf("known document: %d %s", same.code, same.body)
	}
	if old := ask("/apis", "Accept", "application/json"); old.field(t, "kind") != "APIGroupList" {
		t.Errorf("old clients: %s", old.body)
	}
	ask("/apis/apps", "Accept", v2).expect(t, http.StatusNotAcceptable, "NotAcceptable")
}
