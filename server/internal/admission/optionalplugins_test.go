package admission_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Events above the limits are refused, of each namespace and each source by itself.
func TestEventRateLimit(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.EnableAdmissionPlugins = []string{"EventRateLimit"}
		c.AdmissionControlConfigFile = harness.AdmissionFile(t, `- name: EventRateLimit
  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: SourceAndObject, qps: 1, burst: 2, cacheSize: 9}, {type: Server, qps: 1, burst: 4}]}
`)
	})
	const events = "/api/v1/namespaces/default/events"
	event := func(name, about string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"involvedObject":{"kind":"Pod","namespace":"default","name":%q},"source":{"component":"c"}}`, name, about)
	}
	h.Run(t, []harness.Step{
		{"first", "POST", events, "", event("a", "x"), 201, ""},
		{"dry run", "POST", events + "?dryRun=All", "", event("b", "x"), 201, ""},
		{"second", "POST", events, "", event("b", "x"), 201, ""},
		{"third", "POST", events, "", event("c", "x"), 429, `"message":"Too many requests: limit reached on type SourceAndObject for key cPoddefaultx","reason":"TooManyRequests"`},
		{"another object", "POST", events, "", event("c", "y"), 201, ""},
		{"everything", "POST", events, "", event("d", "x"), 429, `Too many requests: [limit reached on type SourceAndObject for key cPoddefaultx, limit reached on type Server for key ]`},
	})
}

// The webhook knows which images may run; its answers count for a while.
func TestImagePolicyWebhook(t *testing.T) {
	var calls, failing atomic.Int64
	hook := harness.NewLoginWebhook(t)
	hook.Answer(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var review map[string]any
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || failing.Load() > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		text, _ := json.Marshal(review["spec"])
		review["status"] = map[string]any{"allowed": !strings.Contains(string(text), "bad"), "reason": map[bool]string{true: "it is old"}[strings.Contains(string(text), "old")]}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	})
	start := func(open bool) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.EnableAdmissionPlugins = []string{"ImagePolicyWebhook"}
			c.AdmissionControlConfigFile = harness.AdmissionFile(t, fmt.Sprintf("- {name: ImagePolicyWebhook, configuration: {imagePolicy: {kubeConfigFile: %s, retryBackoff: 1, defaultAllow: %v}}}\n", hook.Config, open))
		})
	}
	pod := func(name, image string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}`
	}
	h := start(false)
	h.Run(t, []harness.Step{
		{"good", "POST", harness.PodsPath, "", pod("a", "good"), 201, ""},
		{"good again", "POST", harness.PodsPath, "", pod("b", "good"), 201, ""},
		{"bad", "POST", harness.PodsPath, "", pod("c", "bad"), 403, `pods \"c\" is forbidden: one or more images rejected by webhook backend`},
		{"bad and old", "POST", harness.PodsPath, "", pod("c", "bad-old"), 403, "image policy webhook backend denied one or more images: it is old"},
		{"late", "PATCH", harness.PodsPath + "/a/ephemeralcontainers", "application/strategic-merge-patch+json", `{"spec":{"ephemeralContainers":[{"name":"e","image":"bad"}]}}`, 403, "rejected by webhook"},
	})
	if got := calls.Load(); got != 3 { // the containers of the last are asked about like those of c
		t.Errorf("%d calls, want 3", got)
	}
	failing.Store(1)
	h.Run(t, []harness.Step{{"no answer", "POST", harness.PodsPath, "", pod("d", "new"), 403, `pods \"d\" is forbidden`}})
	start(true).Run(t, []harness.Step{{"no answer needed", "POST", harness.PodsPath, "", pod("d", "new"), 201, `"alpha.image-policy.k8s.io/failed-open":"true"`}})
}

// A namespace is created with the first object in it, but for a dry run.
func TestNamespaceAutoProvision(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.EnableAdmissionPlugins = []string{"NamespaceAutoProvision"} })
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	h.Define(`{"type":"object"}`, "")
	h.Run(t, []harness.Step{
		{"dry run", "POST", "/api/v1/namespaces/one/configmaps?dryRun=All", "", object, 404, ""},
		{"create", "POST", "/api/v1/namespaces/one/configmaps", "", object, 201, ""},
		{"is there", "GET", "/api/v1/namespaces/one", "", "", 200, `"kubernetes.io/metadata.name":"one"`},
		{"apply", "PATCH", "/api/v1/namespaces/two/configmaps/a?fieldManager=m", "application/apply-patch+yaml", object, 201, ""},
		{"replacement, dry run", "PUT", "/api/v1/namespaces/four/configmaps/a?dryRun=All", "", object, 404, `namespaces \"four\" not found`},
		{"replacement", "PUT", "/api/v1/namespaces/four/configmaps/a", "", object, 201, ""},
		{"is there", "GET", "/api/v1/namespaces/four", "", "", 200, `"kubernetes.io/metadata.name":"four"`},
		{"late replacement", "PUT", "/api/v1/namespaces/five/configmaps/a", "", `{"metadata":{"name":"a","resourceVersion":"7"}}`, 404, `configmaps \"a\" not found`},
		{"custom replacement", "PUT", strings.Replace(harness.ShopWidgets, "default", "five", 1) + "/w", "", harness.Widget("w", ""), 404, `widgets.shop.example.com \"w\" not found`},
		{"changes nothing", "GET", "/api/v1/namespaces/five", "", "", 404, ""},
		{"wrong name", "POST", "/api/v1/namespaces/No_3/configmaps", "", object, 403, `configmaps \"a\" is forbidden: Namespace \"No_3\" is invalid: metadata.name`},
		{"cluster-scoped", "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "", `{"metadata":{"name":"c"}}`, 201, ""},
	})
}

// Pods that reserve cpu or memory tolerate nodes that are short of memory, others do not.
func TestTolerationOfMemoryPressure(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.EnableAdmissionPlugins = []string{"PodTolerationRestriction"} })
	for name, c := range map[string]struct {
		spec      string
		tolerates bool
	}{
		"best":      {`"containers":[{"name":"c","image":"i"}]`, false},
		"zero":      {`"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"0"}}}]`, false},
		"disk":      {`"containers":[{"name":"c","image":"i","resources":{"requests":{"ephemeral-storage":"1Gi"}}}]`, false},
		"burstable": {`"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]`, true},
		"init":      {`"containers":[{"name":"c","image":"i"}],"initContainers":[{"name":"d","image":"i","resources":{"limits":{"memory":"1Gi"}}}]`, true},
		"full":      {`"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]`, true},
	} {
		got := h.Post(harness.PodsPath, `{"metadata":{"name":"`+name+`"},"spec":{`+c.spec+`},"status":{"qosClass":"Burstable"}}`)
		got.Expect(t, 201, "")
		if tolerates := strings.Contains(string(got.Body), "node.kubernetes.io/memory-pressure"); tolerates != c.tolerates {
			t.Errorf("%s: tolerates %v, want %v", name, tolerates, c.tolerates)
		}
		again := h.MergePatch(harness.PodsPath+"/"+name, `{"metadata":{"labels":{"a":"b"}}}`)
		if again.Expect(t, 200, ""); strings.Contains(string(again.Body), "memory-pressure") != c.tolerates {
			t.Errorf("%s after an update: %s", name, again.Body)
		}
	}
}

// AlwaysDeny refuses every change, and reads go on.
func TestAlwaysDeny(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.EnableAdmissionPlugins = []string{"AlwaysDeny"} })
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ConfigMaps, "", harness.ConfigMap("a", `{}`), 403, `configmaps \"a\" is forbidden: admission control is denying all modifications`},
		{"delete", "DELETE", "/api/v1/namespaces/default/services/kubernetes", "", "", 403, "denying all"},
		{"read", "GET", "/api/v1/namespaces/default/services/kubernetes", "", "", 200, ""},
	})
}
