package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	claimsPath  = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	newClaim    = `{"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}`
	allocation  = `"allocation":{"devices":{"results":[{"request":"r","driver":"d.example.com","pool":"p","device":"one"},{"request":"r","driver":"e.example.com","pool":"p","device":"two"}]},` + onNode + `}`
	onNode      = `"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]}`
	reportOne   = `{"driver":"d.example.com","pool":"p","device":"one","data":{"a":1}}`
	reportTwo   = `{"driver":"e.example.com","pool":"p","device":"two","data":{"a":1}}`
	invalidity  = `ResourceClaim.resource.k8s.io "c" is invalid: `
	needBinding = invalidity + `status.allocation: Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="patch" permission: ` +
		`resourceclaims.resource.k8s.io is forbidden: User "%s" cannot patch resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope`
	needDriver = `status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[%s]" permission: ` +
		`resourceclaims.resource.k8s.io "%s" is forbidden: User "%s" cannot %s resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "default"`
)

// TestReleaseClaimAuthors: from 1.36 on each part of a claim's status takes a right of its own, unless the gate is off.
func TestReleaseClaimAuthors(t *testing.T) {
	const account = "system:serviceaccount:default:driver"
	const resources = `"apiGroups":["resource.k8s.io"],"resources":`
	for _, c := range []struct {
		release, gates string
		on             bool
	}{{"1.35", "", false}, {"1.36", "", true}, {"1.36", "DRAResourceClaimGranularStatusAuthorization=false", false}} {
		h := harness.Start(t, func(cfg *server.Config) {
			emulating(c.release)(cfg)
			if c.gates != "" {
				cfg.FeatureGates = []string{c.gates}
			}
		})
		h.Each([]harness.RoleRequest{
			{"admin-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("writer", `{"verbs":["patch","update"],`+resources+`["resourceclaims/status"]}`), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("writer", "ClusterRole", "writer", harness.ToBob+`,`+harness.ToCarol+`,{"kind":"ServiceAccount","name":"driver","namespace":"default"}`), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("scheduler", `{"verbs":["patch"],`+resources+`["resourceclaims/binding"]}`), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("scheduler", "ClusterRole", "scheduler", harness.ToCarol), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterroles", harness.RoleOf("driver", `{"verbs":["associated-node:patch"],`+resources+`["resourceclaims/driver"],"resourceNames":["d.example.com"]}`), 201, ""},
			{"admin-token", "POST", harness.RBACGroup + "clusterrolebindings", harness.BindingOf("driver", "ClusterRole", "driver", `{"kind":"ServiceAccount","name":"driver","namespace":"default"}`), 201, ""},
		})
		h.Create(claimsPath, newClaim)
		driver := func(node string) []string {
			return []string{"Authorization", "Bearer " + harness.AdminToken, "Impersonate-User", account, "Impersonate-Group", "system:serviceaccounts",
				"Impersonate-Extra-authentication.kubernetes.io%2fnode-name", node}
		}
		bob, carol := []string{"Authorization", "Bearer bob-token"}, []string{"Authorization", "Bearer carol-token"}
		for _, s := range []struct {
			name    string
			as      []string
			status  string
			message string // of a refusal
		}{
			{"a scheduler without the right", bob, allocation, fmt.Sprintf(needBinding, "bob")},
			{"a scheduler", carol, allocation, ""},
			{"reports that a scheduler makes", carol, `"devices":[` + reportOne + `,` + reportTwo + `]`, invalidity + "[" +
				fmt.Sprintf(needDriver, "arbitrary-node:patch", "d.example.com", "carol", "arbitrary-node:patch") + ", " +
				fmt.Sprintf(needDriver, "arbitrary-node:patch", "e.example.com", "carol", "arbitrary-node:patch") + "]"},
			{"a driver", driver("n"), `"devices":[` + reportOne + `]`, ""},
			{"a driver on another node", driver("m"), `"devices":[]`, invalidity + fmt.Sprintf(needDriver, "arbitrary-node:patch", "d.example.com", account, "arbitrary-node:patch")},
			{"another driver", driver("n"), `"devices":[` + reportOne + `,` + reportTwo + `]`,
				invalidity + fmt.Sprintf(needDriver, "associated-node:patch arbitrary-node:patch", "e.example.com", account, "associated-node:patch")},
			{"no change", bob, allocation, ""},
			{"the end of the allocation", carol, `"allocation":null`, ""},
		} {
			got := h.Send(http.MethodPatch, claimsPath+"/c/status", harness.MergePatchMedia, []byte(`{"status":{`+s.status+`}}`), s.as...)
			if !c.on && s.message != "" {
				continue
			}
			code := http.StatusOK
			if s.message != "" {
				code = http.StatusUnprocessableEntity
			}
			if got.Code != code || s.message != "" && got.Field(t, "message") != s.message {
				t.Errorf("%+v: %s: %d %s\nwant %s", c, s.name, got.Code, got.Body, s.message)
			}
			if !c.on {
				break // nobody is refused
			}
		}
	}
}

// TestReleaseFreedDevices: what drivers have reported about devices goes with their allocation, from 1.32 on.
func TestReleaseFreedDevices(t *testing.T) {
	for _, release := range []string{"1.32", "1.34", "1.36"} {
		path, body := claimsPath, newClaim
		gates := []string{}
		if release == "1.32" {
			path = strings.Replace(path, "/v1/", "/v1beta1/", 1)
			body = strings.Replace(body, `"exactly":{"deviceClassName":"gpu"}`, `"deviceClassName":"gpu"`, 1)
			gates = []string{"DynamicResourceAllocation=true", "DRAResourceClaimDeviceStatus=true"}
		}
		h := harness.Start(t, func(cfg *server.Config) {
			emulating(release)(cfg)
			cfg.FeatureGates = gates
			cfg.RuntimeConfig = []string{"resource.k8s.io/v1beta1=true"}
		})
		h.Create(path, body)
		h.MergePatch(path+"/c/status", `{"status":{`+allocation+`,"devices":[`+reportOne+`,`+reportTwo+`]}}`)
		less := strings.Replace(allocation, `,{"request":"r","driver":"e.example.com","pool":"p","device":"two"}`, "", 1)
		h.MergePatch(path+"/c/status", `{"status":{"allocation":null}}`)
		got := h.MergePatch(path+"/c/status", `{"status":{`+less+`,"devices":[`+reportOne+`]}}`)
		if devices, _ := got.Field(t, "status.devices").([]any); len(devices) != 1 {
			t.Errorf("%s: %s", release, got.Body)
		}
		got = h.MergePatch(path+"/c/status", `{"status":{"allocation":null}}`)
		if status := fmt.Sprint(got.Field(t, "status")); strings.Contains(status, "devices") {
			t.Errorf("%s: the devices of a claim without an allocation: %s", release, got.Body)
		}
	}
}
