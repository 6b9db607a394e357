package document

import "github.com/capstan-dev/capstan/internal/schema"

// fieldHint is where the next member of an object is likely to be found: most
// senders write in schema order or in order of names.
type fieldHint struct {
	field int  // index in Type.Fields
	name  int  // index in Type.Sorted
	named bool // the last one was found by name
}

// nearby is how many fields are tried from the hint on before searching.
const nearby = 6

// expected returns the index of the field whose name is next in the text, in
// quotes, if it is one of the next in schema order; else -1.
func (h *fieldHint) expected(t *schema.Type, text []byte) int {
	if h.named || len(text) == 0 || text[0] != '"' {
		return -1
	}
	for i := h.field; i < len(t.Fields) && i < h.field+nearby; i++ {
		name := t.Fields[i].Name
		if end := len(name) + 1; end < len(text) && text[end] == '"' && string(text[1:end]) == name {
			h.field = i + 1
			return i
		}
	}
	return -1
}

// find returns the index of the field with that name, or -1.
func (h *fieldHint) find(t *schema.Type, name []byte) int {
	if h.named {
		for i := h.name; i < len(t.Sorted) && i < h.name+nearby; i++ {
			if f := int(t.Sorted[i]); t.Fields[f].Name == string(name) {
				h.name, h.field = i+1, f+1
				return f
			}
		}
	}
	lo, hi := 0, len(t.Sorted)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.Fields[t.Sorted[mid]].Name < string(name) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(t.Sorted) {
		if i := int(t.Sorted[lo]); t.Fields[i].Name == string(name) {
			h.name, h.named = lo+1, i < h.field // back: not schema order
			h.field = i + 1
			return i
		}
	}
	return -1
}
