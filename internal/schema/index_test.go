package schema

import (
	"fmt"
	"reflect"
	"testing"
)

func TestIndex(t *testing.T) {
	table := &Table{Types: []Type{
		{Kind: Object, Elem: None, Fields: []Field{
			{Name: "plain", Type: 1}, {Name: "ruled", Type: 2}, {Name: "unchecked", Type: 2, Unchecked: true}, {Name: "needed", Type: 1, Required: true, Presence: Always},
			{Name: "lists", Type: 3}, {Name: "me", Type: 0}, {Name: "assumed", Type: 1, Default: `"a"`}, {Name: "null", Type: 4, Null: true}, {Name: "byRules", Type: 1, ByRules: true},
		}},
		{Kind: String, Elem: None},
		{Kind: String, Elem: None, Rules: &Rules{MinLength: 1}},
		{Kind: List, Elem: 2},
		{Kind: Object, Elem: None, Fields: []Field{{Name: "a", Type: 1}, {Name: "b", Type: 5}}},
		{Kind: Map, Elem: 4},
		{Kind: Object, Elem: None, OneOf: &OneOf{Fields: []uint16{0}}, Fields: []Field{{Name: "a", Type: 4}}},
		{Kind: Object, Elem: None, Fields: []Field{{Name: "one", Type: 6}}},
		{Kind: Object, Elem: None},
	}}
	table.MakeIndex()
	for i, want := range map[int]Index{
		0: {Checks: []uint16{1, 3, 4, 5, 8}, Fills: []uint16{3, 6, 7}},
		4: {}, 6: {}, 7: {Checks: []uint16{0}}, 8: {},
	} {
		got := table.Types[i].Index
		if got.Names = nil; !reflect.DeepEqual(got, want) {
			t.Errorf("type %d: %+v, want %+v", i, got, want)
		}
	}
}

// Every name is found, also where documents choose names with equal hashes.
func TestFieldsByName(t *testing.T) {
	for _, c := range []struct {
		format string
		count  int
		sorted bool
	}{{"%d", 0, false}, {"%d", 1, false}, {"name%d", 300, false}, {"name%dx", 3000, false}, {"same begin %02d same end", 100, true}} {
		typ := Type{Kind: Object}
		for i := range c.count {
			typ.Fields = append(typ.Fields, Field{Name: fmt.Sprintf(c.format, i)})
		}
		table := &Table{Types: []Type{typ}}
		table.MakeIndex()
		typ = table.Types[0]
		if (typ.Names == nil) != (c.sorted || c.count == 0) {
			t.Errorf("%d names like %s: by hash: %v", c.count, c.format, typ.Names != nil)
		}
		for i := range typ.Fields {
			name := typ.Fields[i].Name
			if typ.Field(name) != i || typ.FieldOf([]byte(name)) != i || typ.Field(name+"?") != -1 {
				t.Errorf("%q is found at %d and %d, it is at %d", name, typ.Field(name), typ.FieldOf([]byte(name)), i)
			}
		}
		if typ.Field("") != -1 || typ.Field("other") != -1 {
			t.Errorf("names like %s: a name that is none is found", c.format)
		}
	}
}
