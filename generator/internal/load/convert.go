package load

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// convert plans the conversion of a resource that is stored in another version.
// Where copying would lose something the document has to carry it, or to name the hook.
func (d *documents) convert(s stored) {
	res := s.res
	own := d.tableType(res.GV.Table, res.Type)
	as := d.tableType(res.StoredAs.GV.Table, res.StoredAs.Type)
	if path, here, there := own.otherKeys(as, "", map[[2]schema.Ref]bool{}); path != "" {
		d.fail(s.pos, "give the list the same keys in all versions", "the list %s of %s is %s here, and %s at %s: its elements would change their owners", path,
			res.Plural, here, there, res.StoredAs.Pos)
	}
	c := &model.Conversion{Same: own.same(as, map[[2]schema.Ref]bool{})}
	var there, back []string
	if !c.Same {
		c.To, there = own.plan(as, "", map[[2]schema.Ref]bool{})
		c.From, back = as.plan(own, "", map[[2]schema.Ref]bool{})
		c.To, c.From = c.To[2:], c.From[2:] // without kind and apiVersion
		there, back = d.carry(s, c, there, back)
	}
	c.Hook = len(there)+len(back) > 0
	switch {
	case c.Hook && !s.converts:
		var lost []string
		if len(there) > 0 {
			lost = append(lost, "would lose "+strings.Join(there, ", "))
		}
		switch {
		case len(back) > 0 && len(there) > 0:
			lost = append(lost, "the way back "+strings.Join(back, ", "))
		case len(back) > 0:
			lost = append(lost, "would lose "+strings.Join(back, ", ")+" on the way back")
		}
		fix := "give these fields one name and type, say x-cluster-renamed-from in the newer version, "
		if all := slices.Concat(there, back); !strings.Contains(all[0], "[") {
			fix += "carry them in an annotation (carries: [." + all[0] + "]), "
		}
		place := "as a method of your hooks"
		if d.module == "" {
			place = "in server/internal/kinds/conversion"
		}
		d.failOf(model.Unconverted{Plural: res.Plural, Lost: slices.Concat(there, back)}, s.pos,
			fix+"or write hooks: [convert] and then the conversion "+place,
			"converting %s to %s %s", res.Plural, s.as,
			strings.Join(lost, ", and "))
	case s.converts && !c.Hook:
		d.fail(s.pos, "remove convert from hooks", "copying converts all of %s to %s and back", res.Plural, s.as)
	}
	res.Conversion = c
}

// carry takes the fields that only one version has, and that the resource says to carry,
// from those that copying loses.
func (d *documents) carry(s stored, c *model.Conversion, there, back []string) (stillThere, stillBack []string) {
	for _, path := range s.res.Carries {
		name, dotted := strings.CutPrefix(path, ".")
		here, stored := slices.Index(there, name), slices.Index(back, name)
		switch {
		case !dotted || here < 0 && stored < 0:
			d.failOf(model.Carried{Plural: s.res.Plural, Path: path}, s.pos, "name a field that one of the versions lacks, as .spec.size; remove it if both have it",
				"%s carries %s, which no conversion loses", s.res.Plural, path)
		case here >= 0 && stored >= 0:
			d.failOf(model.Carried{Plural: s.res.Plural, Path: path}, s.pos, "give one of them another name",
				"%s carries %s, which both versions have, of two types", s.res.Plural, path)
		case here >= 0:
			c.OnlyHere, there = append(c.OnlyHere, name), slices.Delete(there, here, here+1)
		default:
			c.OnlyInStored, back = append(c.OnlyInStored, name), slices.Delete(back, stored, stored+1)
		}
	}
	return there, back
}

// tableType is a type in its table, with its schema; nil for kind and apiVersion.
type tableType struct {
	d     *documents
	table *schema.Table
	ref   schema.Ref
	s     *schema.Schema
	dir   string
}

func (d *documents) tableType(table *schema.Table, t *model.Type) tableType {
	return tableType{d, table, table.Root(t.Name), t.Schema, t.GV.Dir}
}

func (p tableType) typ() *schema.Type { return &p.table.Types[p.ref] }

// at is the type of a part that a schema describes.
func (p tableType) at(ref schema.Ref, s *schema.Schema) tableType {
	p.ref, p.s = ref, s
	for p.s != nil && p.s.Ref != "" {
		id, _ := schema.ResolveRef(p.dir, p.s.Ref)
		t := p.d.types[id]
		p.s, p.dir = t.Schema, t.GV.Dir
	}
	return p
}

// elem is the type of the elements of a list or a map.
func (p tableType) elem() tableType {
	var s *schema.Schema
	if p.s != nil {
		if s = p.s.Items; s == nil {
			s = p.s.Additional
		}
	}
	return p.at(p.typ().Elem, s)
}

func (p tableType) field(i int) (tableType, string) {
	f := &p.typ().Fields[i]
	if property := p.property(f.Name); property != nil {
		return p.at(f.Type, property.Schema), f.Name
	}
	return p.at(f.Type, nil), f.Name
}

func (p tableType) property(name string) *schema.Property {
	if p.s == nil {
		return nil
	}
	return propertyOf(p.s, name)
}

// renamed reports whether a field has another one as its earlier name.
func (p tableType) renamed(name, from string) bool {
	property := p.property(name)
	if property == nil || !slices.Contains(property.Schema.RenamedFrom, from) {
		return false
	}
	p.d.moved[property.Schema] = true
	return true
}

// counterpart finds the name of a field in another type: that which was renamed from it, or
// from which it was renamed, else the same; "" if that one lacks it.
func (p tableType) counterpart(name string, o tableType) string {
	for _, f := range o.typ().Fields {
		if o.renamed(f.Name, name) {
			return f.Name
		}
	}
	if property := p.property(name); property != nil {
		for _, from := range property.Schema.RenamedFrom {
			if o.typ().Field(from) >= 0 {
				p.d.moved[property.Schema] = true
				return from
			}
		}
	}
	taken := func(of tableType, by tableType) bool { // the field of that name is the counterpart of another
		for _, f := range by.typ().Fields {
			if by.renamed(f.Name, name) || of.renamed(name, f.Name) {
				return true
			}
		}
		return false
	}
	if o.typ().Field(name) < 0 || taken(o, p) {
		return ""
	}
	return name
}

// same reports whether every value has the same canonical text as a value of the other
// type, and the same alternatives.
func (p tableType) same(o tableType, seen map[[2]schema.Ref]bool) bool {
	key := [2]schema.Ref{p.ref, o.ref}
	if p.ref < 0 || o.ref < 0 || seen[key] {
		return p.ref < 0 == (o.ref < 0)
	}
	seen[key] = true
	a, b := p.typ(), o.typ()
	if a.Kind != b.Kind || a.Bits != b.Bits || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		f, g := &a.Fields[i], &b.Fields[i]
		from, _ := p.field(i)
		to, _ := o.field(i)
		if f.Name != g.Name || f.Presence != g.Presence || p.counterpart(f.Name, o) != f.Name || !from.same(to, seen) {
			return false
		}
	}
	return !hasElem(a) || p.elem().same(o.elem(), seen)
}

// fits reports whether every value can be read as one of the other type, and
// nothing of it is lost.
func (p tableType) fits(o tableType, seen map[[2]schema.Ref]bool) bool {
	key := [2]schema.Ref{p.ref, o.ref}
	if p.ref < 0 || o.ref < 0 || seen[key] {
		return p.ref < 0 == (o.ref < 0)
	}
	seen[key] = true
	a, b := p.typ(), o.typ()
	if a.Kind != b.Kind || a.Bits > b.Bits {
		return false
	}
	for i := range a.Fields {
		from, name := p.field(i)
		if p.counterpart(name, o) != name {
			return false
		}
		if to, _ := o.field(b.Field(name)); !from.fits(to, seen) {
			return false
		}
	}
	return !hasElem(a) || p.elem().fits(o.elem(), seen)
}

// otherKeys finds a list that two types tell the elements of in different ways.
func (p tableType) otherKeys(o tableType, path string, seen map[[2]schema.Ref]bool) (at, here, there string) {
	key := [2]schema.Ref{p.ref, o.ref}
	if p.ref < 0 || o.ref < 0 || seen[key] {
		return "", "", ""
	}
	seen[key] = true
	a, b := p.typ(), o.typ()
	if a.Kind != b.Kind {
		return "", "", ""
	}
	if here, there = listWords(a), listWords(b); here != there && here != "" && there != "" {
		return strings.TrimPrefix(path, "."), here, there
	}
	for i := range a.Fields {
		from, name := p.field(i)
		if j := b.Field(name); j >= 0 {
			to, _ := o.field(j)
			if at, here, there = from.otherKeys(to, path+"."+name, seen); at != "" {
				return at, here, there
			}
		}
	}
	if hasElem(a) {
		return p.elem().otherKeys(o.elem(), path, seen)
	}
	return "", "", ""
}

// listWords says how owned elements of a list are told apart; "" where the list has one
// owner, and for other types.
func listWords(t *schema.Type) string {
	switch {
	case t.Kind != schema.List:
		return ""
	case t.ListType == schema.ListSet:
		return "a set"
	case t.ListType == schema.ListMap:
		return "a map by " + strings.Join(t.ListKeys, ", ")
	}
	return ""
}

func hasElem(t *schema.Type) bool { return t.Kind == schema.List || t.Kind == schema.Map }

// plan lists the fields of an object that are copied into one of another type, and the
// paths of those that are lost. A type that holds itself is copied as a whole, or lost.
func (p tableType) plan(o tableType, path string, seen map[[2]schema.Ref]bool) (copies []model.Copy, lost []string) {
	key := [2]schema.Ref{p.ref, o.ref}
	if seen[key] {
		return nil, []string{strings.TrimSuffix(path, ".")}
	}
	seen[key] = true
	defer delete(seen, key)
	for i := range p.typ().Fields {
		from, name := p.field(i)
		as := p.counterpart(name, o)
		if as == "" {
			lost = append(lost, path+name)
			continue
		}
		c := model.Copy{Name: as}
		if as != name {
			c.From = name
		}
		to, _ := o.field(o.typ().Field(as))
		below, source, target := path+name+".", from, to
		if c.Each = hasElem(from.typ()) && from.typ().Kind == to.typ().Kind; c.Each {
			below, source, target = path+name+"[].", from.elem(), to.elem()
		}
		switch {
		case from.fits(to, map[[2]schema.Ref]bool{}):
			c.Each = false
			copies = append(copies, c)
		case source.ref >= 0 && target.ref >= 0 && source.typ().Kind == schema.Object && target.typ().Kind == schema.Object:
			var less []string
			c.Below, less = source.plan(target, below, seen)
			copies, lost = append(copies, c), append(lost, less...)
		default:
			lost = append(lost, path+name)
		}
	}
	return copies, lost
}

// checkRenames refuses earlier names that no other version has. The conversions of each release show it.
func (d *documents) checkRenames() {
	if d.every {
		return
	}
	for _, gv := range d.model.GroupVersions {
		for _, t := range gv.Types {
			eachSchema(t.Schema, true, func(s *schema.Schema, _ bool) {
				for _, p := range s.Properties {
					if p.Schema.RenamedFrom != nil && !d.moved[p.Schema] {
						d.failOf(model.Missing{}, d.at(p.Schema, "x-cluster-renamed-from"), "write the name that the field has in another version of the kind, or remove it",
							"%s was renamed from %s, which no other version has", p.Name, strings.Join(p.Schema.RenamedFrom, ", "))
					}
				}
			})
		}
	}
}
