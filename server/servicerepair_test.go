package server_test

import (
	"context"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

// Services with an address of another one, or outside of the ranges, are reported once.
func TestServiceRepair(t *testing.T) {
	h := startServer(t, nil)
	for _, name := range []string{"a", "b", "c"} {
		h.post(servicesPath, service(name, `"type":"NodePort"`)).expect(t, 201, "")
	}
	taken, _ := h.get(servicesPath+"/a").field(t, "spec.clusterIP").(string)
	port, _ := h.get(servicesPath+"/a").field(t, "spec.ports.0.nodePort").(float64)
	forge := func(name, ip string, nodePort float64) {
		t.Helper()
		err := h.server.Forge(context.Background(), "default", name, func(spec document.Value) {
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
		if err := h.server.LookAfter(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	items, _ := h.get(events).field(t, "items").([]any)
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
	h.send("DELETE", servicesPath+"/b", "", nil).expect(t, 200, "")
	h.post(servicesPath, service("d", `"clusterIP":"`+taken+`"`)).expect(t, 422, "Invalid")
	h.send("DELETE", servicesPath+"/a", "", nil).expect(t, 200, "")
	h.post(servicesPath, service("d", `"clusterIP":"`+taken+`"`)).expect(t, 201, "")
}
