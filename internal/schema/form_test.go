package schema

import "testing"

// A form changes with the stored representation only.
func TestForm(t *testing.T) {
	base := func() *Table {
		return &Table{Types: []Type{
			{Name: "g/v1.Other", Kind: String, Elem: None},
			{Name: "g/v1.Root", Kind: Object, Elem: None, Fields: []Field{{Name: "a", Type: 2}, {Name: "b", Type: 3}, {Name: "me", Type: 1}}},
			{Kind: String, Elem: None},
			{Kind: List, Elem: 4},
			{Name: "g/v1.Item", Kind: Object, Elem: None, Hook: 3, Fields: []Field{{Name: "c", Type: 5}}},
			{Kind: Integer, Bits: 32, Elem: None},
		}}
	}
	form := base().Form(1)
	for _, c := range []struct {
		name    string
		change  func(t *Table)
		changes bool
	}{
		{"a type that is not reached", func(t *Table) { t.Types[0].Kind = Integer }, false},
		{"rules", func(t *Table) { t.Types[2].Rules = &Rules{MinLength: 1} }, false},
		{"a required member", func(t *Table) { t.Types[1].Fields[0].Required = true }, false},
		{"a number in the binary form", func(t *Table) { t.Types[1].Fields[0].Number = 7 }, false},
		{"the number of a hook", func(t *Table) { t.Types[4].Hook = 9 }, false},
		{"the name of the group", func(t *Table) { t.Types[1].Name, t.Types[4].Name = "g/v2.Root", "g/v2.Item" }, false},
		{"another place in the table", func(t *Table) {
			t.Types = append(t.Types, t.Types[5])
			t.Types[4].Fields[0].Type = 6
		}, false},
		{"a default far below", func(t *Table) { t.Types[4].Fields[0].Default = "4" }, true},
		{"presence", func(t *Table) { t.Types[4].Fields[0].Presence = Always }, true},
		{"the type of elements", func(t *Table) { t.Types[3].Elem = 5 }, true},
		{"width", func(t *Table) { t.Types[5].Bits = 64 }, true},
		{"order", func(t *Table) { f := t.Types[1].Fields; f[0], f[1] = f[1], f[0] }, true},
		{"a name", func(t *Table) { t.Types[1].Fields[0].Name = "z" }, true},
		{"a member less", func(t *Table) { t.Types[1].Fields = t.Types[1].Fields[:2] }, true},
		{"no hook", func(t *Table) { t.Types[4].Hook = 0 }, true},
		{"what a hook fills in", func(t *Table) { t.Types[4].HookRevision = 1 }, true},
		{"another hook", func(t *Table) { t.Types[4].Name = "g/v1.Thing" }, true},
	} {
		changed := base()
		changed.Types[1].Fields = append([]Field(nil), changed.Types[1].Fields...)
		c.change(changed)
		if got := changed.Form(1); (got != form) != c.changes {
			t.Errorf("%s: the form changes: %v", c.name, got != form)
		}
	}
	if base().Form(None) != "" || base().Form(6) != "" {
		t.Error("a type that is not there has a form")
	}
	if !base().Fills(1) || base().Fills(0) || base().Fills(3) != true || base().Fills(None) {
		t.Error("Fills is wrong")
	}
}
