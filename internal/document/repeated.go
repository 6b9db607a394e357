package document

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// JoinRepeated joins repeated members of JSON that Decode has read as a value of type
// typ, as 1.25 reads them: objects and maps get the members of all, elements of lists are
// joined with those in the same position of the lists before, of other values the last
// one counts. Members that no type knows are left out.
func JoinRepeated(data []byte, table *schema.Table, typ schema.Ref) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, data) != nil {
		return data
	}
	return joiner{table}.join(nil, [][]byte{compact.Bytes()}, typ)
}

type joiner struct{ table *schema.Table }

// join appends the join of the texts of one value.
func (j joiner) join(dst []byte, texts [][]byte, typ schema.Ref) []byte {
	last := texts[len(texts)-1]
	if typ < 0 {
		return append(dst, last...)
	}
	switch t := &j.table.Types[typ]; {
	case t.Kind == schema.Object && last[0] == '{':
		return j.object(dst, texts, t)
	case t.Kind == schema.Map && last[0] == '{':
		return j.mapping(dst, texts, t.Elem)
	case t.Kind == schema.List && last[0] == '[':
		return j.list(dst, texts, t.Elem)
	}
	return append(dst, last...)
}

func (j joiner) object(dst []byte, texts [][]byte, t *schema.Type) []byte {
	type member struct {
		*schema.Field
		values [][]byte
	}
	var members []member
	for _, text := range texts {
		EachMember(text, func(name, value []byte) bool {
			i := t.Field(string(AppendUnescaped(nil, name)))
			if i < 0 {
				return true
			}
			f := &t.Fields[i]
			at := slices.IndexFunc(members, func(m member) bool { return m.Field == f })
			if at < 0 {
				at = len(members)
				members = append(members, member{Field: f})
			}
			members[at].values = j.follow(members[at].values, value, f)
			return true
		})
	}
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendQuoted(dst, m.Name), ':')
		dst = j.join(dst, m.values, m.Type)
	}
	return append(dst, '}')
}

// follow adds one more value of a field. Null discards those before it, or has no effect.
func (j joiner) follow(values [][]byte, value []byte, f *schema.Field) [][]byte {
	switch {
	case string(value) != "null":
		if len(values) == 1 && string(values[0]) == "null" {
			values = values[:0]
		}
	case len(values) > 0 && keepsValue(f, j.table.Types[f.Type].Kind):
		return values
	default:
		values = values[:0]
	}
	return append(values, value)
}

// mapping keeps the last of the members with the same name.
func (j joiner) mapping(dst []byte, texts [][]byte, elem schema.Ref) []byte {
	type member struct{ name, value []byte }
	var members []member
	at := make(map[string]int)
	for _, text := range texts {
		EachMember(text, func(name, value []byte) bool {
			plain := string(AppendUnescaped(nil, name))
			if i, known := at[plain]; known {
				members[i].value = value
				return true
			}
			at[plain] = len(members)
			members = append(members, member{name, value})
			return true
		})
	}
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), m.name...), '"', ':')
		dst = j.join(dst, [][]byte{m.value}, elem)
	}
	return append(dst, '}')
}

// list joins lists; the result is as long as the last one.
func (j joiner) list(dst []byte, texts [][]byte, elem schema.Ref) []byte {
	var elements [][][]byte
	for i, text := range slices.Backward(texts) {
		n := 0
		EachElement(text, func(value []byte) bool {
			if i == len(texts)-1 {
				elements = append(elements, nil)
			}
			if n < len(elements) {
				elements[n] = append(elements[n], value)
				n++
			}
			return n < len(elements) || i == len(texts)-1
		})
	}
	dst = append(dst, '[')
	for i, values := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		slices.Reverse(values)
		dst = j.join(dst, values, elem)
	}
	return append(dst, ']')
}
