package background_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Services with an address of another one, or outside of the ranges, are reported once.
func TestServiceRepair(t *testing.T) {
	h := harness.Start(t, nil)
	for _, name := range []string{"a", "b", "c"} {
		h.Post(harness.ServicesPath, harness.Service(name, `"type":"NodePort"`)).Expect(t, 201, "")
	}
	taken, _ := h.Get(harness.ServicesPath+"/a").Field(t, "spec.clusterIP").(string)
	port, _ := h.Get(harness.ServicesPath+"/a").Field(t, "spec.ports.0.nodePort").(float64)
	forge := func(name, ip string, nodePort float64) {
		t.Helper()
		err := h.Running.Forge(context.Background(), "default", name, func(spec document.Value) {
			spec.SetString("clusterIP", ip)
			spec.Remove("clusterIPs")
			spec.SetArray("clusterIPs").AppendString(ip)
			spec.Get("ports").Index(0).SetInt("nodePort", int64(nodePort))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	forge("b", taken, port)
	forge("c", "192.0.2.1", 29999)
	events := "/api/v1/namespaces/default/events"
	for range 4 {
		if err := h.Running.LookAfter(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	items, _ := h.Get(events).Field(t, "items").([]any)
	for _, i := range items {
		e := i.(map[string]any)
		of := e["involvedObject"].(map[string]any)
		got[of["name"].(string)+" "+e["reason"].(string)+" "+e["type"].(string)]++
	}
	want := []string{"b ClusterIPAlreadyAllocated Warning", "b PortAlreadyAllocated Warning", "c ClusterIPOutOfRange Warning", "c PortOutOfRange Warning"}
	for _, w := range want {
		if got[w] != 1 {
			t.Errorf("%d events %s, expected 1", got[w], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("events %v", got)
	}
	// The items that the forged services had are free, and those that they have now
	// cannot be taken.
	h.Send("DELETE", harness.ServicesPath+"/b", "", nil).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("d", `"clusterIP":"`+taken+`"`)).Expect(t, 422, "Invalid")
	h.Send("DELETE", harness.ServicesPath+"/a", "", nil).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("d", `"clusterIP":"`+taken+`"`)).Expect(t, 201, "")
}

// Objects of addresses that do not fit the services are made anew, or removed, and events tell of it.
func TestAddressRepair(t *testing.T) {
	clock := &harness.Clock{Start: time.Now()}
	h := harness.Start(t, func(c *server.Config) { c.EmulatedVersion, c.Clock = []string{"1.36"}, clock.Now })
	const all = "/apis/networking.k8s.io/v1/ipaddresses"
	for name, ip := range map[string]string{"lost": "10.0.0.20", "foreign": "10.0.0.21", "bare": "10.0.0.22", "keeps": "10.0.0.23", "other": "10.0.0.24"} {
		h.Post(harness.ServicesPath, harness.Service(name, `"clusterIP":"`+ip+`"`)).Expect(t, 201, "")
	}
	managed := `"labels":{"ipaddress.kubernetes.io/ip-family":"IPv4","ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}`
	object := func(ip, labels, parent string) {
		t.Helper()
		h.Send("DELETE", all+"/"+ip, "", nil)
		h.Post(all, `{"metadata":{"name":"`+ip+`",`+labels+`},"spec":{"parentRef":`+parent+`}}`).Expect(t, 201, "")
	}
	h.Send("DELETE", all+"/10.0.0.20", "", nil).Expect(t, 200, "")
	object("10.0.0.21", managed, `{"group":"example.com","resource":"gates","namespace":"default","name":"foreign"}`)
	object("10.0.0.22", `"labels":{}`, `{"resource":"services","namespace":"default","name":"bare"}`)
	object("10.0.0.24", managed, `{"resource":"services","namespace":"default","name":"keeps"}`) // which has another one
	object("10.0.0.40", managed, `{"resource":"services","namespace":"default","name":"gone"}`)
	object("10.0.0.41", managed, `{"group":"example.com","resource":"gates","name":"g"}`)
	object("10.0.0.42", `"labels":{}`, `{"group":"example.com","resource":"gates","name":"g"}`) // not ours
	repair := func() {
		t.Helper()
		if err := h.Running.LookAfter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	repair()
	h.Get(all+"/10.0.0.40").Expect(t, 200, "") // its service may come
	clock.Pass(2 * time.Minute)
	for range 3 { // that of another service is removed first
		repair()
	}
	for name, ip := range map[string]string{"lost": "10.0.0.20", "foreign": "10.0.0.21", "bare": "10.0.0.22", "keeps": "10.0.0.23", "other": "10.0.0.24"} {
		r := h.Get(all + "/" + ip)
		if r.Field(t, "spec.parentRef.name") != name || r.Field(t, "metadata.labels") == nil {
			t.Errorf("%s: %s", ip, r.Body)
		}
	}
	h.Get(all+"/10.0.0.40").Expect(t, 404, "NotFound")
	h.Get(all+"/10.0.0.41").Expect(t, 404, "NotFound")
	h.Get(all+"/10.0.0.42").Expect(t, 200, "")
	// An address outside of the ranges is the operator's to mend.
	if err := h.Running.Forge(t.Context(), "default", "keeps", func(spec document.Value) {
		spec.SetString("clusterIP", "192.0.2.1")
		spec.Remove("clusterIPs")
		spec.SetArray("clusterIPs").AppendString("192.0.2.1")
	}); err != nil {
		t.Fatal(err)
	}
	repair()
	repair()
	got := map[string]int{}
	items, _ := h.Get("/api/v1/namespaces/default/events").Field(t, "items").([]any)
	for _, i := range items {
		e := i.(map[string]any)
		of := e["involvedObject"].(map[string]any)
		got[fmt.Sprint(of["kind"], " ", of["name"], " ", e["reason"], ": ", e["message"])]++
	}
	for _, want := range []string{
		"Service lost ClusterIPNotAllocated: Cluster IP [IPv4]: 10.0.0.20 is not allocated; repairing",
		"Service foreign ClusterIPNotAllocated: the ClusterIP [IPv4]: 10.0.0.21 for Service default/foreign has a wrong reference; repairing",
		"IPAddress 10.0.0.24 IPAddressWrongReference: IPAddress: 10.0.0.24 for Service keeps/default has a wrong reference; cleaning up",
		"IPAddress 10.0.0.40 IPAddressNotAllocated: IPAddress: 10.0.0.40 for Service default/gone appears to have leaked: cleaning up",
		"IPAddress 10.0.0.41 IPAddressNotAllocated: IPAddress 10.0.0.41 appears to have been modified, not referencing a Service " +
			"&ParentReference{Group:example.com,Resource:gates,Namespace:,Name:g,}: cleaning up",
		"Service keeps ClusterIPOutOfRange: Cluster IP [IPv4]: 192.0.2.1 is not within any configured Service CIDR; please recreate service",
	} {
		if got[want] != 1 {
			t.Errorf("%d events %s, expected 1, of %v", got[want], want, got)
		}
	}
}

// The object of the configured ranges stays as it is, but for a second range; events tell of what does not fit.
func TestServiceRangesOfFlags(t *testing.T) {
	disk := vfs.NewMem()
	start := func(ranges string) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.EmulatedVersion, c.ServiceClusterIPRange = []string{"1.36"}, ranges
			c.InMemory, c.DataDir, c.FS = false, "data", disk
		})
	}
	const path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
	for _, c := range []struct{ flag, want, event string }{
		{"10.1.0.0/24", "[10.1.0.0/24]", ""},
		{"10.1.0.0/24,fd00::/112", "[10.1.0.0/24 fd00::/112]", ""},
		{"10.2.0.0/24", "[10.1.0.0/24 fd00::/112]",
			"The default ServiceCIDR [10.1.0.0/24 fd00::/112] does not match the controller flag configurations [10.2.0.0/24]"},
	} {
		h := start(c.flag)
		if err := h.Running.LookAfter(t.Context()); err != nil {
			t.Logf("%s: %v", c.flag, err)
		}
		r := h.Get(path)
		if got := fmt.Sprint(r.Field(t, "spec.cidrs")); got != c.want {
			t.Errorf("%s: %s", c.flag, got)
		}
		if ready := string(r.Body); !strings.Contains(ready, `"status":"True"`) || !strings.Contains(ready, `"message":"Kubernetes default Service CIDR is ready"`) ||
			!strings.Contains(ready, `"manager":"kubernetes-service-cidr-controller","operation":"Apply"`) {
			t.Errorf("%s: %s", c.flag, ready)
		}
		if events := string(h.Get("/api/v1/namespaces/default/events").Body); c.event == "" != !strings.Contains(events, "ServiceCIDR") || !strings.Contains(events, c.event) {
			t.Errorf("%s: %s", c.flag, events)
		}
		if err := h.Running.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
