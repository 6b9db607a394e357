package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func property(name string, s Schema) Property { return Property{Name: name, Schema: &s} }

// compileSample compiles named schemas of the directory sample/v1, all of them
// as roots, in the order of their names.
func compileSample(t *testing.T, kinds string, schemas map[string]*Schema) (*Table, error) {
	t.Helper()
	src := Source{Group: "sample", Version: "v1", Types: map[string]*Named{}}
	for _, name := range []string{"A", "B", "C", "D"} {
		if s := schemas[name]; s != nil {
			id := "sample/v1." + name
			src.Types[id] = &Named{ID: id, Dir: "sample/v1", Kind: strings.Contains(kinds, name), Schema: s}
			src.Roots = append(src.Roots, RootName{Name: name, ID: id})
		}
	}
	return Compile(src)
}

func mustCompile(t *testing.T, kinds string, schemas map[string]*Schema) *Table {
	t.Helper()
	table, err := compileSample(t, kinds, schemas)
	if err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, table)
	return table
}

// checkInvariants checks the invariants of Table.
func checkInvariants(t *testing.T, table *Table) {
	t.Helper()
	next := Ref(0)
	seen := map[Ref]bool{}
	var walk func(ref Ref)
	walk = func(ref Ref) {
		if ref == None || seen[ref] {
			return
		}
		if ref < 0 || int(ref) >= len(table.Types) {
			t.Fatalf("type %d is outside the table", ref)
		}
		if seen[ref] = true; ref != next {
			t.Fatalf("the walk meets type %d as number %d", ref, next)
		}
		next++
		typ := &table.Types[ref]
		walk(typ.Elem)
		for i := range typ.Fields {
			walk(typ.Fields[i].Type)
			if got := typ.Field(typ.Fields[i].Name); got != i {
				t.Errorf("%s.%s is found at %d, it is at %d", typ.Name, typ.Fields[i].Name, got, i)
			}
		}
	}
	for _, root := range table.Roots {
		walk(root.Type)
		if table.Root(root.Name) != root.Type {
			t.Errorf("root %s is not found by its name", root.Name)
		}
	}
	if int(next) != len(table.Types) {
		t.Errorf("%d of %d types are reached", next, len(table.Types))
	}
}

func TestPresenceFollowsTheVocabulary(t *testing.T) {
	table := mustCompile(t, "A", map[string]*Schema{
		"A": {Type: "object", Required: []string{"must"}, RequiredPublished: []string{"lenient"}, Properties: []Property{
			property("metadata", Schema{Ref: "#/$defs/B"}),
			property("must", Schema{Type: "string"}),
			property("lenient", Schema{Type: "string"}),
			property("may", Schema{Type: "integer", Format: "int32"}),
			property("pointer", Schema{Type: "integer", Presence: "explicit"}),
			property("object", Schema{Ref: "/sample/v1/B"}),
			property("inline", Schema{Type: "object", Properties: []Property{property("x", Schema{Type: "boolean"})}}),
			property("map", Schema{Type: "object", Additional: &Schema{Type: "string"}}),
			property("list", Schema{Type: "array", Items: &Schema{Type: "string"}}),
			property("any", Schema{PreserveAny: true, BinaryForm: "raw"}),
			property("value", Schema{Ref: "#/$defs/B", Presence: "always"}),
			property("self", Schema{Ref: "#/$defs/A"}),
		}},
		"B": {Type: "object"},
	})
	a := &table.Types[table.Root("A")]
	want := map[string]string{
		"kind": "Implicit", "apiVersion": "Implicit", "metadata": "Explicit", "must": "Always required", "lenient": "Always", "may": "Implicit",
		"pointer": "Explicit", "object": "Explicit", "inline": "Explicit", "map": "Implicit", "list": "Implicit", "any": "Implicit", "value": "Always", "self": "Explicit",
	}
	for _, f := range a.Fields {
		got := [...]string{"Implicit", "Explicit", "Always"}[f.Presence]
		if f.Required {
			got += " required"
		}
		if got != want[f.Name] {
			t.Errorf("%s is %s, want %s", f.Name, got, want[f.Name])
		}
		delete(want, f.Name)
	}
	if len(want) != 0 {
		t.Errorf("fields %v are missing", want)
	}
	if a.Fields[0].Name != "kind" || a.Fields[1].Name != "apiVersion" || a.Fields[2].Name != "metadata" {
		t.Errorf("a kind begins with %s, %s, %s", a.Fields[0].Name, a.Fields[1].Name, a.Fields[2].Name)
	}
	if n := len(table.Types[table.Root("B")].Fields); n != 0 {
		t.Errorf("B is no kind and has %d fields", n)
	}
}

func TestKindsOfValues(t *testing.T) {
	low, high, few := 1.0, 9.0, 3
	for _, c := range []struct {
		schema Schema
		want   Type
	}{
		{Schema{Type: "string"}, Type{Kind: String}},
		{Schema{Type: "string", Format: "byte"}, Type{Kind: Bytes}},
		{Schema{Type: "string", Format: "date-time"}, Type{Kind: Time}},
		{Schema{Type: "string", Format: "micro-time"}, Type{Kind: MicroTime}},
		{Schema{Type: "string", Format: "duration"}, Type{Kind: Duration}},
		{Schema{Type: "string", Format: "quantity"}, Type{Kind: Quantity}},
		{Schema{Format: "quantity"}, Type{Kind: Quantity}},
		{Schema{Format: "int-or-string"}, Type{Kind: IntOrString}},
		{Schema{Type: "boolean"}, Type{Kind: Boolean}},
		{Schema{Type: "integer", Format: "int32"}, Type{Kind: Integer, Bits: 32}},
		{Schema{Type: "integer"}, Type{Kind: Integer, Bits: 64}},
		{Schema{Type: "number", Format: "double"}, Type{Kind: Number}},
		{Schema{PreserveAny: true}, Type{Kind: Any}},
		{Schema{PreserveAny: true, BinaryForm: "raw"}, Type{Kind: Any, Binary: BinaryRaw}},
		{Schema{Type: "integer", Minimum: &low, ExclusiveMaximum: &high}, Type{Kind: Integer, Bits: 64, Rules: &Rules{HasMin: true, Min: 1, HasMax: true, Max: 9, ExclusiveMax: true}}},
		{Schema{Type: "string", Enum: []string{"x"}, MaxLength: &few, FormatCheck: "ip"}, Type{Kind: String, Rules: &Rules{Enum: []string{"x"}, MaxLength: 3, Format: "ip"}}},
		{Schema{Type: "object"}, Type{Kind: Object}},
	} {
		table := mustCompile(t, "", map[string]*Schema{"A": {Type: "object", Properties: []Property{property("f", c.schema)}}})
		c.want.Elem = None
		if got := table.Types[table.Types[0].Fields[0].Type]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v\n gives %+v\n want  %+v", c.schema, got, c.want)
		}
	}
}

func TestListsAndMaps(t *testing.T) {
	table := mustCompile(t, "", map[string]*Schema{"A": {Type: "object", Properties: []Property{
		property("set", Schema{Type: "array", ListType: "set", Items: &Schema{Type: "string"}}),
		property("keyed", Schema{Type: "array", ListType: "map", ListMapKeys: []string{"k"}, Items: &Schema{Ref: "#/$defs/B"},
			PatchStrategy: []string{"merge", "retainKeys"}, PatchMergeKey: "k"}),
		property("plain", Schema{Type: "array", Items: &Schema{Type: "string"}, BinaryForm: "string-list", PatchStrategy: []string{"replace"}}),
		property("map", Schema{Type: "object", MapType: "atomic", Additional: &Schema{Type: "string"}}),
	}}, "B": {Type: "object", MapType: "atomic", Properties: []Property{property("k", Schema{Type: "string"})}}})
	a := table.Types[0]
	at := func(i int) Type { return table.Types[a.Fields[i].Type] }
	if at(0).ListType != ListSet || at(1).ListType != ListMap || at(1).ListKeys[0] != "k" || at(2).ListType != ListAtomic {
		t.Errorf("list types: %+v %+v %+v", at(0), at(1), at(2))
	}
	if at(2).Binary != BinaryStringList || !at(3).AtomicMap || at(3).Kind != Map || !table.Types[table.Root("B")].AtomicMap {
		t.Errorf("%+v %+v", at(2), at(3))
	}
	if a.Fields[1].Patch != PatchMerge|PatchRetainKeys || a.Fields[1].Rest().PatchKey != "k" || a.Fields[2].Patch != PatchReplace {
		t.Errorf("patch: %+v %+v", a.Fields[1], a.Fields[2])
	}
	if at(0).Elem != at(2).Elem || at(0).Elem != at(3).Elem {
		t.Error("equal anonymous types do not share a place")
	}
}

func TestAReferenceMayChangeTheMapType(t *testing.T) {
	table := mustCompile(t, "", map[string]*Schema{
		"A": {Type: "object", Properties: []Property{
			property("as", Schema{Ref: "#/$defs/B"}), property("granular", Schema{Ref: "#/$defs/B", MapType: "granular"}), property("same", Schema{Ref: "#/$defs/B", MapType: "atomic"})}},
		"B": {Type: "object", MapType: "atomic", DefaultHook: true, Properties: []Property{property("x", Schema{Type: "string"})}},
	})
	a := table.Types[0]
	as, granular, same := &table.Types[a.Fields[0].Type], &table.Types[a.Fields[1].Type], a.Fields[2].Type
	if !as.AtomicMap || granular.AtomicMap || same != a.Fields[0].Type || granular.Name != "sample/v1.B" {
		t.Errorf("%+v %+v", as, granular)
	}
	if as.Hook != 1 || granular.Hook != 1 {
		t.Errorf("the two forms have hooks %d and %d", as.Hook, granular.Hook)
	}
}

func TestTypesMayReferToEachOther(t *testing.T) {
	b := &Schema{Type: "array", Items: &Schema{Ref: "#/$defs/B"}} // a list of lists of lists …
	table := mustCompile(t, "", map[string]*Schema{
		"A": {Type: "object", DefaultHook: true, Properties: []Property{property("c", Schema{Ref: "#/$defs/C"}), property("b", Schema{Ref: "#/$defs/B"})}},
		"B": b,
		"C": {Type: "object", DefaultHook: true, Properties: []Property{property("a", Schema{Type: "object", Additional: &Schema{Ref: "#/$defs/A"}})}},
	})
	if ref := table.Root("B"); table.Types[ref].Elem != ref || table.Types[ref].Name != "sample/v1.B" {
		t.Errorf("B is %+v", table.Types[ref])
	}
	if a, c := table.Types[table.Root("A")], table.Types[table.Root("C")]; a.Hook != 1 || c.Hook != 2 {
		t.Errorf("hooks are %d and %d, want them in the order of names", a.Hook, c.Hook)
	}
}

func TestCompileIsDeterministic(t *testing.T) {
	schemas := map[string]*Schema{
		"A": {Type: "object", Properties: []Property{property("c", Schema{Ref: "#/$defs/C"}), property("n", Schema{Type: "integer"})}},
		"B": {Type: "object", Properties: []Property{property("c", Schema{Ref: "#/$defs/C"}), property("s", Schema{Type: "string"})}},
		"C": {Type: "object", Properties: []Property{property("s", Schema{Type: "string"}), property("b", Schema{Ref: "#/$defs/B"})}},
	}
	first := mustCompile(t, "AB", schemas)
	for range 10 {
		if again := mustCompile(t, "AB", schemas); !reflect.DeepEqual(first, again) {
			t.Fatalf("%+v\n%+v", first, again)
		}
	}
}

func TestCompileReportsEveryMistake(t *testing.T) {
	deep := Schema{Type: "string"}
	for range maxDepth + 1 {
		inner := deep
		deep = Schema{Type: "array", Items: &inner}
	}
	at := func(line int, s Schema) Schema { s.Pos = Position{File: "a.yaml", Line: line}; return s }
	low := 1.0
	_, err := compileSample(t, "D", map[string]*Schema{
		"A": {Type: "object", Properties: []Property{
			property("a", at(1, Schema{Ref: "#/$defs/Nowhere"})),
			property("b", at(2, Schema{Ref: "B.yaml"})),
			property("c", at(3, Schema{Type: "strng"})),
			property("d", at(4, Schema{Type: "string", Presence: "sometimes"})),
			property("e", at(5, Schema{Type: "array"})),
			property("f", at(6, Schema{Type: "array", ListType: "bag", Items: &Schema{Type: "string"}})),
			property("g", at(7, Schema{Type: "array", ListType: "map", Items: &Schema{Type: "string"}})),
			property("h", at(8, Schema{Type: "object", MapType: "solid"})),
			property("i", at(9, Schema{Type: "string", BinaryForm: "cooked"})),
			property("j", at(10, Schema{Type: "string", PatchStrategy: []string{"mix"}})),
			property("k", at(11, Schema{Type: "object", DefaultHook: true})),
			property("l", at(12, Schema{Ref: "#/$defs/B", Minimum: &low})),
			property("m", at(13, Schema{Ref: "#/$defs/C"})),
			property("n", deep),
			property("o", at(14, Schema{Type: "object", Properties: []Property{property("x", Schema{Type: "string"})}, Additional: &Schema{Type: "string"}})),
			property("p", at(15, Schema{PreserveAny: true, Properties: []Property{property("x", Schema{Type: "string"})}})),
		}},
		"B": {Type: "object"},
		"C": {Pos: Position{File: "a.yaml", Line: 16}, Ref: "#/$defs/B"},
		"D": {Pos: Position{File: "a.yaml", Line: 17}, Type: "string", DefaultHook: true, ValidateHook: true},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`a.yaml:1: $ref "#/$defs/Nowhere" points at nothing; declare the type sample/v1.Nowhere`,
		`a.yaml:2: $ref "B.yaml" has a form`, `a.yaml:3: unknown type "strng"`, `a.yaml:4: unknown x-cluster-presence "sometimes"`,
		"a.yaml:5: an array does not say what it holds", `a.yaml:6: unknown x-cluster-list-type "bag"`, "a.yaml:7: a list of type map has no keys",
		`a.yaml:8: unknown x-cluster-map-type "solid"`, `a.yaml:9: unknown x-cluster-binary-form "cooked"`, `a.yaml:10: unknown x-cluster-patch-strategy "mix"`,
		"a.yaml:11: a hook on a type without a name", "a.yaml:12: rules beside $ref have no effect", "nested more than",
		"a.yaml:14: properties beside additionalProperties", "a.yaml:15: properties beside x-cluster-preserve-unknown-fields",
		"a.yaml:16: the type sample/v1.C is nothing but a $ref", "a.yaml:17: a default hook on sample/v1.D", "a.yaml:17: a validation hook on sample/v1.D", "a.yaml:17: the kind sample/v1.D is not an object",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestCompileRefusesARootWithoutAType(t *testing.T) {
	_, err := Compile(Source{Roots: []RootName{{"A", "x/v1.A"}}})
	if want := "schema: root A names the type x/v1.A, which does not exist; declare it"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFieldAndRootLookup(t *testing.T) {
	var properties []Property
	for i := range 40 {
		properties = append(properties, property(fmt.Sprintf("f%d", (i*7)%40), Schema{Type: "string"}))
	}
	table := mustCompile(t, "", map[string]*Schema{"A": {Type: "object", Properties: properties}})
	if got := table.Types[0].Field("f40"); got != -1 {
		t.Errorf("a field that is not there is found at %d", got)
	}
	if got := table.Root("Z"); got != None {
		t.Errorf("a root that is not there is %d", got)
	}
}
