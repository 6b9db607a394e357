package schema

import "sort"

// ordered puts the types of a table in the order of a depth-first walk from its
// roots, and leaves out those that no root reaches. place has the new Ref of each type.
func ordered(t *Table) (out *Table, place []Ref) {
	place = make([]Ref, len(t.Types))
	for i := range place {
		place[i] = None
	}
	var types []Type
	// A stack instead of recursion: chains of types may be long.
	var todo []Ref
	for _, root := range t.Roots {
		todo = append(todo, root.Type)
		for len(todo) > 0 {
			ref := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if ref == None || place[ref] != None {
				continue
			}
			place[ref] = Ref(len(types))
			from := &t.Types[ref]
			types = append(types, *from)
			for i := len(from.Fields) - 1; i >= 0; i-- {
				todo = append(todo, from.Fields[i].Type)
			}
			todo = append(todo, from.Elem)
		}
	}
	out = &Table{Group: t.Group, Version: t.Version, Types: types}
	for i := range types {
		if elem := types[i].Elem; elem != None {
			types[i].Elem = place[elem]
		}
		for j := range types[i].Fields {
			f := &types[i].Fields[j]
			f.Type = place[f.Type]
		}
	}
	for i := range types {
		for j := range types[i].Fields {
			out.Outdated = out.Outdated || types[i].Fields[j].Rest().Outdated
		}
	}
	for _, root := range t.Roots {
		out.Roots = append(out.Roots, Root{Name: root.Name, Type: place[root.Type], Form: root.Form})
	}
	return out, place
}

// NumberHooks numbers the hooks of types, each kind of hook in the order of the types' names. Two forms of one type, and one
// type in several tables, share their hooks.
func NumberHooks(tables ...*Table) {
	for _, of := range []func(*Type) *uint16{func(typ *Type) *uint16 { return &typ.Hook }, func(typ *Type) *uint16 { return &typ.Check },
		func(typ *Type) *uint16 { return &typ.Skip }} {
		numberHook(tables, of)
	}
}

func numberHook(tables []*Table, of func(*Type) *uint16) {
	var hooked []*Type
	for _, t := range tables {
		for i := range t.Types {
			if *of(&t.Types[i]) != 0 {
				hooked = append(hooked, &t.Types[i])
			}
		}
	}
	sort.SliceStable(hooked, func(i, j int) bool { return hooked[i].Name < hooked[j].Name })
	number := uint16(0)
	for i, typ := range hooked {
		if i == 0 || typ.Name != hooked[i-1].Name {
			number++
		}
		*of(typ) = number
	}
}
