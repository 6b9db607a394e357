package document

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// untyped reports whether a type does not restrict its values.
func (p *parser) untyped(typ schema.Ref) bool {
	if typ < 0 {
		return true
	}
	t := &p.table.Types[typ]
	return t.Kind == schema.Any && !t.Either() && t.Values == nil
}

// either reads a value that is an object of a type or something else. Its node gets the
// type of the object; a value read back from the store has no type, since nothing needs
// it there.
//
// Unknown fields below are dropped without a problem, and duplicate ones count as untyped:
// 1.25 sees them in YAML only, and definitions in use have some.
func (p *parser) either(n int32, t *schema.Type) error {
	reported := len(p.problems)
	var err error
	switch c := p.buf[p.pos]; {
	case c == '{':
		p.d.nodes[n].typ = t.Elem
		err = p.object(n, t.Elem, Value{})
	case c == '[' && t.Binary == schema.BinaryObjectOrList:
		err = p.list(n, t.Elem, Value{})
	case c == '[' && t.Binary == schema.BinaryObjectOrStrings, (c == 't' || c == 'f') && t.Binary == schema.BinaryObjectOrBoolean:
		err = p.other(n, t)
	default:
		if err = p.token(n); err == nil && p.d.nodes[n].kind != Null {
			err = p.mismatch(n, t)
		}
	}
	p.problems = append(p.problems[:reported], slices.DeleteFunc(p.problems[reported:], func(found Problem) bool { return !found.Duplicate })...)
	for i := range p.problems[reported:] {
		p.problems[reported+i].Untyped = true
	}
	return err
}

// other reads the alternative to an object: a boolean or a list of strings.
func (p *parser) other(n int32, t *schema.Type) error {
	if err := p.any(n); err != nil {
		return err
	}
	for _, v := range (Value{p.d, n}).Elements() {
		if v.Kind() != String {
			return p.mismatch(v.n, t)
		}
	}
	return nil
}
