package identity_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// From 1.32 on a webhook sees the selectors of requests for several objects, and of reviews.
func TestSelectorsOfRights(t *testing.T) {
	for _, release := range []string{"1.25", "1.31", "1.32", "1.36"} {
		selects := release >= "1.32"
		hook := harness.NewLoginWebhook(t)
		var mu sync.Mutex
		var asked string
		hook.Answer(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			asked = string(body)
			mu.Unlock()
			_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`)
		})
		h := harness.Start(t, func(c *server.Config) {
			c.EmulatedVersion, c.AuthorizationModes = []string{release}, []string{"Webhook"}
			c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion, c.AuthorizationWebhookAllowedTTL = hook.Config, "v1", -1
		})
		expect := func(name, fields, labels string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			for member, want := range map[string]string{"fieldSelector": fields, "labelSelector": labels} {
				has := strings.Contains(asked, `"`+member+`":`)
				if shown := want != "" && selects; has != shown || shown && !strings.Contains(asked, `"`+member+`":{"requirements":[`+want+`]}`) {
					t.Errorf("%s %s: asked %s, want %s %s", release, name, asked, member, want)
				}
			}
		}
		get := func(method, path string) {
			h.Send(method, path, "", nil, "Authorization", "Bearer carol-token")
		}
		const fieldWant, labelWant = `{"key":"metadata.name","operator":"In","values":["a"]}`, `{"key":"app","operator":"NotIn","values":["x","y"]},{"key":"tier","operator":"Exists"}`
		get("GET", harness.ConfigMaps+"?fieldSelector=metadata.name%3Da&labelSelector=app+notin+(y,x),tier")
		expect("list", fieldWant, labelWant)
		get("DELETE", harness.ConfigMaps+"?fieldSelector=metadata.name%3Da")
		expect("delete of a collection", fieldWant, "")
		get("GET", harness.ConfigMaps+"?labelSelector=app+in")
		expect("a selector that cannot be read", "", "")
		get("GET", harness.ConfigMaps+"/a?fieldSelector=metadata.name%3Da")
		expect("get", "", "")
		review := func(selectors string) harness.Reply {
			return h.Post(harness.AccessGroup+"subjectaccessreviews", `{"spec":{"user":"carol","resourceAttributes":{"verb":"list","resource":"configmaps",`+selectors+`}}}`)
		}
		if selects {
			got := review(`"fieldSelector":{"requirements":[{"key":"metadata.name","operator":"In","values":["a"]},{"key":"x","operator":"Near","values":["a"]}]},"labelSelector":{"rawSelector":"app in"}`)
			expect("review", fieldWant, "")
			if want := "spec.resourceAttributes.fieldSelector partially ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error"; got.Field(t, "status.evaluationError") != want {
				t.Errorf("%s: %s", release, got.Body)
			}
			review(`"labelSelector":{"rawSelector":"app notin (y,x),tier"}`)
			expect("review of a text", "", labelWant)
		}
	}
}

// From 1.32 on the agent of a node reads its own node and the pods on it only.
func TestAgentsReadTheirOwnNode(t *testing.T) {
	for _, release := range []string{"1.25", "1.31", "1.32", "1.36"} {
		h := harness.Start(t, func(c *server.Config) {
			c.EmulatedVersion, c.AuthorizationModes = []string{release}, []string{"Node", "RBAC"}
			c.EnableAdmissionPlugins = []string{"NodeRestriction"}
		})
		h.Create("/api/v1/nodes", `{"metadata":{"name":"a"}}`)
		h.Create("/api/v1/nodes", `{"metadata":{"name":"b"}}`)
		const pods = "/api/v1/namespaces/default/pods"
		for _, node := range []string{"a", "b"} {
			h.Create(pods, `{"metadata":{"name":"on-`+node+`"},"spec":{"nodeName":"`+node+`","containers":[{"name":"c","image":"i"}]}}`)
		}
		for _, c := range []struct {
			path string
			code int // from 1.32 on; 200 before
			text string
		}{
			{"/api/v1/nodes/a", 200, ""},
			{"/api/v1/nodes/b", 403, "node 'a' cannot read 'b', only its own Node object"},
			{"/api/v1/nodes", 403, "node 'a' cannot read all nodes, only its own Node object"},
			{"/api/v1/nodes?fieldSelector=metadata.name%3Da", 200, ""},
			{"/api/v1/pods", 403, "can only list/watch pods with spec.nodeName field selector"},
			{"/api/v1/pods?fieldSelector=spec.nodeName%3Da", 200, ""},
			{"/api/v1/pods?fieldSelector=spec.nodeName!%3Da", 403, "can only list/watch pods with spec.nodeName field selector"},
			{"/api/v1/pods?fieldSelector=spec.nodeName%3Db", 403, "can only list/watch pods with spec.nodeName field selector"},
			{pods + "/on-a", 200, ""},
			{pods + "/on-b", 403, "no relationship found between node 'a' and this object"},
			{pods + "?fieldSelector=metadata.name%3Don-a", 200, ""},
		} {
			code, text := 200, ""
			if release >= "1.32" {
				code, text = c.code, c.text
			}
			got := h.Send("GET", c.path, "", nil, "Impersonate-User", "system:node:a", "Impersonate-Group", "system:nodes")
			if got.Code != code || !strings.Contains(string(got.Body), text) {
				t.Errorf("%s %s: %d %s, want %d %q", release, c.path, got.Code, got.Body, code, text)
			}
		}
		if release >= "1.32" {
			h.Send("DELETE", pods+"/on-a?gracePeriodSeconds=0", "", nil)
			if got := h.Send("GET", pods+"/on-a", "", nil, "Impersonate-User", "system:node:a", "Impersonate-Group", "system:nodes"); got.Code != 403 {
				t.Errorf("%s: a pod that is gone: %d", release, got.Code)
			}
		}
	}
}
