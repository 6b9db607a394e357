package objects_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

func warnedPod(name, more string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i"` + more + `}],"nodeSelector":{"beta.kubernetes.io/arch":"a"}}}`
}

// A write returns warnings for deprecated or ineffective parts of a valid object, dry or
// not, and of a refused one only for repeated owners.
func TestWarningsOfWrites(t *testing.T) {
	h := harness.Start(t, nil)
	const pods, deployments = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments"
	deployment := func(replicas int, label string) string {
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":%d,"selector":{"matchLabels":{"a":"b"}},
			"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}],"nodeSelector":{"%s":"x"}}}}}`, replicas, label)
	}
	owned := func(name string) string {
		const owner = `{"apiVersion":"v1","kind":"Pod","name":"a","uid":"x"}`
		return `{"metadata":{"name":"` + name + `","ownerReferences":[` + owner + `,` + owner + `]}}`
	}
	const old, known = "beta.kubernetes.io/os", "kubernetes.io/os"
	const merge, json, apply = "application/merge-patch+json", "application/json", "application/apply-patch+yaml"
	for _, c := range []struct {
		method, path, mediaType, body string
		code, warnings                int
	}{
		{"POST", pods + "?dryRun=All", json, warnedPod("a", ""), http.StatusCreated, 1},
		{"POST", pods, json, warnedPod("a", `,"env":[{"name":"A"},{"name":"A"},{"name":"A"}]`), http.StatusCreated, 3},
		{"POST", pods, json, strings.Replace(warnedPod("x", `,"imagePullPolicy":"No"`), `"name":"x"`, `"generateName":"x-"`, 1), http.StatusUnprocessableEntity, 0},
		{"PATCH", pods + "/a", merge, `{"metadata":{"labels":{"x":"y"}}}`, http.StatusOK, 0},
		{"PATCH", pods + "/applied?fieldManager=m", apply, warnedPod("applied", ""), http.StatusCreated, 1},
		{"PUT", deployments + "/d", json, deployment(1, old), http.StatusCreated, 1},
		{"PUT", deployments + "/d", json, deployment(2, old), http.StatusOK, 1},
		{"PUT", deployments + "/d?dryRun=All", json, deployment(3, old), http.StatusOK, 1},
		{"PATCH", deployments + "/d", merge, `{"metadata":{"labels":{"x":"y"}}}`, http.StatusOK, 0},
		{"PATCH", deployments + "/d/status", merge, `{"status":{"replicas":2}}`, http.StatusOK, 0},
		{"PATCH", deployments + "/d/scale", merge, `{"spec":{"replicas":5}}`, http.StatusOK, 1},
		{"PUT", deployments + "/d", json, deployment(2, known), http.StatusOK, 0},
		{"POST", pods + "?fieldValidation=Ignore", json, strings.Replace(warnedPod("odd", ""), `"spec"`, `"odd":1,"spec"`, 1), http.StatusCreated, 1},
		{"POST", harness.ConfigMaps, json, owned("o"), http.StatusCreated, 1},
		{"PUT", harness.ConfigMaps + "/o", json, owned("o"), http.StatusOK, 1},
		{"POST", "/api/v1/namespaces/none/configmaps", json, owned("o"), http.StatusNotFound, 1},
		{"PUT", "/api/v1/nodes/o/status", json, owned("o"), http.StatusNotFound, 1},
	} {
		got := h.Send(c.method, c.path, c.mediaType, []byte(c.body))
		if w := got.Header.Values("Warning"); got.Code != c.code || len(w) != c.warnings {
			t.Errorf("%s %s: %d %q, want %d and %d warnings: %.200s", c.method, c.path, got.Code, w, c.code, c.warnings, got.Body)
		}
	}
}

// Many warnings do not make a header that proxies refuse.
func TestWarningsAreBounded(t *testing.T) {
	h := harness.Start(t, nil)
	env := strings.Repeat(`{"name":"`+strings.Repeat("A", 300)+`"},`, 200)
	got := h.Post("/api/v1/namespaces/default/pods", warnedPod("a", `,"env":[`+strings.TrimSuffix(env, ",")+`]`))
	all := got.Header.Values("Warning")
	total := 0
	for _, w := range all {
		total += len(w)
	}
	if got.Code != http.StatusCreated || len(all) < 10 || total > 5000 {
		t.Errorf("%d with %d warnings, %d characters", got.Code, len(all), total)
	}
}

// Authorized requests for deprecated resources are warned and counted, found or not.
func TestFiguresOfDeprecatedAPIs(t *testing.T) {
	h := harness.Start(t, nil)
	const series = `apiserver_requested_deprecated_apis{group="%s",removed_release="%s",resource="%s",subresource="%s",version="%s"`
	figure := func(group, removed, resource, sub, version string) string {
		return h.Figures()[fmt.Sprintf(series, group, removed, resource, sub, version)]
	}
	scalers := "/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers/none"
	if got := h.Send("GET", scalers, "", nil, "Authorization", "Bearer bob-token"); got.Code != http.StatusForbidden || len(got.Header.Values("Warning")) != 0 {
		t.Errorf("%d %q", got.Code, got.Header)
	}
	if got := figure("autoscaling", "1.26", "horizontalpodautoscalers", "", "v2beta2"); got != "" {
		t.Errorf("before somebody asked who may it is %q", got)
	}
	h.Get(scalers)
	h.Get(scalers + "/status")
	h.Get("/api/v1/componentstatuses")
	h.Get("/apis/autoscaling/v2/horizontalpodautoscalers")
	for _, want := range []string{
		figure("autoscaling", "1.26", "horizontalpodautoscalers", "", "v2beta2"),
		figure("autoscaling", "1.26", "horizontalpodautoscalers", "status", "v2beta2"),
		figure("", "", "componentstatuses", "", "v1"),
	} {
		if want != "1" {
			t.Errorf("a figure is %q: %v", want, h.Figures())
		}
	}
	if got := figure("autoscaling", "", "horizontalpodautoscalers", "", "v2"); got != "" {
		t.Errorf("what is not deprecated is %q", got)
	}
}

// A watch in a form that only objects have warns of a deprecated version; what has no form
// at all finds no version.
func TestWarningsOfDeprecatedVersions(t *testing.T) {
	h := harness.Start(t, nil)
	for query, want := range map[string]int{"?watch=1 application/yaml": 1, "?watch=1 text/csv": 0, " text/csv": 0} {
		query, accept, _ := strings.Cut(query, " ")
		got := h.Send("GET", "/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers"+query, "", nil, "Accept", accept)
		if w := got.Header.Values("Warning"); got.Code != http.StatusNotAcceptable || len(w) != want {
			t.Errorf("%s in %s: %d %q", query, accept, got.Code, w)
		}
	}
}
