package document

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

func TestOrderCauses(t *testing.T) {
	dec := Decoder{Table: podTable(t)}
	table := dec.Table
	spec := typeBelow(table, table.Root("Pod"), "spec")
	container := typeBelow(table, typeBelow(table, spec, "containers"), "[0]")
	table.CauseOrders = map[schema.Ref][]string{
		spec:      {"nodeName", "containers[].env[]", "containers", "containers[].ports", "."},
		container: {"ports", "name"},
	}
	d, _, err := dec.Decode(table.Root("Pod"), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	for _, c := range []struct{ name, given, want string }{
		{"nothing declared", "spec metadata", "spec metadata"},
		{"declared", "spec.containers spec.nodeName", "spec.nodeName spec.containers"},
		{"not named", "spec.restartPolicy spec.x spec.containers", "spec.containers spec.restartPolicy spec.x"},
		{"the object itself", "spec spec.x spec.nodeName", "spec.nodeName spec spec.x"},
		{"below", "spec.containers[1].name spec.containers[1].image spec.containers[0].image spec.containers[0].name",
			"spec.containers[1].name spec.containers[1].image spec.containers[0].name spec.containers[0].image"},
		{"the longest path", "spec.containers[0].ports[0].name spec.containers[0].env spec.containers[0].env[0].name",
			"spec.containers[0].env[0].name spec.containers[0].env spec.containers[0].ports[0].name"},
		{"places of others stay", "spec.nodeName metadata.name spec.containers spec.nodeName", "spec.nodeName metadata.name spec.nodeName spec.containers"},
		{"equal ones", "spec.nodeName spec.nodeName", "spec.nodeName spec.nodeName"},
		{"broken paths", "spec.containers[ spec.containers[0 spec.nodeName]", "spec.containers[ spec.containers[0 spec.nodeName]"},
	} {
		var got []string
		for _, cause := range OrderCauses(d.Root(), causesAt(c.given)) {
			got = append(got, cause.Field)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
