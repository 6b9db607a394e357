package compat

import (
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Usable judges schemas of documents by the values of all sorts that a comparison tries too.
type Usable struct{ shapes builder }

// NewUsable judges the schemas of a model.
func NewUsable(m *model.Model) *Usable {
	return &Usable{builder{types: model.TypesByID(m.GroupVersions), done: map[*schema.Schema]*shape{}}}
}

// Never reports whether no value keeps a schema of a type, if that can be seen.
func (u *Usable) Never(s *schema.Schema, in *model.Type) bool {
	t := u.shapes.usage(s, in).shape
	if slices.ContainsFunc(sortsOf(t.inline()), (*logic).strange) {
		return false
	}
	y := &trial{}
	return len(y.of(t, nil)) == 0 && !y.unsure
}

// Takes reports whether a schema of a type allows a text, as far as its own keywords say.
func (u *Usable) Takes(s *schema.Schema, in *model.Type, text string) bool {
	return u.shapes.usage(s, in).inline().holds(text)
}

// Idle is a schema in a schema that refuses nothing, or that no value is of.
type Idle struct {
	Pos        schema.Position
	What, Mend string
	Always     bool // nothing is refused; else no value is of it
}

// Idle finds the schemas in allOf, anyOf, oneOf, not and if that make no difference, or that no
// value can be of.
func (u *Usable) Idle(s *schema.Schema, in *model.Type) (found []Idle) {
	f := s.Further
	if f == nil {
		return nil
	}
	for i, part := range f.AllOf {
		rest := u.judge(s, in, func(f *schema.Further) { f.AllOf = slices.Delete(slices.Clone(f.AllOf), i, i+1) }, part)
		if rest.sure && !rest.has(0, false) {
			found = append(found, Idle{part.Pos, "every value keeps this part of allOf anyway", "drop it, or make it tighter", true})
		}
	}
	found = append(found, u.alternatives(s, in, "anyOf", f.AnyOf, func(f *schema.Further) { f.AnyOf = nil })...)
	found = append(found, u.alternatives(s, in, "oneOf", f.OneOf, func(f *schema.Further) { f.OneOf = nil })...)
	if f.Not != nil {
		if rest := u.judge(s, in, func(f *schema.Further) { f.Not = nil }, f.Not); rest.sure && !rest.has(0, true) {
			found = append(found, Idle{f.Not.Pos, "no value is what not refuses", "drop it, or make it wider", true})
		}
	}
	if f.If != nil {
		rest := u.judge(s, in, func(f *schema.Further) { f.If, f.Then, f.Else = nil, nil, nil }, f.If)
		switch {
		case !rest.sure:
		case !rest.has(0, true):
			found = append(found, Idle{f.If.Pos, "no value is what if asks for, so then is never asked", "drop it, or make it wider", false})
		case !rest.has(0, false):
			found = append(found, Idle{f.If.Pos, "every value is what if asks for", "write the schema of then in allOf", true})
		}
	}
	return found
}

// wider are the remedies for a branch whose values are all of another one.
var wider = map[string]string{"anyOf": "drop one of them", "oneOf": "write anyOf, or let the branches exclude each other: a value of two of them is refused"}

// alternatives finds the branches of anyOf or oneOf that are never needed.
func (u *Usable) alternatives(s *schema.Schema, in *model.Type, keyword string, all []*schema.Schema, drop func(*schema.Further)) (found []Idle) {
	if len(all) == 0 {
		return nil
	}
	rest := u.judge(s, in, drop, all...)
	if !rest.sure {
		return nil
	}
	for i, branch := range all {
		n := fmt.Sprintf("branch %d of %s", i+1, keyword)
		if !rest.has(i, true) {
			found = append(found, Idle{branch.Pos, "no value is of " + n, "drop it, or make it wider", false})
			continue
		}
		j := slices.IndexFunc(all, func(other *schema.Schema) bool {
			at := slices.Index(all, other)
			return at != i && rest.within(i, at) && !(keyword == "anyOf" && at > i && rest.within(at, i))
		})
		if j >= 0 {
			found = append(found, Idle{branch.Pos, fmt.Sprintf("every value of %s is of branch %d too", n, j+1), wider[keyword], keyword == "anyOf"})
		}
	}
	return found
}

// verdicts are those of some schemas about the values of a schema.
type verdicts struct {
	sure bool
	rows [][]bool // of each value, by schemas
}

// judge asks parts of a schema about the values that the schema allows without a part of its keywords.
func (u *Usable) judge(s *schema.Schema, in *model.Type, without func(*schema.Further), parts ...*schema.Schema) verdicts {
	rest, more := *s, *s.Further
	without(&more)
	rest.Further = &more
	t := u.shapes.usage(&rest, in).shape
	asked := logics(parts)
	p := sortsOf(asked...)
	if slices.ContainsFunc(append(sortsOf(t.inline()), p...), (*logic).strange) {
		return verdicts{}
	}
	y := &trial{}
	values := y.of(t, p)
	a := verdicts{sure: !y.unsure && len(values) > 0}
	for _, v := range values {
		row := make([]bool, len(asked))
		for i, l := range asked {
			row[i] = l.holds(v)
		}
		a.rows = append(a.rows, row)
	}
	return a
}

// has reports whether a schema gave an answer.
func (a verdicts) has(i int, answer bool) bool {
	return slices.ContainsFunc(a.rows, func(row []bool) bool { return row[i] == answer })
}

// within reports whether every value of one schema is of another one.
func (a verdicts) within(i, j int) bool {
	return !slices.ContainsFunc(a.rows, func(row []bool) bool { return row[i] && !row[j] })
}
