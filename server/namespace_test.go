package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const namespacesPath = "/api/v1/namespaces"

// conditionsOf lists the conditions of a namespace: "Type Status Reason".
func conditionsOf(o contents, name string) map[string]string {
	got := map[string]string{}
	list, _ := o.in(name, "status.conditions").([]any)
	for _, c := range list {
		c := c.(map[string]any)
		got[c["type"].(string)] = fmt.Sprint(c["status"], " ", c["reason"], ": ", c["message"])
	}
	return got
}

func TestNamespaceIsEmptied(t *testing.T) {
	h := withControllers(t, "*")
	h.post(namespacesPath, `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	const shop = namespacesPath + "/shop"
	h.post(shop+"/configmaps", configMap("a", `{}`)).expect(t, http.StatusCreated, "")
	h.post(shop+"/secrets", `{"metadata":{"name":"s"}}`).expect(t, http.StatusCreated, "")
	h.post(shop+"/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).expect(t, http.StatusCreated, "")
	// A delete of a replication controller orphans; that of its namespace does not.
	h.post(shop+"/replicationcontrollers", `{"metadata":{"name":"rc"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`).expect(t, http.StatusCreated, "")
	h.post("/apis/apps/v1/namespaces/shop/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`).expect(t, http.StatusCreated, "")
	h.remove(shop, "").expect(t, http.StatusOK, "")
	h.awaitGone(namespacesPath, "shop")
	for _, path := range []string{"/api/v1/configmaps", "/api/v1/secrets", "/api/v1/pods", "/api/v1/replicationcontrollers", "/apis/apps/v1/deployments", "/api/v1/serviceaccounts"} {
		if r := h.get(path); strings.Contains(string(r.body), `"namespace":"shop"`) {
			t.Errorf("%s is left: %s", path, r.body)
		}
	}
	// The name is free again.
	h.post(namespacesPath, `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	h.await(shop+"/serviceaccounts", func(o contents) bool { return o["default"] != nil })
}

func TestNamespaceWaitsForItsContent(t *testing.T) {
	h := withControllers(t, "namespace")
	h.post(namespacesPath, `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	const shop = namespacesPath + "/shop"
	h.post(shop+"/configmaps", `{"metadata":{"name":"held","finalizers":["example.com/hold"]}}`).expect(t, http.StatusCreated, "")
	h.post(shop+"/configmaps", configMap("free", `{}`)).expect(t, http.StatusCreated, "")
	h.post(shop+"/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`).expect(t, http.StatusCreated, "")
	h.remove(shop, "").expect(t, http.StatusOK, "")
	have := h.await(namespacesPath, func(o contents) bool {
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
	if have.in("shop", "status.phase") != "Terminating" {
		t.Errorf("the phase is %v", have.in("shop", "status.phase"))
	}
	r := h.post(shop+"/configmaps", configMap("new", `{}`))
	r.expect(t, http.StatusForbidden, "Forbidden")
	if r.field(t, "details.causes.0.reason") != "NamespaceTerminating" {
		t.Errorf("a create is refused with %s", r.body)
	}

	h.remove(shop+"/pods/p", `{"gracePeriodSeconds":0}`).expect(t, http.StatusOK, "")
	h.await(namespacesPath, func(o contents) bool {
		return conditionsOf(o, "shop")["NamespaceContentRemaining"] == "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances"
	})
	h.mergePatch(shop+"/configmaps/held", `{"metadata":{"finalizers":null}}`)
	h.awaitGone(namespacesPath, "shop")
}

// Foreign finalizers, in spec and in metadata, keep the namespace but not its content.
func TestNamespaceHasFinalizersOfOthers(t *testing.T) {
	h := withControllers(t, "namespace")
	h.post(namespacesPath, `{"metadata":{"name":"shop","finalizers":["example.com/later"]},"spec":{"finalizers":["kubernetes","example.com/other"]}}`).expect(t, http.StatusCreated, "")
	const shop = namespacesPath + "/shop"
	h.post(shop+"/configmaps", configMap("a", `{}`)).expect(t, http.StatusCreated, "")
	h.remove(shop, "").expect(t, http.StatusOK, "")
	have := h.await(namespacesPath, func(o contents) bool {
		list, _ := o.in("shop", "spec.finalizers").([]any)
		return len(list) == 1
	})
	if list := have.in("shop", "spec.finalizers").([]any); list[0] != "example.com/other" {
		t.Errorf("spec.finalizers is %v", list)
	}
	if r := h.get(shop + "/configmaps"); strings.Contains(string(r.body), `"name":"a"`) {
		t.Errorf("content is left: %s", r.body)
	}
	h.send(http.MethodPut, shop+"/finalize", "application/json", []byte(`{"metadata":{"name":"shop","finalizers":["example.com/later"]},"spec":{}}`)).expect(t, http.StatusOK, "")
	h.mergePatch(shop, `{"metadata":{"finalizers":null}}`)
	h.awaitGone(namespacesPath, "shop")
}

// A further delete of what the first one only marked, a namespace without content or a
// definition, shows a grace period of 0 once, as in 1.25.
func TestFurtherDeletesShowTheGracePeriod(t *testing.T) {
	h := startServer(t, nil)
	const shop = namespacesPath + "/shop"
	h.create(namespacesPath, `{"metadata":{"name":"shop","finalizers":["example.com/later"]}}`)
	h.define(`{"type":"object"}`, "")
	h.mergePatch(definedAs, `{"metadata":{"finalizers":["example.com/later"]}}`).expect(t, http.StatusOK, "")
	for _, path := range []string{shop, definedAs} {
		first := h.send(http.MethodDelete, path, "", nil)
		first.expect(t, http.StatusOK, "")
		if path == shop {
			h.send(http.MethodPut, shop+"/finalize", "application/json", []byte(`{"metadata":{"name":"shop","finalizers":["example.com/later"]},"spec":{}}`)).expect(t, http.StatusOK, "")
		} else {
			h.await(definitionsPath, func(o contents) bool { // its objects are gone
				list, _ := o.in("widgets.shop.example.com", "metadata.finalizers").([]any)
				return len(list) == 1
			})
		}
		h.send(http.MethodDelete, path, "", nil).expect(t, http.StatusOK, "")
		second := h.get(path)
		h.send(http.MethodDelete, path, "", nil).expect(t, http.StatusOK, "")
		third := h.get(path)
		if strings.Contains(string(first.body), "deletionGracePeriodSeconds") || !strings.Contains(string(second.body), `"deletionGracePeriodSeconds":0`) {
			t.Errorf("%s after one delete and after two: %s\n%s", path, first.body, second.body)
		}
		if string(second.body) != string(third.body) {
			t.Errorf("%s after two deletes and after three: %s\n%s", path, second.body, third.body)
		}
		h.mergePatch(path, `{"metadata":{"finalizers":null}}`)
	}
}

func TestLargeNamespace(t *testing.T) {
	h := withControllers(t, "*")
	h.post(namespacesPath, `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	h.fill(1000, "shop", func(i int) string { return configMap(fmt.Sprint("c", i), `{"k":"v"}`) })
	begin := time.Now()
	h.remove(namespacesPath+"/shop", "").expect(t, http.StatusOK, "")
	h.awaitGone(namespacesPath, "shop")
	t.Logf("1,000 config maps are gone after %v", time.Since(begin))
}

// The pods of a namespace end first, so that what they use is there until then.
func TestPodsOfANamespaceEndFirst(t *testing.T) {
	h := withControllers(t, "namespace")
	h.create("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	const ns = "/api/v1/namespaces/shop"
	h.create(ns+"/configmaps", configMap("used", "{}"))
	h.create(ns+"/pods", `{"metadata":{"name":"p","finalizers":["example.com/wait"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	h.send("DELETE", ns, "", nil)
	h.await("/api/v1/namespaces", func(o contents) bool {
		return strings.Contains(conditions(o, "shop"), "NamespaceContentRemaining=True")
	})
	if got := h.get(ns + "/configmaps/used"); got.code != 200 {
		t.Errorf("the config map went before the pod: %d %s", got.code, got.body)
	}
	h.mergePatch(ns+"/pods/p", `{"metadata":{"finalizers":null}}`)
	h.await("/api/v1/namespaces", func(o contents) bool { return o["shop"] == nil })
}
