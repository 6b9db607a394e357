package definitions

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// pair is a value with its state before an update, of which unchanged mistakes are
// forgiven.
type pair struct {
	is       *expression.Type
	now, old document.Value
	root     bool
	compared bool
	same     bool
}

// unchanged reports whether the value is the same as before. p may be nil: then it is new.
// A whole object never is: it has a new version.
func (p *pair) unchanged() bool {
	if p != nil && !p.compared {
		p.compared, p.same = true, !p.root && sameValue(p.is, p.now, p.old)
	}
	return p != nil && p.same
}

// member is the pair of a member, nil if it is new.
func (p *pair) member(name string, is *expression.Type) *pair {
	if p == nil || p.now.Kind() != document.Object || p.old.Kind() != document.Object {
		return nil
	}
	now, old := p.now.Get(name), p.old.Get(name)
	if !now.Exists() || !old.Exists() {
		return nil
	}
	return &pair{is: is, now: now, old: old}
}

// sameValue reports whether two values are equal, where the elements of keyed lists may
// have another order.
func sameValue(is *expression.Type, a, b document.Value) bool {
	switch {
	case document.Equal(a, b):
		return true
	case is == nil || a.Kind() != b.Kind() || a.Len() != b.Len():
		return false
	case is.Kind == expression.List && is.ListType == schema.ListMap:
		others := byKey(b, is.Keys)
		for _, e := range a.Elements() {
			if key, ok := keyOf(e, is.Keys); !ok || !others[key].Exists() || !sameValue(is.Elem, e, others[key]) {
				return false
			}
		}
		return true
	case is.Kind == expression.Object || is.Kind == expression.Map:
		for name, m := range a.Members() {
			if !sameValue(is.Member(name), m, b.Get(name)) {
				return false
			}
		}
		return a.Kind() == document.Object
	}
	return false
}

// byKey finds the elements of a keyed list, of repeated ones the first.
func byKey(list document.Value, keys []string) map[string]document.Value {
	found := map[string]document.Value{}
	for _, e := range list.Elements() {
		if key, ok := keyOf(e, keys); ok && !found[key].Exists() {
			found[key] = e
		}
	}
	return found
}

// keyOf is the identity of an element of a keyed list; false for one without its keys.
func keyOf(v document.Value, keys []string) (string, bool) {
	var text []byte
	for _, key := range keys {
		m := v.Get(key)
		if k := m.Kind(); k != document.String && k != document.Number && k != document.Bool {
			return "", false
		}
		text = append(m.AppendJSON(text), ',')
	}
	return string(text), true
}
