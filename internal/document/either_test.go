package document

import (
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// eitherTable is a type that holds itself, in every form of a value that is an
// object or something else.
func eitherTable() *schema.Table {
	table := &schema.Table{Types: []schema.Type{
		{Name: "Node", Kind: schema.Object, Elem: schema.None, Fields: []schema.Field{
			{Name: "name", Type: 1}, {Name: "list", Type: 2, Presence: schema.Explicit}, {Name: "flag", Type: 3, Presence: schema.Explicit}, {Name: "words", Type: 5},
		}},
		{Kind: schema.String, Elem: schema.None},
		{Kind: schema.Any, Elem: 0, Binary: schema.BinaryObjectOrList},
		{Kind: schema.Any, Elem: 0, Binary: schema.BinaryObjectOrBoolean},
		{Kind: schema.Any, Elem: 0, Binary: schema.BinaryObjectOrStrings},
		{Kind: schema.Map, Elem: 4},
	}}
	table.MakeIndex()
	return table
}

// reported reports whether a problem in JSON is one that clients hear of.
func reported(p Problem) bool { return !p.Untyped }

func TestDuplicatesOfEither(t *testing.T) {
	decoder := Decoder{Table: eitherTable()}
	_, problems, err := decoder.Decode(0, []byte(`{"list":{"name":"a","name":"b","other":1}}`))
	if err != nil || len(problems) != 1 || problems[0] != (Problem{Path: "list.name", Duplicate: true, Untyped: true}) {
		t.Errorf("got %+v, %v: want one untyped duplicate of list.name", problems, err)
	}
}

func TestEither(t *testing.T) {
	decoder := Decoder{Table: eitherTable()}
	for _, c := range []struct{ in, want string }{
		{`{"list": {"list": [ {"name":""}, {"name":"a", "flag":{}} ], "name":"b"}}`, `{"list":{"name":"b","list":[{},{"name":"a","flag":{}}]}}`},
		{`{"list":[]}`, `{"list":[]}`},
		{`{"list":null}`, `{}`},
		{`{"flag":false}`, `{"flag":false}`},
		{`{"flag":{"flag":true,"other":1}}`, `{"flag":{"flag":true}}`},
		{`{"words":{"b":["x"],"a":{"name":"n","name":"m"}}}`, `{"words":{"a":{"name":"m"},"b":["x"]}}`},
		{`{"list":true}`, "error: cannot unmarshal bool into field list of type object or list"},
		{`{"list":[1]}`, "error: cannot unmarshal number into field list[0]"},
		{`{"flag":[]}`, "error: cannot unmarshal array into field flag of type object or bool"},
		{`{"words":{"a":[1]}}`, "error: cannot unmarshal number into field words[a][0] of type object or list of strings"},
		{`{"flag":{"name":1}}`, "error: cannot unmarshal number into field flag.name of type string"},
	} {
		doc, problems, err := decoder.Decode(0, []byte(c.in))
		got := ""
		if err != nil {
			got = "error: " + strings.TrimPrefix(err.Error(), "json: ")
		} else {
			got = string(doc.Root().AppendJSON(nil))
		}
		if !strings.HasPrefix(got, c.want) || err == nil && got != c.want || slices.ContainsFunc(problems, reported) {
			t.Errorf("%s: got %s %v, want %s", c.in, got, problems, c.want)
		}
		if err != nil {
			continue
		}
		stored, err := ReadStored(decoder.Table, 0, []byte(got))
		if err != nil || string(stored.Root().AppendJSON(nil)) != got {
			t.Errorf("%s is not read back: %v", got, err)
		}
	}
}

func FuzzEither(f *testing.F) {
	f.Add([]byte(`{"list":[{"flag":{"words":{"a":["b"],"c":{}}}}],"flag":true}`))
	f.Add([]byte(`{"flag":[[]],"words":{"a":null},"list":{"list":{"list":[]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		decoder := Decoder{Table: eitherTable()}
		doc, _, err := decoder.Decode(0, data)
		if err != nil {
			return
		}
		once := string(doc.Root().AppendJSON(nil))
		again, problems, err := decoder.Decode(0, []byte(once))
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v %v", once, problems, err)
		}
		if twice := string(again.Root().AppendJSON(nil)); twice != once {
			t.Fatalf("%s became %s", once, twice)
		}
	})
}
