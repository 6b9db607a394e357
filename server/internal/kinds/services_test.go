package kinds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestServiceAddresses(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.ServiceClusterIPRange = "10.1.0.0/24" })
	r := h.Post(harness.ServicesPath, harness.Service("a", ""))
	r.Expect(t, 201, "")
	given, _ := r.Field(t, "spec.clusterIP").(string)
	if ip, err := netip.ParseAddr(given); err != nil || !netip.MustParsePrefix("10.1.0.0/24").Contains(ip) {
		t.Errorf("address %q: %v", given, err)
	}
	if got := r.Shape(t); got != "["+given+"] [IPv4] SingleStack [0]" {
		t.Error(got)
	}
	if strings.Contains(string(r.Body), `"f:clusterIP"`) {
		t.Errorf("what the server allocated is said to be the client's: %s", r.Body)
	}
	refused := func(name, spec, field, words string) {
		t.Helper()
		for _, query := range []string{"?dryRun=All", ""} {
			r := h.Post(harness.ServicesPath+query, harness.Service(name, spec))
			r.Expect(t, 422, "Invalid")
			if message, _ := r.Field(t, "message").(string); r.CauseOf(t) != field || !strings.Contains(message, words) {
				t.Errorf("%s: cause %v: %s", name, r.CauseOf(t), message)
			}
		}
	}
	refused("b", `"clusterIP":"`+given+`"`, "spec.clusterIPs", "provided IP is already allocated")
	refused("b", `"clusterIP":"10.1.0.1"`, "spec.clusterIPs", "provided IP is already allocated") // the server's own
	refused("b", `"clusterIP":"10.2.0.9"`, "spec.clusterIPs", "the provided IP (10.2.0.9) is not in the valid range. The range of valid IPs is 10.1.0.0/24")
	refused("b", `"clusterIP":"10.1.0.0"`, "spec.clusterIPs", "not in the valid range")
	refused("b", `"ipFamilies":["IPv6"]`, "spec.ipFamilies[0]", "not configured on this cluster")
	refused("b", `"ipFamilyPolicy":"RequireDualStack"`, "spec.ipFamilyPolicy", "not configured for dual-stack")

	// A dry run holds nothing.
	h.Post(harness.ServicesPath+"?dryRun=All", harness.Service("b", `"clusterIP":"10.1.0.7"`)).Expect(t, 201, "")
	h.Post(harness.ServicesPath, harness.Service("b", `"clusterIP":"10.1.0.7","ports":[{"port":0}]`)).Expect(t, 422, "Invalid")
	h.Post(harness.ServicesPath, harness.Service("a", `"clusterIP":"10.1.0.7"`)).Expect(t, 409, "AlreadyExists")
	h.Post("/api/v1/namespaces/nosuch/services", harness.Service("b", `"clusterIP":"10.1.0.7"`)).Expect(t, 404, "NotFound")
	h.Post(harness.ServicesPath, harness.Service("b", `"clusterIP":"10.1.0.7"`)).Expect(t, 201, "")
	// A deleted service holds nothing either, unless it is only marked.
	h.Merge(harness.ServicesPath+"/b", `{"metadata":{"finalizers":["x.y/z"]}}`).Expect(t, 200, "")
	h.Send("DELETE", harness.ServicesPath+"/b", "", nil).Expect(t, 200, "")
	refused("c", `"clusterIP":"10.1.0.7"`, "spec.clusterIPs", "already allocated")
	h.Merge(harness.ServicesPath+"/b", `{"metadata":{"finalizers":null}}`).Expect(t, 200, "")
	// A PUT creates, and allocates, too.
	r = h.Send("PUT", harness.ServicesPath+"/c", "application/json", []byte(harness.Service("c", `"clusterIP":"10.1.0.7","type":"NodePort"`)))
	r.Expect(t, 201, "")
	if got := r.Shape(t); !strings.HasPrefix(got, "[10.1.0.7] [IPv4] SingleStack [3") {
		t.Error(got)
	}
}

func TestServiceNodePorts(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.ServiceNodePortRange = "31000-31003" })
	r := h.Post(harness.ServicesPath, harness.Service("dns", `"type":"NodePort","ports":[{"name":"u","port":53,"protocol":"UDP"},{"name":"t","port":53,"nodePort":31001},{"name":"m","port":9153}]`))
	r.Expect(t, 201, "")
	if a, b, c := r.Field(t, "spec.ports.0.nodePort"), r.Field(t, "spec.ports.1.nodePort"), r.Field(t, "spec.ports.2.nodePort"); a != 31001.0 || b != 31001.0 || c == 31001.0 || c == nil {
		t.Errorf("node ports %v, %v, %v", a, b, c)
	}
	for _, c := range []struct{ spec, field, words string }{
		{`"type":"NodePort","ports":[{"port":80,"nodePort":31001}]`, "spec.ports[0].nodePort", "provided port is already allocated"},
		{`"type":"NodePort","ports":[{"name":"a","port":80},{"name":"b","port":81,"nodePort":30000}]`, "spec.ports[1].nodePort", "The range of valid ports is 31000-31003"},
		{`"type":"NodePort","ports":[{"port":80,"nodePort":-1}]`, "spec.ports[0].nodePort", "not in the valid range"},
		{`"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":31001,"allocateLoadBalancerNodePorts":false`, "spec.healthCheckNodePort", "already allocated"},
	} {
		r := h.Post(harness.ServicesPath, harness.Service("b", c.spec))
		r.Expect(t, 422, "Invalid")
		if message, _ := r.Field(t, "message").(string); r.CauseOf(t) != c.field || !strings.Contains(message, c.words) {
			t.Errorf("%s: cause %v: %s", c.spec, r.CauseOf(t), message)
		}
	}
	// Two of four are left: one for the port, one for the health check.
	r = h.Post(harness.ServicesPath, harness.Service("lb", `"type":"LoadBalancer","externalTrafficPolicy":"Local"`))
	r.Expect(t, 201, "")
	if a, b := r.Field(t, "spec.ports.0.nodePort"), r.Field(t, "spec.healthCheckNodePort"); a == nil || b == nil || a == b {
		t.Errorf("node port %v, health %v", a, b)
	}
	r = h.Post(harness.ServicesPath, harness.Service("full", `"type":"NodePort"`))
	r.Expect(t, 500, "InternalError")
	if message, _ := r.Field(t, "message").(string); !strings.Contains(message, "failed to allocate a nodePort: range is full") {
		t.Error(message)
	}
	h.Post(harness.ServicesPath, harness.Service("none", `"type":"LoadBalancer","allocateLoadBalancerNodePorts":false`)).Expect(t, 201, "")
	// An update frees the health check port, and another one takes it.
	r = h.Merge(harness.ServicesPath+"/lb", `{"spec":{"externalTrafficPolicy":"Cluster"}}`)
	r.Expect(t, 200, "")
	if got := r.Field(t, "spec.healthCheckNodePort"); got != nil {
		t.Errorf("health port %v", got)
	}
	h.Merge(harness.ServicesPath+"/none", `{"spec":{"type":"NodePort","allocateLoadBalancerNodePorts":null}}`).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("full", `"type":"NodePort"`)).Expect(t, 500, "InternalError")
	// From a node port to none, and back.
	r = h.Merge(harness.ServicesPath+"/dns", `{"spec":{"type":"ClusterIP"}}`)
	r.Expect(t, 200, "")
	if got := r.Shape(t); !strings.HasSuffix(got, "[0 0 0]") {
		t.Error(got)
	}
	h.Post(harness.ServicesPath, harness.Service("full", `"type":"NodePort","ports":[{"port":80,"nodePort":31001}]`)).Expect(t, 201, "")
	h.Merge(harness.ServicesPath+"/dns", `{"spec":{"type":"NodePort"}}`).Expect(t, 500, "InternalError")
	h.Send("DELETE", harness.ServicesPath+"/lb", "", nil).Expect(t, 200, "")
	h.Merge(harness.ServicesPath+"/dns?dryRun=All", `{"spec":{"type":"NodePort","ports":[{"name":"t","port":53,"protocol":"TCP"}]}}`).Expect(t, 200, "")
	r = h.Merge(harness.ServicesPath+"/dns", `{"spec":{"type":"NodePort","ports":[{"name":"t","port":53,"protocol":"TCP"},{"name":"u","port":53,"protocol":"UDP"}]}}`)
	r.Expect(t, 200, "")
	if a, b := r.Field(t, "spec.ports.0.nodePort"), r.Field(t, "spec.ports.1.nodePort"); a == nil || b == nil || a == b {
		t.Errorf("node ports %v, %v", a, b)
	}
}

// Types and families change; addresses follow.
// The numbers of node ports in an external name belong to nobody: it gets them when it becomes
// another type, unless they are somebody else's.
func TestNodePortsOfExternalNames(t *testing.T) {
	h := harness.Start(t, nil)
	const all = "/api/v1/namespaces/default/services"
	const ports = `"ports":[{"port":80,"nodePort":30009}]`
	h.Create(all, `{"metadata":{"name":"name"},"spec":{"type":"ExternalName","externalName":"example.com","ports":[{"port":80}]}}`)
	h.Create(all, harness.Service("owner", `"type":"NodePort",`+ports))
	h.Merge(all+"/name", `{"spec":{`+ports+`}}`).Expect(t, 200, "")
	for _, kind := range []string{"LoadBalancer", "NodePort"} {
		refused := h.Merge(all+"/name", `{"spec":{"type":"`+kind+`","externalName":null}}`)
		refused.Expect(t, 422, "Invalid")
		if !strings.Contains(string(refused.Body), "provided port is already allocated") {
			t.Errorf("%s", refused.Body)
		}
	}
	h.Delete(all + "/owner")
	h.Merge(all+"/name", `{"spec":{"type":"NodePort","externalName":null}}`).Expect(t, 200, "")
	h.Post(all, harness.Service("late", `"type":"NodePort",`+ports)).Expect(t, 422, "Invalid")
	h.Merge(all+"/name", `{"spec":{"type":"ExternalName","externalName":"example.com"}}`).Expect(t, 200, "")
	h.Create(all, harness.Service("late", `"type":"NodePort",`+ports))
}

func TestServiceConversions(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.ServiceClusterIPRange = "10.0.0.0/24,fd00::/112" })
	h.Post(harness.ServicesPath, harness.Service("s", `"clusterIP":"10.0.0.50"`)).Expect(t, 201, "")
	step := func(patch, want string) {
		t.Helper()
		r := h.Merge(harness.ServicesPath+"/s", patch)
		r.Expect(t, 200, "")
		if got := r.Shape(t); got != want {
			t.Errorf("%s: %s, want %s", patch, got, want)
		}
	}
	refused := func(patch, field string) {
		t.Helper()
		r := h.Merge(harness.ServicesPath+"/s", patch)
		r.Expect(t, 422, "Invalid")
		if r.CauseOf(t) != field {
			t.Errorf("%s: cause %v, want %s", patch, r.CauseOf(t), field)
		}
	}
	step(`{"spec":{"ipFamilyPolicy":"PreferDualStack","clusterIPs":["10.0.0.50","fd00::50"]}}`, "[10.0.0.50 fd00::50] [IPv4 IPv6] PreferDualStack [0]")
	h.Post(harness.ServicesPath, harness.Service("t", `"clusterIP":"fd00::50"`)).Expect(t, 422, "Invalid")
	step(`{"metadata":{"labels":{"x":"y"}}}`, "[10.0.0.50 fd00::50] [IPv4 IPv6] PreferDualStack [0]")
	refused(`{"spec":{"clusterIPs":["10.0.0.50"]}}`, "spec.ipFamilyPolicy")
	step(`{"spec":{"ipFamilyPolicy":"SingleStack"}}`, "[10.0.0.50] [IPv4] SingleStack [0]")
	h.Post(harness.ServicesPath, harness.Service("t", `"clusterIP":"fd00::50"`)).Expect(t, 201, "") // it was freed
	step(`{"spec":{"type":"ExternalName","externalName":"a.b"}}`, "[] []  [0]")
	h.Post(harness.ServicesPath, harness.Service("u", `"clusterIP":"10.0.0.50"`)).Expect(t, 201, "")
	refused(`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"10.0.0.50"}}`, "spec.clusterIPs")
	step(`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"10.0.0.51"}}`, "[10.0.0.51] [IPv4] SingleStack [0]")
	refused(`{"spec":{"clusterIP":"None","clusterIPs":["None"]}}`, "spec.clusterIPs[0]")
	refused(`{"spec":{"clusterIP":"10.0.0.52","clusterIPs":["10.0.0.52"]}}`, "spec.clusterIPs[0]")
	h.Post(harness.ServicesPath, harness.Service("v", `"clusterIP":"10.0.0.52"`)).Expect(t, 201, "") // the refused write does not hold it
	step(`{"spec":{"type":"ExternalName","externalName":"a.b"}}`, "[] []  [0]")
	step(`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"None"}}`, "[None] [IPv4] SingleStack [0]")
	r := h.Merge(harness.ServicesPath+"/v", `{"spec":{"ipFamilyPolicy":"RequireDualStack"}}`)
	r.Expect(t, 200, "")
	if got, _ := r.Field(t, "spec.clusterIPs.1").(string); !strings.HasPrefix(got, "fd00::") {
		t.Errorf("second address %q", got)
	}
	r = h.Post(harness.ServicesPath, `{"metadata":{"name":"w"},"spec":{"clusterIP":"None","ports":[{"port":80}]}}`)
	if got := r.Shape(t); got != "[None] [IPv4 IPv6] RequireDualStack [0]" {
		t.Errorf("headless without selector: %s", got)
	}
	// A PUT that leaves out allocated values keeps them.
	r = h.Send("PUT", harness.ServicesPath+"/v", "application/json", []byte(harness.Service("v", "")))
	r.Expect(t, 200, "")
	if got := r.Shape(t); !strings.Contains(got, "[IPv4 IPv6] RequireDualStack") {
		t.Error(got)
	}
}

// Many writers at once, on a disk that is then removed: no item is allocated twice,
// before and after, and all acknowledged services exist.
func TestAllocationsSurviveACrash(t *testing.T) {
	disk := vfs.NewCrashableMem()
	config := func(fs vfs.FS) func(*server.Config) {
		return func(c *server.Config) {
			c.InMemory, c.DataDir, c.FS = false, "data", fs
			// Of 36 services up to 29 exist at once, some of them about to be deleted, and 6 come after the crash.
			c.ServiceClusterIPRange, c.ServiceNodePortRange = "10.0.0.0/26", "30000-30035"
		}
	}
	h := harness.Start(t, config(disk))
	var mu sync.Mutex
	acknowledged := map[string]string{}
	var crashed *vfs.MemFS
	work := func(h *harness.Server, prefix string, each int) {
		var writers sync.WaitGroup
		for w := range 6 {
			writers.Go(func() {
				for n := range each {
					name := fmt.Sprintf("%s%d-%d", prefix, w, n)
					r := h.Post(harness.ServicesPath, harness.Service(name, `"type":"NodePort"`))
					if r.Code != 201 {
						h.T.Errorf("%s: %d %s", name, r.Code, r.Body)
						return
					}
					mu.Lock()
					if crashed == nil {
						acknowledged[name] = r.Shape(h.T)
					}
					mu.Unlock()
					if n%3 == 2 {
						mu.Lock()
						delete(acknowledged, name) // it may exist or not
						mu.Unlock()
						h.Send("DELETE", harness.ServicesPath+"/"+name, "", nil)
					}
					if w == 0 && n == each/2 && prefix == "a" {
						mu.Lock()
						crashed = disk.CrashClone(vfs.CrashCloneCfg{})
						mu.Unlock()
					}
				}
			})
		}
		writers.Wait()
	}
	distinct := func(h *harness.Server) map[string]string {
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Spec     struct {
					ClusterIP string
					Ports     []struct{ NodePort int }
				}
			}
		}
		if err := json.Unmarshal(h.Get(harness.ServicesPath).Body, &list); err != nil {
			t.Fatal(err)
		}
		seen, all := map[any]string{}, map[string]string{}
		for _, s := range list.Items {
			items := []any{s.Spec.ClusterIP}
			for _, p := range s.Spec.Ports {
				if p.NodePort != 0 {
					items = append(items, p.NodePort)
				}
			}
			for _, i := range items {
				if other, ok := seen[i]; ok {
					t.Errorf("%v is of %s and of %s", i, other, s.Metadata.Name)
				}
				seen[i] = s.Metadata.Name
			}
			all[s.Metadata.Name] = s.Spec.ClusterIP
		}
		return all
	}
	work(h, "a", 6)
	distinct(h)

	again := harness.Start(t, config(crashed))
	there := distinct(again)
	for name, shape := range acknowledged {
		if ip := there[name]; ip == "" || !strings.Contains(shape, ip) {
			t.Errorf("%s was acknowledged as %s, and is %q after the crash", name, shape, ip)
		}
	}
	work(again, "b", 1)
	distinct(again)
}

// A changed range: allocated addresses stay, new ones are from the new range, and those
// in both are not allocated twice.
func TestServiceRangeChanges(t *testing.T) {
	dir := t.TempDir()
	config := func(cidr, ports string) func(*server.Config) {
		return func(c *server.Config) {
			c.InMemory, c.DataDir, c.ServiceClusterIPRange, c.ServiceNodePortRange = false, dir, cidr, ports
		}
	}
	h := harness.Start(t, config("10.0.0.0/24", "30000-30009"))
	h.Post(harness.ServicesPath, harness.Service("old", `"type":"NodePort","clusterIP":"10.0.0.200","ports":[{"port":80,"nodePort":30009}]`)).Expect(t, 201, "")
	h.Post(harness.ServicesPath, harness.Service("both", `"type":"NodePort","clusterIP":"10.0.0.3","ports":[{"port":80,"nodePort":30000}]`)).Expect(t, 201, "")
	if err := h.Running.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	h = harness.Start(t, config("10.0.0.0/29", "30000-30001"))
	h.Merge(harness.ServicesPath+"/old", `{"metadata":{"labels":{"x":"y"}}}`).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("taken", `"clusterIP":"10.0.0.3"`)).Expect(t, 422, "Invalid")
	h.Post(harness.ServicesPath, harness.Service("outside", `"clusterIP":"10.0.0.201"`)).Expect(t, 422, "Invalid")
	for n := range 4 { // six, without the server's own and the one of both
		r := h.Post(harness.ServicesPath, harness.Service(fmt.Sprint("new", n), ""))
		r.Expect(t, 201, "")
		if ip, _ := r.Field(t, "spec.clusterIP").(string); !netip.MustParsePrefix("10.0.0.0/29").Contains(netip.MustParseAddr(ip)) {
			t.Errorf("%s is not of the new range", ip)
		}
	}
	r := h.Post(harness.ServicesPath, harness.Service("full", ""))
	r.Expect(t, 500, "InternalError")
	if message, _ := r.Field(t, "message").(string); !strings.Contains(message, "failed to allocate a serviceIP: range is full") {
		t.Error(message)
	}
	h.Send("DELETE", harness.ServicesPath+"/old", "", nil).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("full", "")).Expect(t, 500, "InternalError")
	h.Send("DELETE", harness.ServicesPath+"/new2", "", nil).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("full", "")).Expect(t, 201, "")
}

// The endpoints of a service end with it, as in 1.25.
func TestEndpointsOfDeletedServices(t *testing.T) {
	const endpoints = "/api/v1/namespaces/default/endpoints"
	h := harness.Start(t, nil)
	for _, name := range []string{"a", "held"} {
		h.Create(harness.ServicesPath, harness.Service(name, ""))
		h.Create(endpoints, `{"metadata":{"name":"`+name+`"}}`)
	}
	h.MergePatch(harness.ServicesPath+"/held", `{"metadata":{"finalizers":["example.com/x"]}}`)
	h.Run(t, []harness.Step{
		{"dry run", "DELETE", harness.ServicesPath + "/a?dryRun=All", "", "", 200, ""},
		{"kept", "GET", endpoints + "/a", "", "", 200, ""},
		{"delete", "DELETE", harness.ServicesPath + "/a", "", "", 200, ""},
		{"gone", "GET", endpoints + "/a", "", "", 404, ""},
		{"marked", "DELETE", harness.ServicesPath + "/held", "", "", 200, ""},
		{"kept while the service is there", "GET", endpoints + "/held", "", "", 200, ""},
		{"finalized", "PATCH", harness.ServicesPath + "/held", harness.MergePatchMedia, `{"metadata":{"finalizers":null}}`, 200, ""},
		{"gone too", "GET", endpoints + "/held", "", "", 404, ""},
	})
}
