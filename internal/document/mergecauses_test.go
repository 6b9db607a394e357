package document

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

func TestMergeCauses(t *testing.T) {
	dec := Decoder{Table: podTable(t)}
	d, _, err := dec.Decode(dec.Table.Root("Pod"), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	for _, c := range []struct{ name, a, b, want string }{
		{"one alone", "spec.b spec.a", "", "spec.b spec.a"},
		{"the other alone", "", "spec.b spec.a", "spec.b spec.a"},
		{"as declared", "spec.containers", "metadata.labels spec.nodeName", "metadata.labels spec.containers spec.nodeName"},
		{"inside first", "spec.containers[0]", "spec.containers[0].name", "spec.containers[0].name spec.containers[0]"},
		{"elements", "spec.containers[10].name", "spec.containers[9].ports", "spec.containers[9].ports spec.containers[10].name"},
		{"keys of a map", "metadata.labels[b]", "metadata.labels[a.b/c]", "metadata.labels[b] metadata.labels[a.b/c]"},
		{"unknown names", "spec.x", "spec.y", "spec.x spec.y"},
		{"below unknown names", "spec.x.b", "spec.x.a", "spec.x.b spec.x.a"},
		{"the same", "spec.nodeName", "spec.nodeName", "spec.nodeName spec.nodeName"},
		{"each keeps its order", "status metadata", "spec", "spec status metadata"},
		{"nothing in brackets", "spec[", "spec[]", "spec[ spec[]"},
	} {
		var got []string
		for _, cause := range MergeCauses(d.Root(), causesAt(c.a), causesAt(c.b)) {
			got = append(got, cause.Field)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func causesAt(paths string) (causes []schema.Cause) {
	for _, path := range strings.Fields(paths) {
		causes = append(causes, schema.Cause{Field: path})
	}
	return causes
}
