package background_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const namespacesPath = "/api/v1/namespaces"

// conditionsOf lists the conditions of a namespace: "Type Status Reason".
func conditionsOf(o harness.Contents, name string) map[string]string {
	got := map[string]string{}
	list, _ := o.In(name, "status.conditions").([]any)
	for _, c := range list {
		c := c.(map[string]any)
		got[c["type"].(string)] = fmt.Sprint(c["status"], " ", c["reason"], ": ", c["message"])
	}
	return got
}

func TestNamespaceIsEmptied(t *testing.T) {
	h := harness.WithControllers(t, "*")
	h.Post(namespacesPath, `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	const shop = namespacesPath + "/shop"
	h.Post(shop+"/configmaps", harness.ConfigMap("a", `{}`)).Expect(t, http.StatusCreated, "")
	h.Post(shop+"/secrets", `{"metadata":{"name":"s"}}`).Expect(t, http.StatusCreated, "")
	h.Post(shop+"/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).Expect(t, http.StatusCreated, "")
	// A delete of a replication controller orphans; that of its namespace does not.
	h.Post(shop+"/replicationcontrollers", `{"metadata":{"name":"rc"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`).Expect(t, http.StatusCreated, "")
	h.Post("/apis/apps/v1/namespaces/shop/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`).Expect(t, http.StatusCreated, "")
	h.Remove(shop, "").Expect(t, http.StatusOK, "")
	h.AwaitGone(namespacesPath, "shop")
	for _, path := range []string{"/api/v1/configmaps", "/api/v1/secrets", "/api/v1/pods", "/api/v1/replicationcontrollers", "/apis/apps/v1/deployments", "/api/v1/serviceaccounts"} {
		if r := h.Get(path); strings.Contains(string(r.Body), `"namespace":"shop"`) {
			t.Errorf("%s is left: %s", path, r.Body)
		}
	}
	// The name is free again.
	h.Post(namespacesPath, `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	h.Await(shop+"/serviceaccounts", func(o harness.Contents) bool { return o["default"] != nil })
}

func TestNamespaceWaitsForItsContent(t *testing.T) {
	h := harness.WithControllers(t, "namespace")
	h.Post(namespacesPath, `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	const shop = namespacesPath + "/shop"
	h.Post(shop+"/configmaps", `{"metadata":{"name":"held","finalizers":["example.com/hold"]}}`).Expect(t, http.StatusCreated, "")
	h.Post(shop+"/configmaps", harness.ConfigMap("free", `{}`)).Expect(t, http.StatusCreated, "")
	h.Post(shop+"/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`).Expect(t, http.StatusCreated, "")
	h.Remove(shop, "").Expect(t, http.StatusOK, "")
	have := h.Await(namespacesPath, func(o harness.Contents) bool {
		return strings.HasPrefix(conditionsOf(o, "shop")["NamespaceContentRemaining"], "True")
	})
	for kind, want := range map[string]string{
		"NamespaceDeletionDiscoveryFailure":           "False ResourcesDiscovered: All resources successfully discovered",
		"NamespaceDeletionGroupVersionParsingFailure": "False ParsedGroupVersions: All legacy kube types successfully parsed",
		"NamespaceDeletionContentFailure":             "False ContentDeleted: All content successfully deleted, may be waiting on finalization",
		"NamespaceContentRemaining":                   "True SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances, pods. has 1 resource instances",
		"NamespaceFinalizersRemaining":                "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
	} {
		if got := conditionsOf(have, "shop")[kind]; got != want {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
	}
	if have.In("shop", "status.phase") != "Terminating" {
		t.Errorf("the phase is %v", have.In("shop", "status.phase"))
	}
	r := h.Post(shop+"/configmaps", harness.ConfigMap("new", `{}`))
	r.Expect(t, http.StatusForbidden, "Forbidden")
	if r.Field(t, "details.causes.0.reason") != "NamespaceTerminating" {
		t.Errorf("a create is refused with %s", r.Body)
	}

	h.Remove(shop+"/pods/p", `{"gracePeriodSeconds":0}`).Expect(t, http.StatusOK, "")
	h.Await(namespacesPath, func(o harness.Contents) bool {
		return conditionsOf(o, "shop")["NamespaceContentRemaining"] == "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances"
	})
	h.MergePatch(shop+"/configmaps/held", `{"metadata":{"finalizers":null}}`)
	h.AwaitGone(namespacesPath, "shop")
}

// Foreign finalizers, in spec and in metadata, keep the namespace but not its content.
func TestNamespaceHasFinalizersOfOthers(t *testing.T) {
	h := harness.WithControllers(t, "namespace")
	h.Post(namespacesPath, `{"metadata":{"name":"shop","finalizers":["example.com/later"]},"spec":{"finalizers":["kubernetes","example.com/other"]}}`).Expect(t, http.StatusCreated, "")
	const shop = namespacesPath + "/shop"
	h.Post(shop+"/configmaps", harness.ConfigMap("a", `{}`)).Expect(t, http.StatusCreated, "")
	h.Remove(shop, "").Expect(t, http.StatusOK, "")
	have := h.Await(namespacesPath, func(o harness.Contents) bool {
		list, _ := o.In("shop", "spec.finalizers").([]any)
		return len(list) == 1
	})
	if list := have.In("shop", "spec.finalizers").([]any); list[0] != "example.com/other" {
		t.Errorf("spec.finalizers is %v", list)
	}
	if r := h.Get(shop + "/configmaps"); strings.Contains(string(r.Body), `"name":"a"`) {
		t.Errorf("content is left: %s", r.Body)
	}
	h.Send(http.MethodPut, shop+"/finalize", "application/json", []byte(`{"metadata":{"name":"shop","finalizers":["example.com/later"]},"spec":{}}`)).Expect(t, http.StatusOK, "")
	h.MergePatch(shop, `{"metadata":{"finalizers":null}}`)
	h.AwaitGone(namespacesPath, "shop")
}

// A further delete of what the first one only marked, a namespace without content or a
// definition, shows a grace period of 0 once, as in 1.25.
func TestFurtherDeletesShowTheGracePeriod(t *testing.T) {
	h := harness.Start(t, nil)
	const shop = namespacesPath + "/shop"
	h.Create(namespacesPath, `{"metadata":{"name":"shop","finalizers":["example.com/later"]}}`)
	h.Define(`{"type":"object"}`, "")
	h.MergePatch(harness.DefinedAs, `{"metadata":{"finalizers":["example.com/later"]}}`).Expect(t, http.StatusOK, "")
	for _, path := range []string{shop, harness.DefinedAs} {
		first := h.Send(http.MethodDelete, path, "", nil)
		first.Expect(t, http.StatusOK, "")
		if path == shop {
			h.Send(http.MethodPut, shop+"/finalize", "application/json", []byte(`{"metadata":{"name":"shop","finalizers":["example.com/later"]},"spec":{}}`)).Expect(t, http.StatusOK, "")
		} else {
			h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { // its objects are gone
				list, _ := o.In("widgets.shop.example.com", "metadata.finalizers").([]any)
				return len(list) == 1
			})
		}
		h.Send(http.MethodDelete, path, "", nil).Expect(t, http.StatusOK, "")
		second := h.Get(path)
		h.Send(http.MethodDelete, path, "", nil).Expect(t, http.StatusOK, "")
		third := h.Get(path)
		if strings.Contains(string(first.Body), "deletionGracePeriodSeconds") || !strings.Contains(string(second.Body), `"deletionGracePeriodSeconds":0`) {
			t.Errorf("%s after one delete and after two: %s\n%s", path, first.Body, second.Body)
		}
		if string(second.Body) != string(third.Body) {
			t.Errorf("%s after two deletes and after three: %s\n%s", path, second.Body, third.Body)
		}
		h.MergePatch(path, `{"metadata":{"finalizers":null}}`)
	}
}

func TestLargeNamespace(t *testing.T) {
	h := harness.WithControllers(t, "*")
	h.Post(namespacesPath, `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	fill(h, 1000, "shop", func(i int) string { return harness.ConfigMap(fmt.Sprint("c", i), `{"k":"v"}`) })
	begin := time.Now()
	h.Remove(namespacesPath+"/shop", "").Expect(t, http.StatusOK, "")
	h.AwaitGone(namespacesPath, "shop")
	t.Logf("1,000 config maps are gone after %v", time.Since(begin))
}

// The pods of a namespace end first, so that what they use is there until then.
func TestPodsOfANamespaceEndFirst(t *testing.T) {
	h := harness.WithControllers(t, "namespace")
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	const ns = "/api/v1/namespaces/shop"
	h.Create(ns+"/configmaps", harness.ConfigMap("used", "{}"))
	h.Create(ns+"/pods", `{"metadata":{"name":"p","finalizers":["example.com/wait"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	h.Send("DELETE", ns, "", nil)
	h.Await("/api/v1/namespaces", func(o harness.Contents) bool {
		return strings.Contains(harness.Conditions(o, "shop"), "NamespaceContentRemaining=True")
	})
	if got := h.Get(ns + "/configmaps/used"); got.Code != 200 {
		t.Errorf("the config map went before the pod: %d %s", got.Code, got.Body)
	}
	h.MergePatch(ns+"/pods/p", `{"metadata":{"finalizers":null}}`)
	h.Await("/api/v1/namespaces", func(o harness.Contents) bool { return o["shop"] == nil })
}
