package background_test

import (
	"context"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
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
