package objects_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
)

// fillings are facts about accepted values that a schema does not have
// (testdata/full.yaml). Types are named without their group version. A key may begin with
// a kind and a slash, and is then about objects of that kind only.
type fillings struct {
	// Rounds is the number of objects of a kind, so that all members of its unions have a
	// turn. Default 1.
	Rounds map[string]int
	// Unions are types with only one member besides the listed common ones. Lists of them
	// get an element for each member, other values take turns.
	Unions map[string][]string
	// Values are for a type, or for a member: "ObjectMeta", "PodSpec.hostname".
	Values map[string]any
	// Also are elements added at the end of lists, by member.
	Also map[string][]any
	// Absent are members that are left out, with the reason.
	Absent map[string]string

	used map[string]bool // used keys, with their part
}

func readFillings(t *testing.T) *fillings {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f := fillings{used: map[string]bool{}}
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		t.Fatal(err)
	}
	return &f
}

// filler makes an object of one kind with every member that the fillings do not exclude.
type filler struct {
	*fillings
	table *schema.Table
	kind  string
	round int
	n     int            // values so far: makes them distinct
	turns map[string]int // by type: the turn of the next one
}

func newFiller(f *fillings, res *api.Resource, round int) *filler {
	return &filler{fillings: f, table: res.GV.Types(), kind: res.Kind, round: round, turns: map[string]int{}}
}

// shortName is the name of a type without group and version.
func shortName(t *schema.Type) string { return t.Name[strings.LastIndexByte(t.Name, '.')+1:] }

func lookup[V any](f *filler, part string, from map[string]V, key string) (V, bool) {
	for _, key := range []string{f.kind + "/" + key, key} {
		if v, ok := from[key]; ok {
			f.used[part+" "+key] = true
			return v, true
		}
	}
	var none V
	return none, false
}

func (f *filler) given(key string) (any, bool)       { return lookup(f, "values", f.Values, key) }
func (f *filler) union(name string) ([]string, bool) { return lookup(f, "unions", f.Unions, name) }

// unused lists the keys that no object needed.
func (f *fillings) unused() []string {
	var keys []string
	for part, of := range map[string][]string{"values": slices.Collect(maps.Keys(f.Values)), "unions": slices.Collect(maps.Keys(f.Unions)),
		"also": slices.Collect(maps.Keys(f.Also)), "absent": slices.Collect(maps.Keys(f.Absent))} {
		for _, key := range of {
			if !f.used[part+" "+key] {
				keys = append(keys, part+" "+key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// out reports whether a member is left out; an entry for the kind takes precedence.
func (f *filler) out(key string) bool {
	if _, ok := f.Values[f.kind+"/"+key]; ok {
		return false
	}
	_, out := lookup(f, "absent", f.Absent, key)
	return out
}

// clone copies a value of the file for every object.
func clone(v any) any {
	switch v := v.(type) {
	case fields:
		c := fields{}
		for name, member := range v {
			c[name] = clone(member)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, element := range v {
			c[i] = clone(element)
		}
		return c
	}
	return v
}

func (f *filler) next(prefix string) string {
	f.n++
	return fmt.Sprintf("%s%d", prefix, f.n)
}

func (f *filler) value(ref schema.Ref) any {
	t := &f.table.Types[ref]
	if t.Name != "" {
		if v, ok := f.given(shortName(t)); ok {
			return clone(v)
		}
	}
	switch t.Kind {
	case schema.Object:
		return f.members(t)
	case schema.Map:
		return fields{f.next("v"): f.value(t.Elem)}
	case schema.List:
		return f.list(t)
	}
	return f.scalar(t)
}

// members fills an object; a union gets the member whose turn it is.
func (f *filler) members(t *schema.Type) fields {
	name := shortName(t)
	common, union := f.union(name)
	var choices []string
	for i := range t.Fields {
		if union && !f.out(name+"."+t.Fields[i].Name) && !slices.Contains(common, t.Fields[i].Name) {
			choices = append(choices, t.Fields[i].Name)
		}
	}
	choice := ""
	if len(choices) > 0 {
		choice = choices[(f.round+f.turns[t.Name])%len(choices)]
		f.turns[t.Name]++
	}
	obj := fields{}
	for i := range t.Fields {
		field := &t.Fields[i]
		key := name + "." + field.Name
		if f.out(key) || union && field.Name != choice && !slices.Contains(common, field.Name) {
			continue
		}
		if v, ok := f.given(key); ok {
			obj[field.Name] = clone(v)
		} else {
			obj[field.Name] = f.value(field.Type)
		}
		if more, ok := lookup(f, "also", f.Also, key); ok {
			list, _ := obj[field.Name].([]any)
			obj[field.Name] = append(list, clone(more).([]any)...)
		}
	}
	return obj
}

func (f *filler) list(t *schema.Type) []any {
	elem := &f.table.Types[t.Elem]
	n := 1
	if elem.Kind == schema.Object {
		if common, union := f.union(shortName(elem)); union {
			f.turns[elem.Name], n = 0, 0
			for i := range elem.Fields {
				if !f.out(shortName(elem)+"."+elem.Fields[i].Name) && !slices.Contains(common, elem.Fields[i].Name) {
					n++
				}
			}
		}
	}
	list := make([]any, n)
	for i := range list {
		list[i] = f.value(t.Elem)
	}
	return list
}

func (f *filler) scalar(t *schema.Type) any {
	switch t.Kind {
	case schema.Boolean:
		return true
	case schema.Integer, schema.Number, schema.IntOrString:
		n := 2
		if r := t.Rules; r != nil && r.HasMin {
			n = max(n, int(r.Min))
		}
		if r := t.Rules; r != nil && r.HasMax {
			n = min(n, int(r.Max))
		}
		return n
	case schema.Quantity:
		return f.next("") + "Mi"
	case schema.Time:
		return "2024-02-29T12:30:00Z"
	case schema.MicroTime:
		return "2024-02-29T12:30:00.123456Z"
	case schema.Duration:
		return "1m30s"
	case schema.Bytes:
		return "AAEC/w=="
	case schema.Any:
		return fields{"apiVersion": "example.com/v1", "kind": "Any", "x": []any{1.5, "y", nil}}
	}
	if t.Rules != nil {
		if len(t.Rules.Enum) > 0 {
			return t.Rules.Enum[0]
		}
		switch t.Rules.Format {
		case "ip":
			return f.next("10.0.0.")
		case "cidr":
			return f.next("10.") + ".0.0/16"
		case "absolute-path":
			return f.next("/v")
		case "env-var-name":
			return f.next("V_")
		}
	}
	return f.next("v")
}

// cover notes the members that a value has, as "Pod.spec" does.
func cover(table *schema.Table, ref schema.Ref, value any, seen map[string]bool) {
	t := &table.Types[ref]
	switch v := value.(type) {
	case fields:
		for name, member := range v {
			if t.Kind == schema.Map {
				cover(table, t.Elem, member, seen)
			} else if i := t.Field(name); i >= 0 && t.Kind == schema.Object && member != nil {
				seen[t.Name+"."+name] = true
				cover(table, t.Fields[i].Type, member, seen)
			}
		}
	case []any:
		for _, element := range v {
			if t.Kind == schema.List {
				cover(table, t.Elem, element, seen)
			}
		}
	}
}

// reach lists the members that objects of a type should have.
func (f *fillings) reach(table *schema.Table, ref schema.Ref, all map[string]bool, visited map[schema.Ref]bool) {
	if visited[ref] {
		return
	}
	visited[ref] = true
	t := &table.Types[ref]
	if t.Elem != schema.None {
		f.reach(table, t.Elem, all, visited)
	}
	for i := range t.Fields {
		if key := shortName(t) + "." + t.Fields[i].Name; f.Absent[key] != "" {
			f.used["absent "+key] = true
			continue
		}
		all[t.Name+"."+t.Fields[i].Name] = true
		f.reach(table, t.Fields[i].Type, all, visited)
	}
}
