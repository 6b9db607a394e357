package serve_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReleaseDeclaredFeatures: from 1.36 on a pod is changed only in ways for which its node declares the features.
func TestReleaseDeclaredFeatures(t *testing.T) {
	const (
		lacks = `pods "p" is forbidden: pod update requires features %s which are not available on node "n"`
		pods  = "InPlacePodLevelResourcesVerticalScaling"
		inits = "InPlacePodVerticalScalingInitContainers"
		body  = `{"metadata":{"name":"p"},"spec":{"nodeName":%q,"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"4"}},` +
			`"initContainers":[{"name":"i","image":"i","resources":{"requests":{"cpu":"100m"}}}],"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}`
		whole, container = `"resources":{"requests":{"cpu":"2"}}`, `"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]`
		initial          = `"initContainers":[{"name":"i","resources":{"requests":{"cpu":"200m"}}}]`
	)
	for _, c := range []struct{ declared, node, change, want string }{
		{"", "n", whole, fmt.Sprintf(lacks, pods)},
		{"", "n", initial, fmt.Sprintf(lacks, inits)},
		{"", "n", whole + "," + initial, fmt.Sprintf(lacks, pods+", "+inits)},
		{`"` + pods + `"`, "n", whole + "," + initial, fmt.Sprintf(lacks, inits)},
		{`"` + pods + `","` + inits + `"`, "n", whole + "," + initial, ""},
		{"", "n", container, ""},
		{"", "none", whole, `pods "p" is forbidden: node "none" not found`},
	} {
		h := harness.Start(t, func(cfg *server.Config) {
			emulating("1.36")(cfg)
			cfg.FeatureGates = []string{pods + "=true", inits + "=true"}
		})
		h.Create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
		h.MergePatch("/api/v1/nodes/n/status", `{"status":{"allocatable":{"cpu":"8","memory":"8Gi"},"declaredFeatures":[`+c.declared+`]}}`)
		h.Create(releasePods, fmt.Sprintf(body, c.node))
		got := h.Send(http.MethodPatch, releasePods+"/p/resize", harness.StrategicMedia, []byte(`{"spec":{`+c.change+`}}`))
		code := http.StatusOK
		if c.want != "" {
			code = http.StatusForbidden
		}
		if got.Code != code || c.want != "" && got.Field(t, "message") != c.want {
			t.Errorf("%+v: %d %s", c, got.Code, got.Body)
		}
	}
}

// TestReleaseGuaranteedResize: 1.35 asks for a feature of the node when the CPU of a guaranteed pod changes, while its gate is on.
func TestReleaseGuaranteedResize(t *testing.T) {
	const resources = `"resources":{"requests":{"cpu":"%[1]s","memory":"1Gi"},"limits":{"cpu":"%[1]s","memory":"1Gi"}}`
	for gate, code := range map[string]int{"NodeDeclaredFeatures=true": http.StatusForbidden, "NodeDeclaredFeatures=false": http.StatusOK} {
		h := featuring(t, "1.35", gate)
		h.Create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
		h.Create(releasePods, fmt.Sprintf(`{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i",`+resources+`}]}}`, "1"))
		got := h.Send(http.MethodPatch, releasePods+"/p/resize", harness.StrategicMedia, fmt.Appendf(nil, `{"spec":{"containers":[{"name":"c",`+resources+`}]}}`, "2"))
		if got.Code != code || code != http.StatusOK && !strings.Contains(string(got.Body), "requires features GuaranteedQoSPodCPUResize which are not available") {
			t.Errorf("%s: %d %s", gate, got.Code, got.Body)
		}
	}
}

// TestReleaseTrustBundles: a bundle of a signer is written by those who may speak for the signer.
func TestReleaseTrustBundles(t *testing.T) {
	h := harness.Start(t, func(cfg *server.Config) {
		emulating("1.36")(cfg)
		cfg.FeatureGates, cfg.RuntimeConfig = []string{"ClusterTrustBundle=true"}, []string{"certificates.k8s.io/v1beta1=true"}
	})
	const bundles, admin, bob = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles", "admin-token", "bob-token"
	const needs = `is forbidden: user not permitted to attest for signerName \"%s\"`
	bundle := func(name, signer string) string {
		spec := `"trustBundle":` + strconv.Quote(string(h.Running.CA()))
		if signer != "" {
			spec += `,"signerName":"` + signer + `"`
		}
		return `{"metadata":{"name":"` + name + `"},"spec":{` + spec + `}}`
	}
	h.Each([]harness.RoleRequest{
		{admin, "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("writer", `{"verbs":["*"],"apiGroups":["certificates.k8s.io"],"resources":["clustertrustbundles"]},`+
			`{"verbs":["attest"],"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":["own.example.com/s","all.example.com/*"]}`), 201, ""},
		{admin, "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("writer", "ClusterRole", "writer", harness.ToBob), 201, ""},
		{bob, "POST", bundles, bundle("plain", ""), 201, ""},
		{bob, "POST", bundles, bundle("own.example.com:s:a", "own.example.com/s"), 201, ""},
		{bob, "POST", bundles, bundle("all.example.com:x:a", "all.example.com/x"), 201, ""},
		{bob, "POST", bundles, bundle("other.example.com:s:a", "other.example.com/s"), 403, fmt.Sprintf(needs, "other.example.com/s")},
		{admin, "POST", bundles, bundle("other.example.com:s:a", "other.example.com/s"), 201, ""},
	})
	as := []string{"Authorization", "Bearer " + bob}
	h.Send(http.MethodPatch, bundles+"/other.example.com:s:a", harness.MergePatchMedia, []byte(`{"metadata":{"finalizers":["example.com/f"]}}`), as...).Expect(t, http.StatusOK, "")
	h.Send(http.MethodPatch, bundles+"/other.example.com:s:a", harness.MergePatchMedia, []byte(`{"metadata":{"labels":{"a":"b"}}}`), as...).Expect(t, http.StatusForbidden, "")
}
