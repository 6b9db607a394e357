package document

import (
	"bytes"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// ownPrefix begins the extensions of JSON Schema in this repository's documents. The schemas
// in definitions of custom resources have fields for extensions with the prefix of the
// profile (x-kubernetes-list-type), and take both spellings.
const ownPrefix = "x-cluster-"

// spelled returns the field for an extension in the spelling of the documents, or -1. A custom
// resource may have members of any name.
func (p *parser) spelled(t *schema.Type, name []byte) int {
	if p.table == nil || p.table.Custom {
		return -1
	}
	return spelled(t, string(name))
}

func spelled(t *schema.Type, name string) int {
	rest, ok := strings.CutPrefix(name, ownPrefix)
	if !ok || t.Field(name) >= 0 {
		return -1
	}
	for i := range t.Fields {
		if prefix, ok := strings.CutSuffix(t.Fields[i].Name, "-"+rest); ok && strings.HasPrefix(prefix, "x-") && strings.Count(prefix, "-") == 1 {
			return i
		}
	}
	return -1
}

// respelled reads a member in the other spelling of its name, and adds it to a chain. It is
// linked after all members are read, since the object may have both.
func (p *parser) respelled(n int32, t *schema.Type, name keyText, to chain) (chain, error) {
	d := p.d
	d.dirt++
	if p.isNull() {
		return to, nil
	}
	i := p.spelled(t, d.text(name.off, name.size))
	m, err := p.node(n, t.Fields[i].Type, uint16(i))
	if err != nil {
		return to, err
	}
	if to.first == 0 {
		to.first = m
	} else {
		d.nodes[to.last].next = m
	}
	to.last = m
	return to, p.value(m, t.Fields[i].Type)
}

// addRespelled adds the members in the other spelling, from the first on. A member in both
// spellings has to have one value.
func (p *parser) addRespelled(t *schema.Type, first int32) error {
	d := p.d
	sent := map[int]bool{}
	for m := first; m != 0; {
		next, i := d.nodes[m].next, int(d.nodes[m].field)
		d.nodes[m].next = 0
		present := Value{d, d.nodes[m].parent}.Get(t.Fields[i].Name)
		switch {
		case !present.Exists(), sent[i]:
			if d.insert(m) {
				p.duplicate(m)
			}
			sent[i] = true
		case !Equal(present, Value{d, m}):
			return p.twoSpellings(m, t.Fields[i].Name)
		}
		m = next
	}
	return nil
}

// twoSpellings is the error for a member that has another value in each spelling.
func (p *parser) twoSpellings(m int32, name string) error {
	path := string(p.d.appendPath(nil, p.d.nodes[m].parent, true))
	own := ownPrefix + strings.SplitN(name, "-", 3)[2]
	return &TypeError{Path: path, Message: path + " has different values for " + own + " and " + name + ", two spellings of one extension: send one of them"}
}

// Respell gives the members of an untyped document, which is to be read as a type of a table,
// the spelling of the type's fields. Where both spellings are there, that of the type
// counts: decoding refuses different values.
func Respell(v Value, table *schema.Table, typ schema.Ref) {
	if table.Custom || typ < 0 {
		return
	}
	t := &table.Types[typ]
	switch t.Kind {
	case schema.List, schema.Map, schema.Any:
		for _, e := range v.Elements() {
			Respell(e, table, t.Elem)
		}
		for _, m := range v.Members() {
			Respell(m, table, t.Elem)
		}
	case schema.Object:
		other := map[string]Value{} // by the field
		var names []string
		for name, m := range v.Members() {
			i := t.Field(name)
			if i < 0 {
				if i = spelled(t, name); i < 0 {
					continue
				}
				names = append(names, name)
				other[t.Fields[i].Name] = m
			}
			Respell(m, table, t.Fields[i].Type)
		}
		for name, m := range other {
			if sent := v.Get(name); (!sent.Exists() || sent.IsNull()) && !m.IsNull() {
				v.Put(name, m)
			}
		}
		for _, name := range names {
			v.Remove(name)
		}
	}
}

// HasOtherSpelling reports whether a text may have members that Respell changes.
func HasOtherSpelling(text []byte) bool { return bytes.Contains(text, []byte(`"`+ownPrefix)) }
