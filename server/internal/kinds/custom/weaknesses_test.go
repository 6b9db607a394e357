package custom_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// The tests here are about published weaknesses of kube-apiserver (SECURITY.md has the list).

// TestCustomObjectsOfOneScope: rights in a namespace do not reach objects of the cluster by a
// path in that namespace, and a right to one kind reaches no other of its group.
func TestCustomObjectsOfOneScope(t *testing.T) {
	h := harness.Start(t, nil)
	const group = "/apis/shop.example.com/v1/"
	for plural, scope := range map[string]string{"stores": "Cluster", "carts": "Namespaced", "cart": "Namespaced", "cartsales": "Namespaced"} {
		h.Create(harness.DefinitionsPath, strings.Replace(harness.Custom("shop.example.com", plural, `"kind":"`+strings.ToUpper(plural[:1])+plural[1:]+`"`), "Namespaced", scope, 1))
		h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
			return strings.Contains(harness.Conditions(o, plural+".shop.example.com"), "Established=True")
		})
	}
	object := func(kind, name string) string {
		return `{"apiVersion":"shop.example.com/v1","kind":"` + kind + `","metadata":{"name":"` + name + `"}}`
	}
	const carts, every = group + "namespaces/default/carts", `{"verbs":["*"],"apiGroups":["shop.example.com"],"resources":["carts","stores"]}`
	h.AwaitCode(group+"stores", 200)
	h.AwaitCode(group+"cartsales", 200)
	h.AwaitCode(group+"cart", 200)
	h.AwaitCode(group+"carts", 200)
	h.Create(group+"stores", object("Stores", "a"))
	h.Create(carts, object("Carts", "mine"))
	h.Create(group+"namespaces/default/cartsales", object("Cartsales", "secret"))
	h.Create(group+"namespaces/kube-system/carts", object("Carts", "secret"))
	h.Create(harness.RBACGroup+"namespaces/default/roles", harness.RoleOf("all", every))
	h.Create(harness.RBACGroup+"namespaces/default/rolebindings", harness.BindingOf("all", "Role", "all", harness.ToBob))
	for _, path := range []string{"namespaces/default/stores", "namespaces/default/stores/a"} {
		for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "POST"} {
			for _, token := range []string{"bob-token", harness.AdminToken} {
				if got := h.SendAs(token, method, group+path, object("Stores", "a")); got.Code < 400 {
					t.Errorf("%s %s %s: %d %s", token, method, path, got.Code, got.Body)
				}
			}
		}
	}
	h.Get(group+"stores/a").Expect(t, 200, "")
	if got := h.SendAs("bob-token", "GET", group+"stores/a", ""); got.Code != 403 {
		t.Errorf("an object of the cluster: %d", got.Code)
	}
	h.SendAs("bob-token", "GET", carts, "").Expect(t, 200, "")
	for _, query := range []string{"", "?resourceVersion=0", "?limit=1", "?labelSelector=!x", "?fieldSelector=metadata.name!%3Dx"} {
		got := h.SendAs("bob-token", "GET", carts+query, "")
		if got.Code != 200 || strings.Contains(string(got.Body), "secret") || !strings.Contains(string(got.Body), `"mine"`) {
			t.Errorf("list %s: %d %s", query, got.Code, got.Body)
		}
	}
	for _, way := range []string{"..", "../cartsales", "../../cartsales/default", "../kube-system", "../cartsales/default/secret", "../kube-system/secret", ".", "mine/../../kube-system/secret", "\x00", "..\\cartsales"} {
		escaped := url.PathEscape(way)
		for _, path := range []string{carts + "/" + escaped, group + "namespaces/" + escaped + "/carts", carts + "?fieldSelector=metadata.name%3D" + url.QueryEscape(way)} {
			for _, token := range []string{"bob-token", harness.AdminToken} {
				if got := h.SendAs(token, "GET", path, ""); got.Code < 400 && strings.Contains(string(got.Body), `"secret"`) || got.Code >= 500 {
					t.Errorf("%s %s: %d %s", token, path, got.Code, got.Body)
				}
			}
		}
	}
}

// TestDefinitionsBesideBuiltInKinds: a definition with the names of a built-in kind in another
// version has nothing to do with the objects of that kind, even when it ends.
func TestDefinitionsBesideBuiltInKinds(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create("/apis/coordination.k8s.io/v1/namespaces/default/leases", `{"metadata":{"name":"old"}}`)
	for _, c := range []struct{ group, plural, kind, scope, version, there string }{
		{"rbac.authorization.k8s.io", "clusterroles", "ClusterRole", "Cluster", "v1beta1", harness.RBACGroup + "clusterroles/cluster-admin"},
		{"coordination.k8s.io", "leases", "Lease", "Namespaced", "v2", "/apis/coordination.k8s.io/v1/namespaces/default/leases/old"},
		{"coordination.k8s.io", "leases", "Lease", "Namespaced", "v1", "/apis/coordination.k8s.io/v1/namespaces/default/leases/old"},
	} {
		body := strings.Replace(harness.Custom(c.group, c.plural, `"kind":"`+c.kind+`"`), `"metadata":{`, `"metadata":{"annotations":{"api-approved.kubernetes.io":"https://example.com"},`, 1)
		body = strings.Replace(strings.Replace(body, "Namespaced", c.scope, 1), `"name":"v1"`, `"name":"`+c.version+`"`, 1)
		h.Create(harness.DefinitionsPath, body)
		name := c.plural + "." + c.group
		h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return strings.Contains(harness.Conditions(o, name), "Established=") })
		of := "/apis/" + c.group + "/" + c.version
		if c.scope == "Namespaced" {
			of += "/namespaces/default"
		}
		before := h.Get(c.there)
		before.Expect(t, 200, "")
		h.Post(of+"/"+c.plural, `{"apiVersion":"`+c.group+"/"+c.version+`","kind":"`+c.kind+`","metadata":{"name":"sneaky"},"rules":[`+harness.EveryRight+`],"spec":{"holderIdentity":1}}`)
		sneaky := c.there[:strings.LastIndex(c.there, "/")] + "/sneaky"
		if got := h.Get(sneaky); got.Code != 404 {
			t.Errorf("%s: an object of its kind is a built-in one: %d %s", name, got.Code, got.Body)
		}
		h.Remove(harness.DefinitionsPath+"/"+name, "").Expect(t, 200, "")
		h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return o[name] == nil })
		if got := h.Get(c.there); string(got.Body) != string(before.Body) {
			t.Errorf("%s %s: the end of the definition changed %s: %d %s", name, c.version, c.there, got.Code, got.Body)
		}
	}
}

// TestDefinitionsOfGroupsThatAreOff: a definition does not take the place of a built-in kind
// that is turned off, by whose stored objects the server goes on deciding.
func TestDefinitionsOfGroupsThatAreOff(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.RuntimeConfig = []string{"rbac.authorization.k8s.io/v1=false", "certificates.k8s.io/v1=false"}
	})
	for _, version := range []string{"v1", "v1beta1"} {
		for group, names := range map[string][2]string{"rbac.authorization.k8s.io": {"clusterrolebindings", "ClusterRoleBinding"}, "certificates.k8s.io": {"certificatesigningrequests", "CertificateSigningRequest"}} {
			body := strings.Replace(harness.Custom(group, names[0], `"kind":"`+names[1]+`"`), `"metadata":{`, `"metadata":{"annotations":{"api-approved.kubernetes.io":"https://example.com"},`, 1)
			body = strings.Replace(strings.Replace(body, "Namespaced", "Cluster", 1), `"name":"v1"`, `"name":"`+version+`"`, 1)
			h.Create(harness.DefinitionsPath, strings.Replace(body, `{"type":"object"}`, `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, 1))
			name := names[0] + "." + group
			h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return strings.Contains(harness.Conditions(o, name), "Established=") })
			sneaky := `{"apiVersion":"` + group + "/" + version + `","kind":"` + names[1] + `",` + harness.BindingOf("sneaky", "ClusterRole", "cluster-admin", harness.ToBob)[1:]
			if got := h.Post("/apis/"+group+"/"+version+"/"+names[0], sneaky); got.Code != 404 {
				t.Errorf("%s %s: %d %s", name, version, got.Code, got.Body)
			}
			if got := h.SendAs("bob-token", "GET", "/metrics", ""); got.Code != 403 {
				t.Errorf("%s %s: bob is let in: %d", name, version, got.Code)
			}
			h.Remove(harness.DefinitionsPath+"/"+name, "")
			h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return o[name] == nil })
		}
	}
}

// TestNodeUpdatesAreReviewedAsStored: a webhook sees the node as it is stored, whatever an
// update sends, by every way to write it.
func TestNodeUpdatesAreReviewedAsStored(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, func(_ string, request, response map[string]any) {
		old, _ := request["oldObject"].(map[string]any)
		meta, _ := old["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		response["allowed"] = labels["changePermitted"] == "yes"
	})
	h.Create("/api/v1/nodes", `{"metadata":{"name":"n","labels":{"changePermitted":"no"}}}`)
	h.ValidateBy(v, "nodes", `{"operations":["UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["nodes","nodes/status"]}`, "")
	const changed = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"changePermitted":"yes"}},"spec":{"unschedulable":true},"status":{"phase":"Running"}}`
	for _, path := range []string{"/api/v1/nodes/n", "/api/v1/nodes/n/status"} {
		for _, query := range []string{"?fieldManager=m", "?fieldManager=m&dryRun=All"} {
			for _, way := range [][2]string{{"PUT", "application/json"}, {"PATCH", harness.MergePatchMedia}, {"PATCH", harness.StrategicMedia}, {"PATCH", harness.ApplyMedia}} {
				if way[1] == harness.ApplyMedia {
					query += "&force=true"
				}
				got := h.Send(way[0], path+query, way[1], []byte(changed))
				if got.Code != 403 || !strings.Contains(string(got.Body), "denied the request") {
					t.Errorf("%v %s%s: %d %s", way, path, query, got.Code, got.Body)
				}
			}
		}
	}
}

// TestEndpointsOfOrdinaryUsers: who may edit a namespace may not write endpoints, which would
// lead others past the rules of its network.
func TestEndpointsOfOrdinaryUsers(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.RBACGroup+"namespaces/default/rolebindings", harness.BindingOf("edit", "ClusterRole", "edit", harness.ToBob))
	h.Create(harness.RBACGroup+"namespaces/default/rolebindings", harness.BindingOf("admin", "ClusterRole", "admin", harness.ToCarol))
	for _, role := range []string{"system:aggregate-to-admin", "system:aggregate-to-edit"} { // without the controller that sums them up
		h.Create(harness.RBACGroup+"namespaces/default/rolebindings", harness.BindingOf(strings.ReplaceAll(role, ":", "-"), "ClusterRole", role, harness.ToBob+","+harness.ToCarol))
	}
	for _, token := range []string{"bob-token", "carol-token"} {
		h.SendAs(token, "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", harness.ConfigMap("a", "{}")).Expect(t, 201, "")
		for path, body := range map[string]string{
			"/api/v1/namespaces/default/endpoints":                        `{"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}]}`,
			"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}]}`,
		} {
			for _, c := range [][2]string{{"POST", path}, {"PUT", path + "/a"}, {"PATCH", path + "/a"}, {"DELETE", path + "/a"}, {"DELETE", path}} {
				if got := h.SendAs(token, c[0], c[1], body); got.Code != 403 {
					t.Errorf("%s %s %s: %d %s", token, c[0], c[1], got.Code, got.Body)
				}
			}
		}
	}
	for _, ip := range []string{"127.0.0.1", "127.8.8.8", "169.254.169.254", "224.0.0.1", "0.0.0.0"} {
		for path, body := range map[string]string{
			"/api/v1/namespaces/default/endpoints":                        `{"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"` + ip + `"}],"ports":[{"port":80}]}]}`,
			"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["` + ip + `"]}]}`,
		} {
			h.Post(path, body).Expect(t, 422, "Invalid")
		}
	}
}

// TestExternalIPsAreDenied: with its plug-in nobody takes an address outside of the cluster
// over, in whatever way the service is written.
func TestExternalIPsAreDenied(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.EnableAdmissionPlugins = []string{"DenyServiceExternalIPs"} })
	const services, taken = "/api/v1/namespaces/default/services", `"spec":{"externalIPs":["8.8.8.8"],"ports":[{"port":80}]}`
	service := func(name, spec string) string {
		return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"` + name + `"},` + spec + `}`
	}
	const denied = "Use of external IPs is denied by admission control"
	h.Run(t, []harness.Step{
		{"create", "POST", services, "", service("a", taken), 403, denied},
		{"dry run", "POST", services + "?dryRun=All", "", service("a", taken), 403, denied},
		{"put", "PUT", services + "/a", "", service("a", taken), 403, denied},
		{"apply", "PATCH", services + "/a?fieldManager=m", harness.ApplyMedia, service("a", taken), 403, denied},
		{"without", "POST", services, "", service("a", `"spec":{"ports":[{"port":80}]}`), 201, ""},
		{"merge", "PATCH", services + "/a", harness.MergePatchMedia, `{"spec":{"externalIPs":["8.8.8.8"]}}`, 403, denied},
		{"strategic", "PATCH", services + "/a", harness.StrategicMedia, `{"spec":{"externalIPs":["8.8.8.8"]}}`, 403, denied},
		{"JSON patch", "PATCH", services + "/a", harness.JSONPatchMedia, `[{"op":"add","path":"/spec/externalIPs","value":["8.8.8.8"]}]`, 403, denied},
		{"apply over it", "PATCH", services + "/a?fieldManager=m", harness.ApplyMedia, service("a", `"spec":{"externalIPs":["8.8.8.8"]}`), 403, denied},
		{"status", "PATCH", services + "/a/status", harness.MergePatchMedia, `{"spec":{"externalIPs":["8.8.8.8"]}}`, 200, `"loadBalancer":{}`},
		{"nothing taken", "GET", services + "?fieldSelector=metadata.name%3Da", "", "", 200, ""},
	})
	if got := h.Get(services + "/a"); strings.Contains(string(got.Body), "8.8.8.8") && got.Field(t, "spec.externalIPs") != nil {
		t.Errorf("%s", got.Body)
	}
}

// TestPodsPastTheirRules: profiles without a name, containers that come later, and fields of
// newer releases do not lead past the rules of a namespace.
func TestPodsPastTheirRules(t *testing.T) {
	h := harness.Start(t, nil)
	for _, level := range []string{"baseline", "restricted"} {
		h.Create("/api/v1/namespaces", `{"metadata":{"name":"`+level+`","labels":{"pod-security.kubernetes.io/enforce":"`+level+`"}}}`)
		pods := "/api/v1/namespaces/" + level + "/pods"
		const strict = `"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"runAsNonRoot":true`
		pod := func(name, more, container string) string {
			return `{"metadata":{"name":"` + name + `"},"spec":{` + more + `"containers":[{"name":"c","image":"i","securityContext":{` + strict + container + `}}]}}`
		}
		const right, wrong = `"seccompProfile":{"type":"Localhost","localhostProfile":"a.json"}`, `"seccompProfile":{"type":"Localhost","localhostProfile":""}`
		h.Run(t, []harness.Step{
			{"profile", "POST", pods, "", pod("a", "", ","+right), 201, ""},
			{"of no name", "POST", pods, "", pod("b", "", ","+wrong), 403, `container \"c\" must name a profile in securityContext.seccompProfile.localhostProfile`},
			{"of no name, for all", "POST", pods, "", pod("b", `"securityContext":{`+wrong+`},`, ""), 403, "pod must name a profile"},
			{"of no name, at first", "POST", pods, "", pod("b", `"initContainers":[{"name":"i","image":"i","securityContext":{`+strict+","+wrong+`}}],`, ","+right), 403, `container \"i\" must name`},
			{"of no name, later", "PATCH", pods + "/a/ephemeralcontainers", harness.StrategicMedia, `{"spec":{"ephemeralContainers":[{"name":"e","image":"i","securityContext":{` + strict + "," + wrong + `}}]}}`, 403, `container \"e\" must name`},
			{"privileged, later", "PATCH", pods + "/a/ephemeralcontainers", harness.StrategicMedia, `{"spec":{"ephemeralContainers":[{"name":"e","image":"i","securityContext":{"privileged":true}}]}}`, 403, "privileged"},
			{"privileged, put", "PUT", pods + "/a/ephemeralcontainers", "", strings.Replace(pod("a", "", ","+right), `"containers":[`, `"ephemeralContainers":[{"name":"e","image":"i","securityContext":{"privileged":true}}],"containers":[`, 1), 403, "privileged"},
			{"claims of resources", "POST", pods + "?fieldValidation=Strict", "", pod("b", `"resourceClaims":[{"name":"r"}],`, ","+right), 400, `unknown field \"spec.resourceClaims\"`},
		})
	}
	h.Get("/apis/resource.k8s.io/v1/resourceclaims").Expect(t, 404, "")
}

// TestHeavyTokens: tokens that are costly to take apart are refused without that cost.
func TestHeavyTokens(t *testing.T) {
	h := harness.Start(t, nil)
	for name, token := range map[string]string{
		"dots": strings.Repeat(".", 200<<10), "parts": strings.Repeat("e30.", 50<<10), "encrypted": "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIiwiemlwIjoiREVGIn0.." + strings.Repeat("A", 100<<10) + ".AA.AA",
		"passwords": "eyJhbGciOiJQQkVTMi1IUzI1NitBMTI4S1ciLCJlbmMiOiJBMTI4R0NNIiwicDJjIjoyMTQ3NDgzNjQ3LCJwMnMiOiJBQUFBIn0.AA.AA.AA.AA", "braces": strings.Repeat("e", 100<<10) + ".e30.AA",
	} {
		h.Refuse(t, []harness.Hostile{{name, "POST", "/apis/authentication.k8s.io/v1/tokenreviews?" + name, "application/json", fmt.Sprintf(`{"spec":{"token":%q,"x":`, token), 400}})
		review := h.Post("/apis/authentication.k8s.io/v1/tokenreviews", fmt.Sprintf(`{"spec":{"token":%q}}`, token))
		if review.Code != 201 || review.Field(t, "status.authenticated") == true {
			t.Errorf("%s: %d %.300s", name, review.Code, review.Body)
		}
		if got := h.Send("GET", "/version", "", nil, "Authorization", "Bearer "+token); got.Code != 401 && got.Code != 431 {
			t.Errorf("%s as a login: %d %.300s", name, got.Code, got.Body)
		}
	}
}

// TestOriginsOfPages: no page of another origin may read an answer.
func TestOriginsOfPages(t *testing.T) {
	h := harness.Start(t, nil)
	for _, origin := range []string{"null", "https://evil.example.com", h.Running.URL() + ".example.com"} {
		for _, method := range []string{"GET", "OPTIONS"} {
			got := h.Send(method, harness.ConfigMaps, "", nil, "Origin", origin, "Access-Control-Request-Method", "GET")
			for name := range got.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s from %s: %s: %s", method, origin, name, got.Header.Get(name))
				}
			}
		}
	}
}
