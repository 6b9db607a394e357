package load

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// convert plans the conversion of a resource that is stored in another version.
// Where copying would lose something the document has to name the hook.
func (d *documents) convert(s stored) {
	res := s.res
	own := tableType{res.GV.Table, res.GV.Table.Root(res.Type.Name)}
	as := tableType{res.StoredAs.GV.Table, res.StoredAs.GV.Table.Root(res.StoredAs.Type.Name)}
	if path, here, there := own.otherKeys(as, "", map[[2]schema.Ref]bool{}); path != "" {
		d.fail(s.pos, "give the list the same keys in all versions", "the list %s of %s is %s here, and %s at %s: its elements would change their owners", path, res.Plural, here, there, res.StoredAs.Pos)
	}
	c := &model.Conversion{Same: own.same(as, map[[2]schema.Ref]bool{})}
	var there, back []string
	if !c.Same {
		c.To, there = own.plan(as, "")
		c.From, back = as.plan(own, "")
		c.To, c.From = c.To[2:], c.From[2:] // without kind and apiVersion
	}
	c.Hook = len(there)+len(back) > 0
	switch {
	case c.Hook && !s.converts:
		var lost []string
		if len(there) > 0 {
			lost = append(lost, "would lose "+strings.Join(there, ", "))
		}
		if len(back) > 0 {
			lost = append(lost, "the way back "+strings.Join(back, ", "))
		}
		d.fail(s.pos, "give these fields one name and type, or write hooks: [convert] and then the conversion in server/internal/conversion", "converting %s to %s %s", res.Plural, s.as, strings.Join(lost, ", and "))
	case s.converts && !c.Hook:
		d.fail(s.pos, "remove convert from hooks", "copying converts all of %s to %s and back", res.Plural, s.as)
	}
	res.Conversion = c
}

// tableType is a type in its table.
type tableType struct {
	table *schema.Table
	ref   schema.Ref
}

func (p tableType) typ() *schema.Type           { return &p.table.Types[p.ref] }
func (p tableType) at(ref schema.Ref) tableType { return tableType{p.table, ref} }
func (p tableType) field(i int) (tableType, string) {
	f := &p.typ().Fields[i]
	return p.at(f.Type), f.Name
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
		if f.Name != g.Name || f.Presence != g.Presence || !p.at(f.Type).same(o.at(g.Type), seen) {
			return false
		}
	}
	return !hasElem(a) || p.at(a.Elem).same(o.at(b.Elem), seen)
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
		f := &a.Fields[i]
		if j := b.Field(f.Name); j < 0 || !p.at(f.Type).fits(o.at(b.Fields[j].Type), seen) {
			return false
		}
	}
	return !hasElem(a) || p.at(a.Elem).fits(o.at(b.Elem), seen)
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
		return p.at(a.Elem).otherKeys(o.at(b.Elem), path, seen)
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
// paths of those that are lost.
func (p tableType) plan(o tableType, path string) (copies []model.Copy, lost []string) {
	for i := range p.typ().Fields {
		from, name := p.field(i)
		j := o.typ().Field(name)
		if j < 0 {
			lost = append(lost, path+name)
			continue
		}
		to, _ := o.field(j)
		switch {
		case from.fits(to, map[[2]schema.Ref]bool{}):
			copies = append(copies, model.Copy{Name: name})
		case from.typ().Kind == schema.Object && to.typ().Kind == schema.Object:
			below, less := from.plan(to, path+name+".")
			copies, lost = append(copies, model.Copy{Name: name, Below: below}), append(lost, less...)
		default:
			lost = append(lost, path+name)
		}
	}
	return copies, lost
}
