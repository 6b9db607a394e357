package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
)

const servicesPath = "/api/v1/namespaces/default/services"

// service is a service with one port, to which spec adds.
func service(name, spec string) string {
	if !strings.Contains(spec, `"ports"`) {
		spec = strings.TrimSuffix(`"ports":[{"port":80}],`+spec, ",")
	}
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"selector":{"a":"b"},%s}}`, name, spec)
}

func (h *harness) merge(path, patch string) reply {
	h.t.Helper()
	return h.send(http.MethodPatch, path, "application/merge-patch+json", []byte(patch))
}

// shape is the part of a service's spec that is allocated, as JSON.
func (r reply) shape(t *testing.T) string {
	t.Helper()
	var s struct {
		Spec struct {
			ClusterIPs     []string `json:"clusterIPs"`
			IPFamilies     []string `json:"ipFamilies"`
			IPFamilyPolicy string   `json:"ipFamilyPolicy"`
			Ports          []struct {
				NodePort int `json:"nodePort"`
			} `json:"ports"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.body, &s); err != nil {
		t.Fatal(err)
	}
	var ports []int
	for _, p := range s.Spec.Ports {
		ports = append(ports, p.NodePort)
	}
	return fmt.Sprintf("%v %v %s %v", s.Spec.ClusterIPs, s.Spec.IPFamilies, s.Spec.IPFamilyPolicy, ports)
}

// causeOf is the field of the first cause of an error.
func (r reply) causeOf(t *testing.T) any { t.Helper(); return r.field(t, "details.causes.0.field") }

func TestServiceAddresses(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.ServiceClusterIPRange = "10.1.0.0/24" })
	r := h.post(servicesPath, service("a", ""))
	r.expect(t, 201, "")
	given, _ := r.field(t, "spec.clusterIP").(string)
	if ip, err := netip.ParseAddr(given); err != nil || !netip.MustParsePrefix("10.1.0.0/24").Contains(ip) {
		t.Errorf("address %q: %v", given, err)
	}
	if got := r.shape(t); got != "["+given+"] [IPv4] SingleStack [0]" {
		t.Error(got)
	}
	if strings.Contains(string(r.body), `"f:clusterIP"`) {
		t.Errorf("what the server allocated is said to be the client's: %s", r.body)
	}
	refused := func(name, spec, field, words string) {
		t.Helper()
		for _, query := range []string{"?dryRun=All", ""} {
			r := h.post(servicesPath+query, service(name, spec))
			r.expect(t, 422, "Invalid")
			if message, _ := r.field(t, "message").(string); r.causeOf(t) != field || !strings.Contains(message, words) {
				t.Errorf("%s: cause %v: %s", name, r.causeOf(t), message)
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
	h.post(servicesPath+"?dryRun=All", service("b", `"clusterIP":"10.1.0.7"`)).expect(t, 201, "")
	h.post(servicesPath, service("b", `"clusterIP":"10.1.0.7","ports":[{"port":0}]`)).expect(t, 422, "Invalid")
	h.post(servicesPath, service("a", `"clusterIP":"10.1.0.7"`)).expect(t, 409, "AlreadyExists")
	h.post("/api/v1/namespaces/nosuch/services", service("b", `"clusterIP":"10.1.0.7"`)).expect(t, 404, "NotFound")
	h.post(servicesPath, service("b", `"clusterIP":"10.1.0.7"`)).expect(t, 201, "")
	// A deleted service holds nothing either, unless it is only marked.
	h.merge(servicesPath+"/b", `{"metadata":{"finalizers":["x.y/z"]}}`).expect(t, 200, "")
	h.send("DELETE", servicesPath+"/b", "", nil).expect(t, 200, "")
	refused("c", `"clusterIP":"10.1.0.7"`, "spec.clusterIPs", "already allocated")
	h.merge(servicesPath+"/b", `{"metadata":{"finalizers":null}}`).expect(t, 200, "")
	// A PUT creates, and allocates, too.
	r = h.send("PUT", servicesPath+"/c", "application/json", []byte(service("c", `"clusterIP":"10.1.0.7","type":"NodePort"`)))
	r.expect(t, 201, "")
	if got := r.shape(t); !strings.HasPrefix(got, "[10.1.0.7] [IPv4] SingleStack [3") {
		t.Error(got)
	}
}

func TestServiceNodePorts(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.ServiceNodePortRange = "31000-31003" })
	r := h.post(servicesPath, service("dns", `"type":"NodePort","ports":[{"name":"u","port":53,"protocol":"UDP"},{"name":"t","port":53,"nodePort":31001},{"name":"m","port":9153}]`))
	r.expect(t, 201, "")
	if a, b, c := r.field(t, "spec.ports.0.nodePort"), r.field(t, "spec.ports.1.nodePort"), r.field(t, "spec.ports.2.nodePort"); a != 31001.0 || b != 31001.0 || c == 31001.0 || c == nil {
		t.Errorf("node ports %v, %v, %v", a, b, c)
	}
	for _, c := range []struct{ spec, field, words string }{
		{`"type":"NodePort","ports":[{"port":80,"nodePort":31001}]`, "spec.ports[0].nodePort", "provided port is already allocated"},
		{`"type":"NodePort","ports":[{"name":"a","port":80},{"name":"b","port":81,"nodePort":30000}]`, "spec.ports[1].nodePort", "The range of valid ports is 31000-31003"},
		{`"type":"NodePort","ports":[{"port":80,"nodePort":-1}]`, "spec.ports[0].nodePort", "not in the valid range"},
		{`"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":31001,"allocateLoadBalancerNodePorts":false`, "spec.healthCheckNodePort", "already allocated"},
	} {
		r := h.post(servicesPath, service("b", c.spec))
		r.expect(t, 422, "Invalid")
		if message, _ := r.field(t, "message").(string); r.causeOf(t) != c.field || !strings.Contains(message, c.words) {
			t.Errorf("%s: cause %v: %s", c.spec, r.causeOf(t), message)
		}
	}
	// Two of four are left: one for the port, one for the health check.
	r = h.post(servicesPath, service("lb", `"type":"LoadBalancer","externalTrafficPolicy":"Local"`))
	r.expect(t, 201, "")
	if a, b := r.field(t, "spec.ports.0.nodePort"), r.field(t, "spec.healthCheckNodePort"); a == nil || b == nil || a == b {
		t.Errorf("node port %v, health %v", a, b)
	}
	r = h.post(servicesPath, service("full", `"type":"NodePort"`))
	r.expect(t, 500, "InternalError")
	if message, _ := r.field(t, "message").(string); !strings.Contains(message, "failed to allocate a nodePort: range is full") {
		t.Error(message)
	}
	h.post(servicesPath, service("none", `"type":"LoadBalancer","allocateLoadBalancerNodePorts":false`)).expect(t, 201, "")
	// An update frees the health check port, and another one takes it.
	r = h.merge(servicesPath+"/lb", `{"spec":{"externalTrafficPolicy":"Cluster"}}`)
	r.expect(t, 200, "")
	if got := r.field(t, "spec.healthCheckNodePort"); got != nil {
		t.Errorf("health port %v", got)
	}
	h.merge(servicesPath+"/none", `{"spec":{"type":"NodePort","allocateLoadBalancerNodePorts":null}}`).expect(t, 200, "")
	h.post(servicesPath, service("full", `"type":"NodePort"`)).expect(t, 500, "InternalError")
	// From a node port to none, and back.
	r = h.merge(servicesPath+"/dns", `{"spec":{"type":"ClusterIP"}}`)
	r.expect(t, 200, "")
	if got := r.shape(t); !strings.HasSuffix(got, "[0 0 0]") {
		t.Error(got)
	}
	h.post(servicesPath, service("full", `"type":"NodePort","ports":[{"port":80,"nodePort":31001}]`)).expect(t, 201, "")
	h.merge(servicesPath+"/dns", `{"spec":{"type":"NodePort"}}`).expect(t, 500, "InternalError")
	h.send("DELETE", servicesPath+"/lb", "", nil).expect(t, 200, "")
	h.merge(servicesPath+"/dns?dryRun=All", `{"spec":{"type":"NodePort","ports":[{"name":"t","port":53,"protocol":"TCP"}]}}`).expect(t, 200, "")
	r = h.merge(servicesPath+"/dns", `{"spec":{"type":"NodePort","ports":[{"name":"t","port":53,"protocol":"TCP"},{"name":"u","port":53,"protocol":"UDP"}]}}`)
	r.expect(t, 200, "")
	if a, b := r.field(t, "spec.ports.0.nodePort"), r.field(t, "spec.ports.1.nodePort"); a == nil || b == nil || a == b {
		t.Errorf("node ports %v, %v", a, b)
	}
}

// Types and families change; addresses follow.
// The numbers of node ports in an external name belong to nobody: it gets them when it becomes
// another type, unless they are somebody else's.
func TestNodePortsOfExternalNames(t *testing.T) {
	h := startServer(t, nil)
	const all = "/api/v1/namespaces/default/services"
	const ports = `"ports":[{"port":80,"nodePort":30009}]`
	h.create(all, `{"metadata":{"name":"name"},"spec":{"type":"ExternalName","externalName":"example.com","ports":[{"port":80}]}}`)
	h.create(all, service("owner", `"type":"NodePort",`+ports))
	h.merge(all+"/name", `{"spec":{`+ports+`}}`).expect(t, 200, "")
	for _, kind := range []string{"LoadBalancer", "NodePort"} {
		refused := h.merge(all+"/name", `{"spec":{"type":"`+kind+`","externalName":null}}`)
		refused.expect(t, 422, "Invalid")
		if !strings.Contains(string(refused.body), "provided port is already allocated") {
			t.Errorf("%s", refused.body)
		}
	}
	h.delete(all + "/owner")
	h.merge(all+"/name", `{"spec":{"type":"NodePort","externalName":null}}`).expect(t, 200, "")
	h.post(all, service("late", `"type":"NodePort",`+ports)).expect(t, 422, "Invalid")
	h.merge(all+"/name", `{"spec":{"type":"ExternalName","externalName":"example.com"}}`).expect(t, 200, "")
	h.create(all, service("late", `"type":"NodePort",`+ports))
}

func TestServiceConversions(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.ServiceClusterIPRange = "10.0.0.0/24,fd00::/112" })
	h.post(servicesPath, service("s", `"clusterIP":"10.0.0.50"`)).expect(t, 201, "")
	step := func(patch, want string) {
		t.Helper()
		r := h.merge(servicesPath+"/s", patch)
		r.expect(t, 200, "")
		if got := r.shape(t); got != want {
			t.Errorf("%s: %s, want %s", patch, got, want)
		}
	}
	refused := func(patch, field string) {
		t.Helper()
		r := h.merge(servicesPath+"/s", patch)
		r.expect(t, 422, "Invalid")
		if r.causeOf(t) != field {
			t.Errorf("%s: cause %v, want %s", patch, r.causeOf(t), field)
		}
	}
	step(`{"spec":{"ipFamilyPolicy":"PreferDualStack","clusterIPs":["10.0.0.50","fd00::50"]}}`, "[10.0.0.50 fd00::50] [IPv4 IPv6] PreferDualStack [0]")
	h.post(servicesPath, service("t", `"clusterIP":"fd00::50"`)).expect(t, 422, "Invalid")
	step(`{"metadata":{"labels":{"x":"y"}}}`, "[10.0.0.50 fd00::50] [IPv4 IPv6] PreferDualStack [0]")
	refused(`{"spec":{"clusterIPs":["10.0.0.50"]}}`, "spec.ipFamilyPolicy")
	step(`{"spec":{"ipFamilyPolicy":"SingleStack"}}`, "[10.0.0.50] [IPv4] SingleStack [0]")
	h.post(servicesPath, service("t", `"clusterIP":"fd00::50"`)).expect(t, 201, "") // it was freed
	step(`{"spec":{"type":"ExternalName","externalName":"a.b"}}`, "[] []  [0]")
	h.post(servicesPath, service("u", `"clusterIP":"10.0.0.50"`)).expect(t, 201, "")
	refused(`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"10.0.0.50"}}`, "spec.clusterIPs")
	step(`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"10.0.0.51"}}`, "[10.0.0.51] [IPv4] SingleStack [0]")
	refused(`{"spec":{"clusterIP":"None","clusterIPs":["None"]}}`, "spec.clusterIPs[0]")
	refused(`{"spec":{"clusterIP":"10.0.0.52","clusterIPs":["10.0.0.52"]}}`, "spec.clusterIPs[0]")
	h.post(servicesPath, service("v", `"clusterIP":"10.0.0.52"`)).expect(t, 201, "") // the refused write does not hold it
	step(`{"spec":{"type":"ExternalName","externalName":"a.b"}}`, "[] []  [0]")
	step(`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"None"}}`, "[None] [IPv4] SingleStack [0]")
	r := h.merge(servicesPath+"/v", `{"spec":{"ipFamilyPolicy":"RequireDualStack"}}`)
	r.expect(t, 200, "")
	if got, _ := r.field(t, "spec.clusterIPs.1").(string); !strings.HasPrefix(got, "fd00::") {
		t.Errorf("second address %q", got)
	}
	r = h.post(servicesPath, `{"metadata":{"name":"w"},"spec":{"clusterIP":"None","ports":[{"port":80}]}}`)
	if got := r.shape(t); got != "[None] [IPv4 IPv6] RequireDualStack [0]" {
		t.Errorf("headless without selector: %s", got)
	}
	// A PUT that leaves out allocated values keeps them.
	r = h.send("PUT", servicesPath+"/v", "application/json", []byte(service("v", "")))
	r.expect(t, 200, "")
	if got := r.shape(t); !strings.Contains(got, "[IPv4 IPv6] RequireDualStack") {
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
	h := startServer(t, config(disk))
	var mu sync.Mutex
	acknowledged := map[string]string{}
	var crashed *vfs.MemFS
	work := func(h *harness, prefix string, each int) {
		var writers sync.WaitGroup
		for w := range 6 {
			writers.Go(func() {
				for n := range each {
					name := fmt.Sprintf("%s%d-%d", prefix, w, n)
					r := h.post(servicesPath, service(name, `"type":"NodePort"`))
					if r.code != 201 {
						h.t.Errorf("%s: %d %s", name, r.code, r.body)
						return
					}
					mu.Lock()
					if crashed == nil {
						acknowledged[name] = r.shape(h.t)
					}
					mu.Unlock()
					if n%3 == 2 {
						mu.Lock()
						delete(acknowledged, name) // it may exist or not
						mu.Unlock()
						h.send("DELETE", servicesPath+"/"+name, "", nil)
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
	distinct := func(h *harness) map[string]string {
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Spec     struct {
					ClusterIP string
					Ports     []struct{ NodePort int }
				}
			}
		}
		if err := json.Unmarshal(h.get(servicesPath).body, &list); err != nil {
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

	again := startServer(t, config(crashed))
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
	h := startServer(t, config("10.0.0.0/24", "30000-30009"))
	h.post(servicesPath, service("old", `"type":"NodePort","clusterIP":"10.0.0.200","ports":[{"port":80,"nodePort":30009}]`)).expect(t, 201, "")
	h.post(servicesPath, service("both", `"type":"NodePort","clusterIP":"10.0.0.3","ports":[{"port":80,"nodePort":30000}]`)).expect(t, 201, "")
	if err := h.server.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	h = startServer(t, config("10.0.0.0/29", "30000-30001"))
	h.merge(servicesPath+"/old", `{"metadata":{"labels":{"x":"y"}}}`).expect(t, 200, "")
	h.post(servicesPath, service("taken", `"clusterIP":"10.0.0.3"`)).expect(t, 422, "Invalid")
	h.post(servicesPath, service("outside", `"clusterIP":"10.0.0.201"`)).expect(t, 422, "Invalid")
	for n := range 4 { // six, without the server's own and the one of both
		r := h.post(servicesPath, service(fmt.Sprint("new", n), ""))
		r.expect(t, 201, "")
		if ip, _ := r.field(t, "spec.clusterIP").(string); !netip.MustParsePrefix("10.0.0.0/29").Contains(netip.MustParseAddr(ip)) {
			t.Errorf("%s is not of the new range", ip)
		}
	}
	r := h.post(servicesPath, service("full", ""))
	r.expect(t, 500, "InternalError")
	if message, _ := r.field(t, "message").(string); !strings.Contains(message, "failed to allocate a serviceIP: range is full") {
		t.Error(message)
	}
	h.send("DELETE", servicesPath+"/old", "", nil).expect(t, 200, "")
	h.post(servicesPath, service("full", "")).expect(t, 500, "InternalError")
	h.send("DELETE", servicesPath+"/new2", "", nil).expect(t, 200, "")
	h.post(servicesPath, service("full", "")).expect(t, 201, "")
}

// The endpoints of a service end with it, as in 1.25.
func TestEndpointsOfDeletedServices(t *testing.T) {
	const endpoints = "/api/v1/namespaces/default/endpoints"
	h := startServer(t, nil)
	for _, name := range []string{"a", "held"} {
		h.create(servicesPath, service(name, ""))
		h.create(endpoints, `{"metadata":{"name":"`+name+`"}}`)
	}
	h.mergePatch(servicesPath+"/held", `{"metadata":{"finalizers":["example.com/x"]}}`)
	h.run(t, []step{
		{"dry run", "DELETE", servicesPath + "/a?dryRun=All", "", "", 200, ""},
		{"kept", "GET", endpoints + "/a", "", "", 200, ""},
		{"delete", "DELETE", servicesPath + "/a", "", "", 200, ""},
		{"gone", "GET", endpoints + "/a", "", "", 404, ""},
		{"marked", "DELETE", servicesPath + "/held", "", "", 200, ""},
		{"kept while the service is there", "GET", endpoints + "/held", "", "", 200, ""},
		{"finalized", "PATCH", servicesPath + "/held", mergeType, `{"metadata":{"finalizers":null}}`, 200, ""},
		{"gone too", "GET", endpoints + "/held", "", "", 404, ""},
	})
}
