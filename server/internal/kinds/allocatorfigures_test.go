package kinds_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestAllocatorFigures: addresses and node ports that services get, and those that they do not get, are counted by the names that
// each release has.
func TestAllocatorFigures(t *testing.T) {
	for _, c := range []struct {
		release      string
		ports, times bool
		dynamic      string // the scope of addresses that services do not name
		outside      bool   // an address in no range is counted
	}{
		{"1.25", false, false, "dynamic", true}, {"1.26", false, false, "dynamic", true}, {"1.27", true, false, "dynamic", true},
		{"1.32", true, false, "dynamic", true}, {"1.33", true, true, "static", false}, {"1.36", true, true, "dynamic", false},
	} {
		t.Run(c.release, func(t *testing.T) {
			h := harness.Start(t, func(cfg *server.Config) {
				harness.EvaluatedOnce(cfg)
				cfg.EmulatedVersion, cfg.ServiceClusterIPRange, cfg.ServiceNodePortRange = []string{c.release}, "10.1.0.0/29", "30000-30003"
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
			create("taken", `"type":"NodePort","ports":[{"port":1,"nodePort":30001}]`, 500) // for want of an address

			got := map[string]string{}
			for line, value := range h.Figures() {
				if name, is := strings.CutPrefix(line, "kube_apiserver_"); is && !strings.Contains(name, "_seconds_bucket") && !strings.Contains(name, "_seconds_sum") {
					got[strings.TrimPrefix(name, "clusterip_allocator_")] = value
				}
			}
			t.Log(got)
		})
	}
}
