package load

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The numbers that the binary form can use: 1 to 2^29-1 without the range that
// its inventors reserved.
const (
	lastNumber    = 1<<29 - 1
	firstReserved = 19000
	lastReserved  = 19999
)

// check finds the mistakes that need more than one place to see.
func (r *reader) check(m *model.Model, types map[string]*model.Type) {
	for _, gv := range m.GroupVersions {
		for _, t := range gv.Types {
			if t.Schema.Description == "" {
				r.fail(t.Schema.Pos, "say in a sentence what it is for", "the type %s has no description", t.Name)
			}
			r.checkSchema(t.Schema, t, types)
		}
		if gv.Served {
			r.checkNames(gv)
		}
	}
}

func (r *reader) checkSchema(s *schema.Schema, in *model.Type, types map[string]*model.Type) {
	if s.Ref != "" {
		if id, ok := schema.ResolveRef(in.GV.Dir, s.Ref); !ok || types[id] == nil {
			r.fail(s.Pos, "declare the type or mend the reference", "$ref %q points at no type", s.Ref)
		}
	}
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			r.fail(s.Pos, "write RE2 syntax", "the pattern does not compile: %v", err)
		}
	}
	if s.ListType != "" && s.Type != "array" {
		r.fail(s.Pos, "put it beside type: array", "x-cluster-list-type on something that is not a list")
	}
	if s.PatchMergeKey != "" && !slices.Contains(s.PatchStrategy, "merge") {
		r.fail(s.Pos, "add x-cluster-patch-strategy: [merge]", "a merge key without the merge strategy")
	}
	for _, name := range s.Required {
		if !hasProperty(s, name) {
			r.fail(s.Pos, "declare the property or drop it from required", "required names %q, which is not a property", name)
		}
	}
	numbers := map[[2]int]string{}
	for _, p := range s.Properties {
		r.checkDescription(p)
		r.checkNumber(s, p, numbers)
		r.checkSchema(p.Schema, in, types)
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			r.checkSchema(part, in, types)
		}
	}
	if s.ListType == "map" {
		r.checkListKeys(s, in, types)
	}
}

func hasProperty(s *schema.Schema, name string) bool {
	return slices.ContainsFunc(s.Properties, func(p schema.Property) bool { return p.Name == name })
}

// checkDescription refuses a field without one, or with one that says nothing.
func (r *reader) checkDescription(p schema.Property) {
	text := p.Schema.Description
	if text == "" {
		r.fail(p.Pos, "say in a sentence what it is for; kubectl explain shows it", "the field %s has no description", p.Name)
		return
	}
	letters := func(s string) string {
		return strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' {
				return c
			}
			return -1
		}, strings.ToLower(s))
	}
	said := letters(text)
	for _, empty := range []string{"the", "a", "an"} {
		if said == letters(p.Name) || said == empty+letters(p.Name) {
			r.fail(p.Pos, "say what it does, its unit, what its absence means", "the description of %s only repeats its name", p.Name)
			return
		}
	}
}

func (r *reader) checkNumber(s *schema.Schema, p schema.Property, numbers map[[2]int]string) {
	n, outer := p.Schema.Binary, p.Schema.BinaryOuter
	if n == 0 {
		return
	}
	if n < 1 || n > lastNumber || n >= firstReserved && n <= lastReserved {
		r.fail(p.Pos, fmt.Sprintf("use 1 to %d without %d to %d", lastNumber, firstReserved, lastReserved), "the binary number %d of %s is out of range", n, p.Name)
	}
	key := [2]int{outer, n}
	if other := numbers[key]; other != "" {
		r.fail(p.Pos, "take the next free number; numbers are never used twice", "the binary number %d of %s belongs to %s already", n, p.Name, other)
	}
	numbers[key] = p.Name
}

// checkListKeys checks that the keys of a map-like list are scalar fields.
func (r *reader) checkListKeys(s *schema.Schema, in *model.Type, types map[string]*model.Type) {
	if len(s.ListMapKeys) == 0 {
		r.fail(s.Pos, "add x-cluster-list-map-keys", "a list of type map has no keys")
		return
	}
	item := s.Items
	if item != nil && item.Ref != "" {
		id, _ := schema.ResolveRef(in.GV.Dir, item.Ref)
		if types[id] == nil {
			return
		}
		item = types[id].Schema
	}
	for _, key := range s.ListMapKeys {
		i := -1
		if item != nil {
			i = slices.IndexFunc(item.Properties, func(p schema.Property) bool { return p.Name == key })
		}
		switch {
		case i < 0:
			r.fail(s.Pos, "name a field of the elements", "the list key %q is not a field of the elements", key)
		case slices.Contains([]string{"object", "array"}, item.Properties[i].Schema.Type) || item.Properties[i].Schema.Ref != "":
			r.fail(s.Pos, "keys are scalars", "the list key %q is not a scalar", key)
		}
	}
}

// checkNames refuses names that two resources of a group version share.
func (r *reader) checkNames(gv *model.GroupVersion) {
	kinds, short := map[string]string{}, map[string]string{}
	for _, res := range gv.Resources {
		if other := kinds[res.Kind]; other != "" {
			r.fail(res.Pos, "rename one of them", "%s and %s have the same kind %s", other, res.Plural, res.Kind)
		}
		kinds[res.Kind] = res.Plural
		for _, name := range res.ShortNames {
			if other := short[name]; other != "" {
				r.fail(res.Pos, "choose another", "the short name %s belongs to %s already", name, other)
			}
			short[name] = res.Plural
		}
	}
}

// checkCompiled finds the mistakes that the compiled tables show: paths that no
// field has, defaults that do not fit.
func (r *reader) checkCompiled(m *model.Model) {
	for _, gv := range m.GroupVersions {
		for _, t := range gv.Types {
			r.checkDefaults(t.Schema, gv)
			if ref := gv.Table.Root(t.Name); endless(gv.Table, ref, map[schema.Ref]bool{}) {
				r.fail(t.Schema.Pos, "make one of the fields on the way optional", "every %s must hold another %s, without end", t.Name, t.Name)
			}
		}
		for _, res := range gv.Resources {
			root := gv.Table.Root(res.Type.Name)
			for _, c := range res.Columns {
				if c.Path != "" && !hasPath(gv.Table, root, c.Path) {
					r.fail(c.Pos, "mend the path", "the column %q shows %s, which %s does not have", c.Name, c.Path, res.Kind)
				}
			}
			for _, f := range res.Selectable {
				if f.Path != "" && !hasPath(gv.Table, root, f.Path) {
					r.fail(f.Pos, "mend the path", "the selectable field %q is at %s, which %s does not have", f.Name, f.Path, res.Kind)
				}
			}
			for _, sub := range res.Subresources {
				for _, path := range []string{sub.SpecReplicas, sub.StatusReplicas, sub.Selector} {
					if path != "" && !hasPath(gv.Table, root, path) {
						r.fail(sub.Pos, "mend the path", "the scale of %s uses %s, which %s does not have", res.Plural, path, res.Kind)
					}
				}
			}
		}
	}
}

// endless reports whether an object of the type can have no end: each one needs
// another inside it.
func endless(t *schema.Table, ref schema.Ref, above map[schema.Ref]bool) bool {
	if ref < 0 || t.Types[ref].Kind != schema.Object {
		return false
	}
	if above[ref] {
		return true
	}
	above[ref] = true
	defer delete(above, ref)
	for _, f := range t.Types[ref].Fields {
		if f.Presence == schema.Always && endless(t, f.Type, above) {
			return true
		}
	}
	return false
}

func hasPath(t *schema.Table, ref schema.Ref, path string) bool {
	rest, ok := strings.CutPrefix(path, ".")
	if !ok {
		return false
	}
	for _, name := range strings.Split(rest, ".") {
		switch t.Types[ref].Kind {
		case schema.Map:
			ref = t.Types[ref].Elem
		case schema.Object:
			i := t.Types[ref].Field(name)
			if i < 0 {
				return false
			}
			ref = t.Types[ref].Fields[i].Type
		case schema.Any:
			return true
		default:
			return false
		}
	}
	return true
}
