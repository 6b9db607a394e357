package document

import (
	"errors"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// spelledTable has a type of schemas with an extension, and lists and maps of them.
func spelledTable() *schema.Table {
	t := &schema.Table{Types: []schema.Type{
		{Kind: schema.Object, Elem: schema.None, Fields: []schema.Field{
			{Name: "items", Type: 1}, {Name: "properties", Type: 2}, {Name: "x-kubernetes-list-type", Type: 3}, {Name: "x-kubernetes-embedded-resource", Type: 4}, {Name: "default", Type: 5},
		}},
		{Kind: schema.List, Elem: 0}, {Kind: schema.Map, Elem: 0}, {Kind: schema.String, Elem: schema.None}, {Kind: schema.Boolean, Elem: schema.None}, {Kind: schema.Any, Elem: schema.None},
	}}
	t.MakeIndex()
	return t
}

// Both spellings of an extension become the field's, with one value.
func TestSpellings(t *testing.T) {
	table := spelledTable()
	for _, c := range []struct{ name, text, want, problems, wrong string }{
		{"other", `{"x-cluster-list-type":"set"}`, `{"x-kubernetes-list-type":"set"}`, "", ""},
		{"order", `{"x-cluster-embedded-resource":true,"items":[]}`, `{"x-kubernetes-embedded-resource":true}`, "", ""},
		{"below", `{"items":[{"x-cluster-list-type":"a"}],"properties":{"x-cluster-list-type":{"x-cluster-list-type":"b"}}}`,
			`{"items":[{"x-kubernetes-list-type":"a"}],"properties":{"x-cluster-list-type":{"x-kubernetes-list-type":"b"}}}`, "", ""},
		{"in values", `{"default":{"x-cluster-list-type":"a"}}`, `{"default":{"x-cluster-list-type":"a"}}`, "", ""},
		{"equal", `{"x-cluster-list-type":"a","x-kubernetes-list-type":"a"}`, `{"x-kubernetes-list-type":"a"}`, "", ""},
		{"null beside it", `{"x-cluster-list-type":"a","x-kubernetes-list-type":null}`, `{"x-kubernetes-list-type":"a"}`, "", ""},
		{"null", `{"x-cluster-list-type":null,"x-kubernetes-list-type":"a"}`, `{"x-kubernetes-list-type":"a"}`, "", ""},
		{"twice", `{"x-cluster-list-type":"a","x-cluster-list-type":"b"}`, `{"x-kubernetes-list-type":"b"}`, "x-kubernetes-list-type", ""},
		{"different", `{"items":[{"x-kubernetes-list-type":"a","x-cluster-list-type":"b"}]}`, "", "", "items[0] has different values for x-cluster-list-type and x-kubernetes-list-type"},
		{"different zero", `{"x-cluster-embedded-resource":false,"x-kubernetes-embedded-resource":true}`, "", "", "x-cluster-embedded-resource"},
		{"of no field", `{"x-cluster-other":1,"x-cluster-type":1,"x-cluster-":1}`, `{}`, "x-cluster-other x-cluster-type x-cluster-", ""},
		{"wrong type", `{"x-cluster-list-type":1}`, "", "", "field x-kubernetes-list-type of type string"},
	} {
		doc, found, err := (&Decoder{Table: table}).Decode(0, []byte(c.text))
		if c.wrong != "" {
			var wrong *TypeError
			if !errors.As(err, &wrong) || !strings.Contains(wrong.Message, c.wrong) {
				t.Errorf("%s: %v, want %s", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var problems []string
		for _, p := range found {
			problems = append(problems, p.Path)
		}
		if got := string(doc.Root().AppendJSON(nil)); got != c.want || strings.Join(problems, " ") != c.problems {
			t.Errorf("%s: %s with %v, want %s with %s", c.name, got, problems, c.want, c.problems)
		}
		doc.Release()
		plain, err := DecodeAny([]byte(c.text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		Respell(plain.Root(), table, 0)
		again, found, err := (&Decoder{Table: table}).Decode(0, plain.Root().AppendJSON(nil))
		if err != nil || c.problems == "" && len(found) > 0 || string(again.Root().AppendJSON(nil)) != c.want {
			t.Errorf("%s: as an untyped document it is %s", c.name, plain.Root().AppendJSON(nil))
		}
		again.Release()
		plain.Release()
	}
}
