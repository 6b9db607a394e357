package convert

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// table has an object with metadata, and a specification with fields of these names.
func table(names ...string) *schema.Table {
	t := &schema.Table{Types: []schema.Type{
		{Kind: schema.Object, Elem: schema.None, Fields: []schema.Field{{Name: "kind", Type: 3}, {Name: "apiVersion", Type: 3}, {Name: "metadata", Type: 1, Presence: schema.Explicit}, {Name: "spec", Type: 2, Presence: schema.Explicit}}},
		{Kind: schema.Object, Elem: schema.None, Fields: []schema.Field{{Name: "annotations", Type: 4}}},
		{Kind: schema.Object, Elem: schema.None},
		{Kind: schema.String, Elem: schema.None}, {Kind: schema.Map, Elem: 3}, {Kind: schema.Integer, Bits: 32, Elem: schema.None},
	}}
	for _, name := range names {
		t.Types[2].Fields = append(t.Types[2].Fields, schema.Field{Name: name, Type: 5})
	}
	t.MakeIndex()
	return t
}

// Fields that the other version lacks go into the annotation, and come back; those of
// further versions stay there, and what does not fit is left out.
func TestCarriedFields(t *testing.T) {
	note, berth := []api.Carried{{Key: "v1:spec.note", Path: []string{"spec", "note"}}}, []api.Carried{{Key: "v2:spec.berth", Path: []string{"spec", "berth"}}}
	copies := func(to, from string) []api.Copy {
		return []api.Copy{{Name: "metadata"}, {Name: "spec", Below: []api.Copy{{Name: to, From: from}}}}
	}
	there, back := &api.Plan{Copy: copies("harbour", "port"), Carry: note, Restore: berth}, &api.Plan{Copy: copies("port", "harbour"), Carry: berth, Restore: note}
	v1, v2 := table("port", "note"), table("harbour", "berth")
	const head = `{"kind":"Ship","apiVersion":"v"`
	annotated := func(text string) string {
		return `"metadata":{"annotations":{"` + Annotation + `":"` + text + `"}}`
	}
	for _, c := range []struct {
		name, in, out string
		plan          *api.Plan
		from, to      *schema.Table
	}{
		{"carried", `"spec":{"port":1,"note":2}`, annotated(`{\"v1:spec.note\":2}`) + `,"spec":{"harbour":1}`, there, v1, v2},
		{"restored", annotated(`{\"v1:spec.note\":2}`) + `,"spec":{"harbour":1,"berth":3}`, annotated(`{\"v2:spec.berth\":3}`) + `,"spec":{"port":1,"note":2}`, back, v2, v1},
		{"of a third version", annotated(`{\"v3:spec.flag\":2}`) + `,"spec":{"harbour":1}`, annotated(`{\"v3:spec.flag\":2}`) + `,"spec":{"port":1}`, back, v2, v1},
		{"of another type", annotated(`{\"v2:spec.berth\":\"x\"}`) + `,"spec":{"port":1}`, `"metadata":{},"spec":{"harbour":1}`, there, v1, v2},
		{"no JSON", annotated(`{`) + `,"spec":{"port":1}`, `"metadata":{},"spec":{"harbour":1}`, there, v1, v2},
		{"nothing", `"spec":{"port":1}`, `"spec":{"harbour":1}`, there, v1, v2},
	} {
		doc, err := document.ReadTyped(c.from, 0, []byte(head+","+c.in+"}"))
		if err != nil {
			t.Fatal(err)
		}
		made := document.New(c.to, 0)
		made.Root().SetString("kind", "Ship")
		made.Root().SetString("apiVersion", "v")
		copyFields(c.plan.Copy, doc.Root(), made.Root())
		carry(c.plan, doc.Root(), made.Root())
		if got := string(made.Root().AppendJSON(nil)); got != head+","+c.out+"}" {
			t.Errorf("%s: got %s, want %s", c.name, got, c.out)
		}
	}
}

func TestServedPath(t *testing.T) {
	res := &api.Resource{Conversion: &api.Conversion{FromStorage: api.Plan{Copy: []api.Copy{{Name: "metadata"}, {Name: "spec", Below: []api.Copy{
		{Name: "port", From: "harbour"}, {Name: "crew", Each: true, Below: []api.Copy{{Name: "rank", From: "grade"}}},
	}}}, Carry: []api.Carried{{Path: []string{"spec", "berth"}}}}}}
	for path, want := range map[string]string{
		"spec.harbour": "spec.port", "spec.crew[3].grade": "spec.crew[3].rank", "spec.crew[3]": "spec.crew[3]", "metadata.name": "metadata.name",
		"spec.berth": "metadata.annotations[" + Annotation + "]", "": "",
	} {
		if got := ServedPath(res, path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
