package apply

import (
	"bytes"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// keyedBy is an element of a list with one key, and the text of the key.
type keyedBy struct {
	key   []byte
	value document.Value
}

// singleKeys pushes the elements of a list, ordered by their one key, on the stack of
// keys, with the texts of the keys as they are. It is false for other lists, and for
// elements without the key, with the same one, or with one whose spelling changes in a
// step. It is true for most lists: containers, variables, volumes, conditions.
func (g *fieldsWriter) singleKeys(typ schema.Ref, v document.Value) (key string, ok bool) {
	t := g.typeOf(typ)
	if t == nil || v.Kind() != document.Array || t.ListType != schema.ListMap || len(t.ListKeys) != 1 {
		return "", false
	}
	key = t.ListKeys[0]
	from, sorted := len(g.keys), true
	for _, m := range v.Elements() {
		k := m.Get(key)
		if k.Kind() != document.String {
			return "", false
		}
		start := len(g.text)
		g.text = k.AppendText(g.text)
		text := g.text[start:len(g.text):len(g.text)]
		if !plainKey(text) {
			return "", false
		}
		last := len(g.keys) - 1
		sorted = sorted && (last < from || bytes.Compare(g.keys[last].key, text) < 0)
		g.keys = append(g.keys, keyedBy{text, m})
	}
	if sorted {
		return key, true
	}
	list := g.keys[from:]
	slices.SortFunc(list, func(a, b keyedBy) int { return bytes.Compare(a.key, b.key) })
	for i := 1; i < len(list); i++ {
		if bytes.Equal(list[i-1].key, list[i].key) {
			return "", false
		}
	}
	return key, true
}

// plainKey reports whether a text has the same spelling in a step of a set and in a
// fieldsV1 object: no character has an escape.
func plainKey(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
