package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Every group version in discovery has its API service, except that of API services.
func TestAPIServices(t *testing.T) {
	const path = "/apis/apiregistration.k8s.io/v1/apiservices"
	h := startServer(t, nil)
	if h.get(path).code == 404 {
		t.Skip("the group of these objects is not served")
	}
	names := map[string]bool{"v1.": true}
	groups, _ := h.get("/apis").field(t, "groups").([]any)
	for _, g := range groups {
		group := g.(map[string]any)
		for _, v := range group["versions"].([]any) {
			names[fmt.Sprint(v.(map[string]any)["version"], ".", group["name"])] = group["name"] != "apiregistration.k8s.io"
		}
	}
	check := func() {
		t.Helper()
		items, _ := h.get(path).field(t, "items").([]any)
		for _, i := range items {
			name := i.(map[string]any)["metadata"].(map[string]any)["name"].(string)
			if !names[name] {
				t.Errorf("%s is there", name)
			}
			delete(names, name)
		}
		for name, wanted := range names {
			if wanted {
				t.Errorf("%s is not there", name)
			}
		}
	}
	check()
	r := h.get(path + "/v1.apps")
	for field, want := range map[string]any{"metadata.labels": "map[kube-aggregator.kubernetes.io/automanaged:onstart]", "spec.group": "apps", "spec.version": "v1",
		"spec.groupPriorityMinimum": 17800, "spec.versionPriority": 15, "spec.service": nil, "status.conditions.0.type": "Available", "status.conditions.0.status": "True", "status.conditions.0.reason": "Local"} {
		if got := r.field(t, field); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", field, got, want)
		}
	}
	before := h.get(path).field(t, "metadata.resourceVersion")
	if err := h.server.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	if now := h.get(path).field(t, "metadata.resourceVersion"); now != before {
		t.Errorf("looking after what is as it should be writes: %v, %v", before, now)
	}
}

// TestCustomAPIServices: the API services of custom resources come and go with their
// versions, and one that somebody else made for another server stays.
func TestCustomAPIServices(t *testing.T) {
	h := startServer(t, soon)
	kept := func(o contents) bool {
		return fmt.Sprint(o.in("v1.shop.example.com", "spec.versionPriority")) == "100" && fmt.Sprint(o.in("v1.shop.example.com", "metadata.labels")) == "map[kube-aggregator.kubernetes.io/automanaged:true]"
	}
	h.define(widgetSchema, "")
	h.await(registrations, kept)
	h.delete(registrations + "/v1.shop.example.com")
	h.await(registrations, kept)
	h.mergePatch(registrations+"/v1.shop.example.com", `{"spec":{"versionPriority":7}}`)
	h.await(registrations, kept)
	h.delete(definedAs)
	h.awaitGone(registrations, "v1.shop.example.com")

	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "remote") })
	h.create(registrations, strings.NewReplacer("wardle.example.com", "shop.example.com", "v1alpha1", "v1").Replace(x.registration("")))
	h.define(widgetSchema, "")
	if err := h.server.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := h.get(registrations + "/v1.shop.example.com"); got.field(t, "spec.service.name") != "ext" || got.field(t, "metadata.labels") != nil {
		t.Errorf("another server's: %s", got.body)
	}
	h.get(shopWidgets).expect(t, 503, "")
	h.delete(registrations + "/v1.shop.example.com")
	h.await(registrations, kept)
	h.get(shopWidgets).expect(t, 200, "")
}
