package schema

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestParseWrongText: a text that is not a table is refused with its line.
func TestParseWrongText(t *testing.T) {
	for text, wants := range map[string]string{
		"root A a":                    `there is no type "a"`,
		"field a b {}":                "belongs to no type",
		"type a {\"Kind\":1}\nelem b": "line 2",
		"type a {\"Kind\":\"x\"}":     "line 1",
		"type a {}\ntype a {}":        "twice",
		"type a {}\nwhat":             `"what"`,
		"type a {\"Kind\":1}\nfield b a {\"Number\":-1}": "line 2",
	} {
		if _, err := ParseTable("g", "v1", strings.Split(text, "\n")); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParseTable: a text makes an error, or a table that is the same after it was written and read.
func FuzzParseTable(f *testing.F) {
	f.Add("root A a x\ntype a {\"Kind\":1}\norder [\"b\"]\nfield b ~1 {\"Number\":2,\"More\":{\"Gate\":\"G\"}}\ntype ~1 {\"Kind\":3}\nelem a")
	f.Fuzz(func(t *testing.T, text string) {
		first, err := ParseTable("g", "v1", strings.Split(text, "\n"))
		if err != nil {
			return
		}
		lines := first.Lines()
		again, err := ParseTable("g", "v1", lines)
		if err != nil {
			t.Skip(err) // names that no document can have: those of two types, or with a space
		}
		if got := again.Lines(); !slices.Equal(got, lines) {
			t.Errorf("%q became %q", lines, got)
		}
	})
}

// TestOddMembers: pointers to zero, empty lists and embedded structs keep their values in the text.
func TestOddMembers(t *testing.T) {
	zero, none := int64(0), 0.0
	table := &Table{Group: "g", Version: "v1", Roots: []Root{{Name: "A", Type: 0, Form: "f"}}, Types: []Type{
		{Name: "a", Kind: Object, Elem: None, Fields: []Field{{Name: "b", Type: 1, Default: `"x y"`, More: &More{WhenIs: []string{}}}}},
		{Kind: String, Elem: None, Rules: &Rules{Enum: []string{}, Further: &Values{MinLength: &zero, Minimum: &none,
			Properties: []ValuesOf{{Name: "p", Values: &Values{Pattern: "é<>"}}}}}}},
		CauseOrders: map[Ref][]string{0: {"b", "."}}}
	table.MakeIndex()
	got, err := ParseTable("g", "v1", table.Lines())
	if err != nil || !reflect.DeepEqual(got, table) {
		t.Errorf("%v: %v\nfor %v\n%s", err, got, table, strings.Join(table.Lines(), "\n"))
	}
}
