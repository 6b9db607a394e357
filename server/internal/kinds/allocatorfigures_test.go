package kinds_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestAllocatorFigures: addresses and node ports that services get, and those that they do not get, are counted by the names that
// each release has.
func TestAllocatorFigures(t *testing.T) {
	const from = `{cidr="10.1.0.0/29"`
	for _, c := range []struct {
		release        string
		objects        bool // addresses have objects
		ports, times   bool // the release has these metrics
		static, any    string
		staticFailures string
	}{
		{"1.25", false, false, false, "2", "5", "2"}, {"1.26", false, false, false, "2", "5", "2"}, {"1.27", false, true, false, "2", "5", "2"},
		{"1.31", false, true, false, "2", "5", "2"}, {"1.31", true, true, true, "2", "5", ""},
		{"1.33", true, true, true, "7", "", ""}, {"1.36", true, true, true, "2", "5", "1"},
	} {
		t.Run(c.release, func(t *testing.T) {
			h := harness.Start(t, func(cfg *server.Config) {
				harness.EvaluatedOnce(cfg)
				cfg.EmulatedVersion, cfg.ServiceClusterIPRange, cfg.ServiceNodePortRange = []string{c.release}, "10.1.0.0/29", "30000-30003"
				if c.objects && c.release == "1.31" {
					cfg.FeatureGates, cfg.RuntimeConfig = []string{"MultiCIDRServiceAllocator=true"}, []string{"networking.k8s.io/v1beta1=true"}
				}
			})
			create := func(name, spec string, code int) {
				t.Helper()
				h.Post(harness.ServicesPath, harness.Service(name, spec)).Expect(t, code, "")
			}
			create("named", `"clusterIP":"10.1.0.3"`, 201)
			h.Post(harness.ServicesPath+"?dryRun=All", harness.Service("dry", `"clusterIP":"10.1.0.4"`)).Expect(t, 201, "")
			create("taken", `"clusterIP":"10.1.0.3"`, 422)
			create("outside", `"clusterIP":"10.9.0.3"`, 422)
			for _, name := range []string{"a", "b", "c", "d"} {
				create(name, "", 201)
			}
			h.Delete(harness.ServicesPath + "/d")
			create("port", `"type":"NodePort","ports":[{"port":1,"nodePort":30001}]`, 201)
			create("full", "", 500)
			h.Merge(harness.ServicesPath+"/a", `{"spec":{"type":"NodePort"}}`).Expect(t, 200, "")
			create("no-address", `"type":"NodePort","ports":[{"port":1,"nodePort":30001}]`, 500)
			for _, port := range []string{"30001", "29999"} {
				h.Merge(harness.ServicesPath+"/b", `{"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":`+port+`}]}}`).Expect(t, 422, "")
			}
			want := map[string]string{"allocated_ips" + from: "6", "available_ips" + from: "0", "allocation_total" + from + `,scope="static"`: c.static,
				"allocation_total" + from + `,scope="dynamic"`: c.any, "allocation_errors_total" + from + `,scope="dynamic"`: "2",
				"allocation_errors_total" + from + `,scope="static"`: c.staticFailures}
			if c.times {
				want["allocation_duration_seconds_count"+from] = "7"
			}
			if c.ports {
				want["nodeport_allocator_allocated_ports"], want["nodeport_allocator_available_ports"] = "2", "2"
				want[`nodeport_allocator_allocation_total{scope="static"`], want[`nodeport_allocator_allocation_total{scope="dynamic"`] = "1", "1"
				want[`nodeport_allocator_allocation_errors_total{scope="static"`] = "2"
			}
			maps.DeleteFunc(want, func(_, n string) bool { return n == "" })
			got := map[string]string{}
			for line, value := range h.Figures() {
				if name, is := strings.CutPrefix(line, "kube_apiserver_"); is && value != "" && !strings.Contains(name, "_seconds_bucket") && !strings.Contains(name, "_seconds_sum") {
					got[strings.TrimPrefix(name, "clusterip_allocator_")] = value
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
