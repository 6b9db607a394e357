package patch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// generator makes random objects of a type, and patches that fit them.
type generator struct {
	random *rand.Rand
	table  *schema.Table
}

func (g generator) pick(n int) int   { return g.random.IntN(n) }
func (g generator) often(n int) bool { return g.pick(n) > 0 } // all but one of n
func (g generator) rare(n int) bool  { return g.pick(n) == n-1 }
func (g generator) text() string     { return string(rune('a' + g.pick(6))) }

// distinct is a list of up to n different small numbers, in any order.
func (g generator) distinct(n int) []int {
	return g.random.Perm(6)[:g.pick(n+1)]
}

// value is a random value of a type. nulls adds some where a patch may have them.
func (g generator) value(typ schema.Ref, depth int, nulls bool) any {
	if typ == schema.None {
		return g.anything(depth)
	}
	switch t := &g.table.Types[typ]; t.Kind {
	case schema.String:
		return g.text()
	case schema.Integer:
		return g.pick(5)
	case schema.Map:
		m := map[string]any{}
		for _, n := range g.distinct(3) {
			m[string(rune('a'+n))] = g.value(t.Elem, depth+1, nulls)
		}
		return m
	case schema.Object:
		return g.object(typ, depth, nulls)
	case schema.List:
		return g.list(t.Elem, depth, nulls, true)
	}
	return g.anything(depth)
}

func (g generator) anything(depth int) any {
	switch n := g.pick(5); {
	case n == 0 && depth < 4:
		return map[string]any{g.text(): g.anything(depth + 1), g.text(): g.anything(depth + 1)}
	case n == 1 && depth < 4:
		return []any{g.anything(depth + 1)}
	case n == 2:
		return g.pick(3)
	case n == 3:
		return true
	}
	return g.text()
}

func (g generator) object(typ schema.Ref, depth int, nulls bool) map[string]any {
	m := map[string]any{}
	for _, f := range g.table.Types[typ].Fields {
		switch {
		case f.Name == "keyless":
		case f.Name == "name" || f.Name == "port":
			m[f.Name] = g.value(f.Type, depth, false)
		case depth > 2 || g.rare(3):
		case nulls && g.rare(4):
			m[f.Name] = nil
		default:
			m[f.Name] = g.value(f.Type, depth+1, nulls)
		}
	}
	return m
}

// list makes a list whose elements differ in their keys; twice permits repeated ports.
func (g generator) list(elem schema.Ref, depth int, nulls, twice bool) []any {
	list := []any{}
	for _, n := range g.distinct(4) {
		list = append(list, g.element(elem, n, depth, nulls))
		if twice && elem == portType && g.rare(4) {
			list = append(list, g.element(elem, n, depth, nulls))
		}
	}
	return list
}

func (g generator) element(elem schema.Ref, key, depth int, nulls bool) any {
	switch elem {
	case textType:
		return string(rune('a' + key))
	case numberType:
		return key
	}
	o := g.object(elem, depth+1, nulls)
	if elem == portType {
		o["port"] = key
	} else {
		o["name"] = string(rune('a' + key))
	}
	return o
}

// patch makes a patch for an existing object.
func (g generator) patch(typ schema.Ref, cur map[string]any, depth int) map[string]any {
	p := map[string]any{}
	t := &g.table.Types[typ]
	if depth > 0 && g.rare(12) {
		if g.rare(2) {
			return map[string]any{"$patch": "delete"}
		}
		p, _ = g.value(typ, 2, false).(map[string]any)
		p["$patch"] = "replace"
		return p
	}
	if t.Kind == schema.Map {
		for _, n := range g.distinct(3) {
			name := string(rune('a' + n))
			p[name] = g.change(rule{typ: t.Elem}, cur[name], depth)
		}
		return p
	}
	for _, f := range t.Fields {
		if f.Name == "name" || f.Name == "port" || f.Name == "keyless" || g.rare(2) {
			continue
		}
		r := rule{f.Type, f.Patch, f.Rest().PatchKey}
		if f.Patch&schema.PatchMerge != 0 {
			g.listChange(p, f.Name, r, cur[f.Name], depth)
		} else {
			p[f.Name] = g.change(r, cur[f.Name], depth)
		}
	}
	if depth > 0 && g.rare(5) {
		retain := []any{}
		for name, v := range p {
			if v != nil && name[0] != '$' {
				retain = append(retain, name)
			}
		}
		for _, f := range t.Fields {
			if g.rare(2) {
				retain = append(retain, f.Name)
			}
		}
		retain = append(retain, "name", "port")
		p["$retainKeys"] = retain
	}
	return p
}

// change makes a patch for one value.
func (g generator) change(r rule, cur any, depth int) any {
	if g.rare(6) {
		return nil
	}
	old, isMap := cur.(map[string]any)
	if isMap && r.typ != schema.None && r.strategy&schema.PatchReplace == 0 {
		switch g.table.Types[r.typ].Kind {
		case schema.Object, schema.Map:
			return g.patch(r.typ, old, depth+1)
		}
	}
	value := g.value(r.typ, depth+1, !isMap)
	if cur == nil && g.rare(2) {
		value = g.directed(value)
	}
	return value
}

// directed adds $patch to some objects of a value that the object does not have.
func (g generator) directed(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = g.directed(v[name])
		}
		if g.rare(4) {
			v["$patch"] = []any{"replace", "delete", "merge", "other"}[g.pick(4)]
		}
	case []any:
		for i := range v {
			v[i] = g.directed(v[i])
		}
	}
	return value
}

// listChange adds to p the patch of a list that merges.
func (g generator) listChange(p map[string]any, name string, r rule, cur any, depth int) {
	if g.rare(8) {
		p[name] = nil
		return
	}
	elem := g.table.Types[r.typ].Elem
	old, _ := cur.([]any)
	keys := g.distinct(5)
	ordered := g.rare(2)
	if len(keys) == 0 && len(old) == 0 {
		return // the reference refuses to compare nothing with nothing
	}
	list := []any{}
	if g.often(4) {
		replace := cur != nil && r.key != "" && g.rare(10)
		for _, key := range keys {
			if replace {
				list = append(list, g.element(elem, key, depth+2, true))
				continue
			}
			list = append(list, g.listElement(elem, r.key, key, old, depth))
			if elem == portType && !ordered && g.rare(6) {
				list = append(list, g.element(elem, key, depth+2, false))
			}
		}
		if replace {
			list = slices.Insert(list, 0, any(map[string]any{"$patch": "replace"})) // the reference refuses it after the last ordered one
		}
		p[name] = list
	}
	if ordered && len(keys) > 0 && len(list)+len(old) > 0 {
		order := []any{}
		others := g.distinct(3)
		for _, key := range keys {
			for len(others) > 0 && g.rare(2) {
				if !slices.Contains(keys, others[0]) {
					order = append(order, keyElement(elem, others[0]))
				}
				others = others[1:]
			}
			order = append(order, keyElement(elem, key))
		}
		p["$setElementOrder/"+name] = order
	}
	if r.key == "" && cur != nil && (p[name] == nil || ordered) && len(old) > 0 && g.rare(3) {
		gone := []any{}
		for _, key := range g.distinct(3) {
			gone = append(gone, keyElement(elem, key))
		}
		p["$deleteFromPrimitiveList/"+name] = gone
	}
}

// listElement is an element of a patch with that key: a change of the element in the
// current list, its deletion, or a new element.
func (g generator) listElement(elem schema.Ref, key string, n int, old []any, depth int) any {
	if key == "" {
		return keyElement(elem, n)
	}
	id := keyElement(elem, n).(map[string]any)
	for _, v := range old {
		o := v.(map[string]any)
		if fmt.Sprint(o[key]) != fmt.Sprint(id[key]) {
			continue
		}
		if g.rare(5) {
			return map[string]any{"$patch": "delete", key: id[key]}
		}
		p := g.patch(elem, o, depth+1)
		if p["$patch"] != nil { // means the list here, see $patch: replace above
			return id
		}
		p[key] = id[key]
		return p
	}
	return g.element(elem, n, depth+1, true)
}

func keyElement(elem schema.Ref, n int) any {
	switch elem {
	case textType:
		return string(rune('a' + n))
	case numberType:
		return n
	case portType:
		return map[string]any{"port": n}
	}
	return map[string]any{"name": string(rune('a' + n))}
}
