package endpoints_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Gates change the behaviour that clients see.
func TestFeaturesThatAreOff(t *testing.T) {
	const list, openapi = harness.ConfigMaps + "?limit=1", "/openapi/v3"
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) {
				for _, gate := range []string{"RemainingItemCount", "ServerSideFieldValidation", "OpenAPIV3", "StorageVersionHash", "APIResponseCompression"} {
					c.FeatureGates = append(c.FeatureGates, fmt.Sprintf("%s=%v", gate, on))
				}
			})
			for i := range 3 {
				h.Post(harness.ConfigMaps, harness.ConfigMap(fmt.Sprint("a", i), `{"x":"`+strings.Repeat("x", 100<<10)+`"}`))
			}
			page := h.Get(list)
			if page.Field(t, "metadata.continue") == nil || (page.Field(t, "metadata.remainingItemCount") != nil) != on {
				t.Errorf("%.300s", page.Body)
			}
			bad := []byte(`{"metadata":{"generateName":"b-"},"wrong":1}`)
			warned := h.Send("POST", harness.ConfigMaps, "application/json", bad)
			if warned.Code != http.StatusCreated || (len(warned.Header.Values("Warning")) == 1) != on {
				t.Errorf("%d %q", warned.Code, warned.Header)
			}
			strict := h.Send("POST", harness.ConfigMaps+"?fieldValidation=Strict", "application/json", bad)
			if (strict.Code == http.StatusBadRequest) != on {
				t.Errorf("%d %s", strict.Code, strict.Body)
			}
			if got := h.Get(openapi); (got.Code == http.StatusOK) != on {
				t.Errorf("%s: %d", openapi, got.Code)
			}
			if got := h.Get("/api/v1"); bytes.Contains(got.Body, []byte("storageVersionHash")) != on {
				t.Errorf("%.300s", got.Body)
			}
			if got := h.Send("GET", harness.ConfigMaps, "", nil, "Accept-Encoding", "gzip"); (got.Header.Get("Content-Encoding") == "gzip") != on {
				t.Errorf("%q", got.Header)
			}
			want := map[bool]string{true: "1", false: "0"}[on]
			if got := h.Figures()[`kubernetes_feature_enabled{name="OpenAPIV3",stage="BETA"`]; got != want {
				t.Errorf("the figure is %q, want %s", got, want)
			}
		})
	}
}

// Without chunks a list is whole, whatever its limit.
func TestListsWithoutChunks(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.FeatureGates = []string{"APIListChunking=false"} })
	h.Post(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	h.Post(harness.ConfigMaps, harness.ConfigMap("b", "{}"))
	for _, query := range []string{"?limit=1", "?limit=1&continue=anything", "?limit=1&labelSelector=!x"} {
		got := h.Get(harness.ConfigMaps + query)
		if got.Code != http.StatusOK || got.Field(t, "metadata.continue") != nil || got.Field(t, "items.1") == nil {
			t.Errorf("%s: %d %.300s", query, got.Code, got.Body)
		}
	}
}

// A field of a disabled feature is dropped, though its sender owns it; one of an enabled
// feature is kept.
func TestFieldsOfFeatures(t *testing.T) {
	const pod = `"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","hostUsers":false,"containers":[{"name":"c","image":"i","securityContext":{"procMount":"Unmasked"}}],
		"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","minDomains":2,"matchLabelKeys":["k"],"nodeTaintsPolicy":"Honor","nodeAffinityPolicy":"Ignore"}]}`
	cases := []struct{ path, body, field, off, on, status string }{
		{"/apis/apps/v1/namespaces/default/statefulsets", `"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":2}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}`,
			"spec.persistentVolumeClaimRetentionPolicy", `null`, `{"whenDeleted":"Retain","whenScaled":"Delete"}`, ""},
		{"/apis/apps/v1/namespaces/default/statefulsets", `"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":2}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}`,
			"spec.updateStrategy.rollingUpdate", `{"partition":0}`, `{"maxUnavailable":2,"partition":0}`, ""},
		{"/apis/batch/v1/namespaces/default/jobs", `"spec":{"podFailurePolicy":{"rules":[]},"template":{` + pod + `}}`, "spec.podFailurePolicy", `null`, `{"rules":null}`, ""},
		{"/apis/batch/v1/namespaces/default/jobs", `"spec":{"template":{` + pod + `}}`, "spec.template.spec.topologySpreadConstraints", `[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]`,
			`[{"matchLabelKeys":["k"],"maxSkew":1,"minDomains":2,"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]`, ""},
		{"/api/v1/namespaces/default/podtemplates", `"template":{` + pod + `}`, "template.spec.hostUsers", `null`, `false`, ""},
		{"/api/v1/namespaces/default/podtemplates", `"template":{` + pod + `}`, "template.spec.containers.0.securityContext.procMount", `"Default"`, `"Unmasked"`, ""},
		{"/apis/storage.k8s.io/v1/csidrivers", `"spec":{"seLinuxMount":true}`, "spec.seLinuxMount", `null`, `true`, ""},
		{"/apis/storage.k8s.io/v1/csidrivers", `"spec":{}`, "spec.seLinuxMount", `null`, `false`, ""},
		{"/api/v1/nodes", `"spec":{"configSource":{"configMap":{"namespace":"a","name":"b","kubeletConfigKey":"c"}}}`, "spec.configSource.configMap.name", `null`, `"b"`, ""},
		{"/api/v1/namespaces/default/persistentvolumeclaims", `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`, "status.resizeStatus", `null`, `"NodeExpansionFailed"`, `{"status":{"resizeStatus":"NodeExpansionFailed"}}`},
		{"/api/v1/persistentvolumes", `"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"csi":{"driver":"d","volumeHandle":"v","nodeExpandSecretRef":{"name":"n","namespace":"m"}}}`, "spec.csi.nodeExpandSecretRef", `null`, `{"name":"n","namespace":"m"}`, ""},
		{"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", `"spec":{"podSelector":{}}`, "status.conditions.0.type", `null`, `"A"`,
			`{"status":{"conditions":[{"type":"A","status":"True","reason":"R","message":"","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`},
		{"/apis/batch/v1/namespaces/default/cronjobs", `"spec":{"schedule":"@daily","timeZone":"Etc/UTC","jobTemplate":{"spec":{"template":{` + pod + `}}}}`, "spec.timeZone", `null`, `"Etc/UTC"`, ""},
	}
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) {
				c.FeatureGates = []string{fmt.Sprintf("AllAlpha=%v", on), fmt.Sprintf("AllBeta=%v", on), fmt.Sprintf("DynamicKubeletConfig=%v", on)}
			})
			for i, c := range cases {
				name := fmt.Sprint("x", i)
				got := h.Send("POST", c.path+"?fieldManager=m", "application/json", fmt.Appendf(nil, `{"metadata":{"name":%q},%s}`, name, c.body))
				if c.status != "" {
					got = h.Send("PATCH", c.path+"/"+name+"/status?fieldManager=m", "application/merge-patch+json", []byte(c.status))
				}
				want := map[bool]string{true: c.on, false: c.off}[on]
				if field, _ := json.Marshal(got.Field(t, c.field)); string(field) != want {
					t.Errorf("%s of %s is %s, want %s\n%s", c.field, c.path, field, want, got.Body)
				}
				last := c.field[strings.LastIndexByte(c.field, '.')+1:]
				if strings.Contains(c.body+c.status, `"`+last+`"`) && !strings.Contains(string(got.Body), `"f:`+last+`"`) {
					t.Errorf("%s: nobody owns %s\n%s", c.path, c.field, got.Body)
				}
			}
		})
	}
}
