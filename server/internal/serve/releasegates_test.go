package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// featuring is a server of a release with feature gates.
func featuring(t *testing.T, release string, gates ...string) *harness.Server {
	return harness.Start(t, func(c *server.Config) {
		emulating(release)(c)
		c.FeatureGates = gates
	})
}

// TestReleaseLockedGates: a stable feature can be turned off until its gate is locked, which is refused in the words of kube-apiserver.
// Since 1.35 so is a gate that is on without those that it depends on.
func TestReleaseLockedGates(t *testing.T) {
	for _, c := range []struct{ release, gate, refusal string }{
		{"1.25", "DryRun=false", ""},
		{"1.26", "DryRun=false", "cannot set feature gate DryRun to false, feature is locked to true"},
		{"1.31", "ExecProbeTimeout=false", ""},
		{"1.31", "ValidatingAdmissionPolicy=false", "cannot set feature gate ValidatingAdmissionPolicy to false, feature is locked to true"},
		{"1.35", "VolumeAttributesClass=false", ""},
		{"1.36", "VolumeAttributesClass=false", "cannot set feature gate VolumeAttributesClass to false, feature is locked to true"},
		{"1.35", "GitRepoVolumeDriver=true", ""},
		{"1.36", "GitRepoVolumeDriver=true", "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false"},
		{"1.36", "GitRepoVolumeDriver=false", ""},
		{"1.36", "DRAPrioritizedList=false", ""},
		{"1.34", "DRADeviceTaints=true,DynamicResourceAllocation=false", ""},
		{"1.36", "WorkloadWithJob=true", "WorkloadWithJob is enabled, but depends on features that are disabled: [GenericWorkload]"},
		{"1.36", "WorkloadWithJob=true,GenericWorkload=true", ""},
	} {
		config := server.Config{InMemory: true}
		config.EmulatedVersion, config.FeatureGates = []string{c.release}, strings.Split(c.gate, ",")
		if err := config.Validate(); (err == nil) != (c.refusal == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s in %s: %v, want %q", c.gate, c.release, err, c.refusal)
		}
	}
}

// TestReleaseAlternatives: without its gate, a claim on devices loses the alternatives of its requests; the published document keeps them.
func TestReleaseAlternatives(t *testing.T) {
	const claim = `{"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"s","deviceClassName":"d"}]}]}}}`
	featuring(t, "1.36").Post(claimsPath, claim).Expect(t, http.StatusCreated, "")
	h := featuring(t, "1.36", "DRAPrioritizedList=false")
	const refusal = "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"
	if got := h.Post(claimsPath, claim); got.Code != http.StatusUnprocessableEntity || !strings.Contains(string(got.Body), refusal) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := h.Get("/openapi/v3/apis/resource.k8s.io/v1"); !strings.Contains(string(got.Body), "firstAvailable") {
		t.Error("the document lacks the alternatives")
	}
}

// TestReleaseAttributes: without its gate, claims and volumes lose the class of their attributes, and classes are not protected.
func TestReleaseAttributes(t *testing.T) {
	const claims, classes = "/api/v1/namespaces/default/persistentvolumeclaims", "/apis/storage.k8s.io/v1/volumeattributesclasses"
	for gate, on := range map[string]bool{"VolumeAttributesClass=true": true, "VolumeAttributesClass=false": false} {
		h := featuring(t, "1.34", gate)
		claim := h.Post(claims, `{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"volumeAttributesClassName":"gold","resources":{"requests":{"storage":"1Gi"}}}}`)
		if claim.Expect(t, http.StatusCreated, ""); (claim.Field(t, "spec.volumeAttributesClassName") != nil) != on {
			t.Errorf("%s: the claim is %s", gate, claim.Body)
		}
		class := h.Post(classes, `{"metadata":{"name":"gold"},"driverName":"d.example.com","parameters":{"a":"b"}}`)
		if class.Expect(t, http.StatusCreated, ""); strings.Contains(string(class.Body), "vac-protection") != on {
			t.Errorf("%s: the class is %s", gate, class.Body)
		}
	}
}

// TestReleaseKeptAttributes: a class of attributes that was stored while its feature was on stays while the feature is off.
func TestReleaseKeptAttributes(t *testing.T) {
	const volumes = "/api/v1/persistentvolumes"
	dir := t.TempDir()
	in := func(gate string, do func(h *harness.Server)) {
		t.Run(gate, func(t *testing.T) {
			do(harness.Start(t, func(c *server.Config) {
				emulating("1.34")(c)
				c.InMemory, c.DataDir, c.FeatureGates = false, dir, []string{gate}
			}))
		})
	}
	refuses := func(h *harness.Server, class, refusal string) {
		got := h.Send(http.MethodPatch, volumes+"/v", harness.MergePatchMedia, []byte(`{"spec":{"volumeAttributesClassName":`+class+`}}`))
		if !strings.Contains(string(got.Body), "spec.volumeAttributesClassName: Forbidden: "+refusal) {
			h.T.Errorf("%d %s, want %s", got.Code, got.Body, refusal)
		}
	}
	in("VolumeAttributesClass=true", func(h *harness.Server) {
		h.Post(volumes, `{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"volumeAttributesClassName":"gold",
			"csi":{"driver":"d.example.com","volumeHandle":"h"}}}`).Expect(h.T, http.StatusCreated, "")
		refuses(h, "null", "update from non-nil value to nil is forbidden")
	})
	in("VolumeAttributesClass=false", func(h *harness.Server) {
		refuses(h, `"lead"`, "update is forbidden when the VolumeAttributesClass feature gate is disabled")
	})
}

// TestReleasePolicies: mutating policies take effect with their feature only, which is stable in 1.36; 1.25 has them without one.
func TestReleasePolicies(t *testing.T) {
	for _, c := range []struct {
		release string
		gates   []string
		changes bool
	}{{"1.25", nil, true}, {"1.36", nil, true}, {"1.36", []string{"MutatingAdmissionPolicy=false"}, false}} {
		h := featuring(t, c.release, c.gates...)
		h.MutateFor("changed", `"mutations":[`+harness.ConfigurationChange(`Object{data: {"a": "b"}}`)+`]`)
		got := h.Post(harness.ConfigMaps, `{"metadata":{"name":"m"}}`)
		if got.Expect(t, http.StatusCreated, ""); (got.Field(t, "data.a") == "b") != c.changes {
			t.Errorf("%s with %v: the object is %s", c.release, c.gates, got.Body)
		}
	}
}

// TestDryRunGate: without its feature, which 1.25 can turn off, no write is tried only.
func TestDryRunGate(t *testing.T) {
	h := featuring(t, "1.25", "DryRun=false")
	const maps, refusal = harness.ConfigMaps, "the dryRun feature is disabled"
	h.Post(maps, `{"metadata":{"name":"m"}}`).Expect(t, http.StatusCreated, "")
	for method, path := range map[string]string{"POST": maps, "PUT": maps + "/m", "PATCH": maps + "/m", "DELETE": maps + "/m"} {
		got := h.Send(method, path+"?dryRun=All", harness.MergePatchMedia, []byte(`{"metadata":{"name":"m"}}`))
		if got.Expect(t, http.StatusBadRequest, "BadRequest"); got.Field(t, "message") != refusal {
			t.Errorf("%s: %s", method, got.Body)
		}
	}
	h.Get(maps+"/m?dryRun=All").Expect(t, http.StatusOK, "")
}

// TestReleaseListAttributes: with their feature, selectors look into attributes that are lists; a selector is bounded by its cost.
func TestReleaseListAttributes(t *testing.T) {
	const invalid = "spec.selectors[0].cel.expression: "
	with, without := featuring(t, "1.36", "DRAListTypeAttributes=true"), featuring(t, "1.36")
	for expression, want := range map[string]struct{ with, without string }{
		`device.attributes["d"].a.includes("x")`:     {"", "undeclared reference to 'includes'"},
		`device.driver.includes("x")`:                {"", "undeclared reference to 'includes'"},
		`[1].includes("a")`:                          {"", "undeclared reference to 'includes'"},
		`device.attributes.includes(1)`:              {"", "undeclared reference to 'includes'"},
		`device.attributes["d"].a.exists(x, x == 1)`: {"", "compilation failed"},
		`device.attributes["d"].a`:                   {"", ""},
		`device.attributes["d"].a.includes()`:        {"found no matching overload for 'includes' applied to 'dyn.()'", "undeclared reference"},
		`device.capacity["d"].a`:                     {"must evaluate to bool or the unknown type, not kubernetes.Quantity", "must evaluate to bool"},
		`device.attributes["d"].a.all(x, device.attributes["d"].b.all(y, device.attributes["d"].c.all(z, device.attributes["d"].d.includes(x))))`: {
			"Forbidden: too complex, exceeds cost limit", "compilation failed"},
	} {
		body := fmt.Sprintf(`{"metadata":{"name":"c"},"spec":{"selectors":[{"cel":{"expression":%q}}]}}`, expression)
		for h, want := range map[*harness.Server]string{with: want.with, without: want.without} {
			got := h.Post("/apis/resource.k8s.io/v1/deviceclasses?dryRun=All", body)
			message := fmt.Sprint(got.Field(t, "message"))
			if (want == "") != (got.Code == http.StatusCreated) || want != "" && !(strings.Contains(message, invalid) && strings.Contains(message, want)) {
				t.Errorf("%s: %d %s, want %q", expression, got.Code, got.Body, want)
			}
		}
	}
}
