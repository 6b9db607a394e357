package extensions_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Every group version in discovery has its API service, except that of API services.
func TestAPIServices(t *testing.T) {
	const path = "/apis/apiregistration.k8s.io/v1/apiservices"
	h := harness.Start(t, nil)
	if h.Get(path).Code == 404 {
		t.Skip("the group of these objects is not served")
	}
	names := map[string]bool{"v1.": true}
	groups, _ := h.Get("/apis").Field(t, "groups").([]any)
	for _, g := range groups {
		group := g.(map[string]any)
		for _, v := range group["versions"].([]any) {
			names[fmt.Sprint(v.(map[string]any)["version"], ".", group["name"])] = group["name"] != "apiregistration.k8s.io"
		}
	}
	check := func() {
		t.Helper()
		items, _ := h.Get(path).Field(t, "items").([]any)
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
	r := h.Get(path + "/v1.apps")
	for field, want := range map[string]any{"metadata.labels": "map[kube-aggregator.kubernetes.io/automanaged:onstart]", "spec.group": "apps", "spec.version": "v1",
		"spec.groupPriorityMinimum": 17800, "spec.versionPriority": 15, "spec.service": nil, "status.conditions.0.type": "Available", "status.conditions.0.status": "True", "status.conditions.0.reason": "Local"} {
		if got := r.Field(t, field); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", field, got, want)
		}
	}
	before := h.Get(path).Field(t, "metadata.resourceVersion")
	if err := h.Running.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	if now := h.Get(path).Field(t, "metadata.resourceVersion"); now != before {
		t.Errorf("looking after what is as it should be writes: %v, %v", before, now)
	}
}

// TestCustomAPIServices: the API services of custom resources come and go with their
// versions, and one that somebody else made for another server stays.
func TestCustomAPIServices(t *testing.T) {
	h := harness.Start(t, harness.Soon)
	kept := func(o harness.Contents) bool {
		return fmt.Sprint(o.In("v1.shop.example.com", "spec.versionPriority")) == "100" && fmt.Sprint(o.In("v1.shop.example.com", "metadata.labels")) == "map[kube-aggregator.kubernetes.io/automanaged:true]"
	}
	h.Define(harness.WidgetSchema, "")
	h.Await(harness.Registrations, kept)
	h.Delete(harness.Registrations + "/v1.shop.example.com")
	h.Await(harness.Registrations, kept)
	h.MergePatch(harness.Registrations+"/v1.shop.example.com", `{"spec":{"versionPriority":7}}`)
	h.Await(harness.Registrations, kept)
	h.Delete(harness.DefinedAs)
	h.AwaitGone(harness.Registrations, "v1.shop.example.com")

	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "remote") })
	h.Create(harness.Registrations, strings.NewReplacer("wardle.example.com", "shop.example.com", "v1alpha1", "v1").Replace(x.Registration("")))
	h.Define(harness.WidgetSchema, "")
	if err := h.Running.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := h.Get(harness.Registrations + "/v1.shop.example.com"); got.Field(t, "spec.service.name") != "ext" || got.Field(t, "metadata.labels") != nil {
		t.Errorf("another server's: %s", got.Body)
	}
	h.Get(harness.ShopWidgets).Expect(t, 503, "")
	h.Delete(harness.Registrations + "/v1.shop.example.com")
	h.Await(harness.Registrations, kept)
	h.Get(harness.ShopWidgets).Expect(t, 200, "")
}
