package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A table as text has a line for each root, type and field, so that two releases of a table differ in few lines:
//
//	root Pod core/v1.Pod a7c0fa243d48880d
//	type core/v1.Pod {"Kind":1}
//	elem string
//	order ["spec"]
//	field spec core/v1.PodSpec {"Number":2}
//
// The lines elem, order and field belong to the type above them. A type is called by its name, a second form of one by its
// name and its content, and a type without a name by its content. Values are the members of the Go types here, in JSON, but for
// those that are zero.

// Lines is the table as text.
func (t *Table) Lines() []string {
	w := &textWriter{table: t, keys: make([]string, len(t.Types)), forms: map[string]int{}}
	sections := map[string][]string{}
	for i := range t.Types {
		if t.Types[i].Name != "" {
			w.forms[t.Types[i].Name]++
		}
	}
	for i := range t.Types {
		sections[w.key(Ref(i))] = w.section(Ref(i))
	}
	var lines []string
	for _, r := range t.Roots {
		lines = append(lines, strings.TrimRight("root "+r.Name+" "+w.key(r.Type)+" "+r.Form, " "))
	}
	for _, key := range slices.Sorted(maps.Keys(sections)) {
		lines = append(lines, sections[key]...)
	}
	return lines
}

type textWriter struct {
	table *Table
	keys  []string       // by type; "" before it is made
	forms map[string]int // how many types have a name
}

// key is the name of a type in the text.
func (w *textWriter) key(ref Ref) string {
	if w.keys[ref] != "" {
		return w.keys[ref]
	}
	t := &w.table.Types[ref]
	key := t.Name
	switch {
	case key == "":
		key = "~" + fingerprint(w.rest(ref))
	case w.forms[key] > 1:
		key += "~" + fingerprint([]string{string(appendJSON(nil, reflect.ValueOf(bare(t))))})
	}
	w.keys[ref] = key
	return key
}

func fingerprint(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:6])
}

// section is the lines of a type.
func (w *textWriter) section(ref Ref) []string {
	lines := w.rest(ref)
	lines[0] = "type " + w.key(ref) + " " + lines[0]
	return lines
}

// rest is the lines of a type, of which the first lacks the name.
func (w *textWriter) rest(ref Ref) []string {
	t := &w.table.Types[ref]
	lines := []string{string(appendJSON(nil, reflect.ValueOf(bare(t))))}
	if t.Elem != None {
		lines = append(lines, "elem "+w.key(t.Elem))
	}
	if order := w.table.CauseOrders[ref]; order != nil {
		lines = append(lines, "order "+string(appendJSON(nil, reflect.ValueOf(order))))
	}
	for i := range t.Fields {
		f := t.Fields[i]
		f.Name, f.Type = "", 0
		lines = append(lines, "field "+t.Fields[i].Name+" "+w.key(t.Fields[i].Type)+" "+string(appendJSON(nil, reflect.ValueOf(f))))
	}
	return lines
}

// bare is a type without what its other lines have.
func bare(t *Type) Type {
	b := *t
	b.Name, b.Fields, b.Index, b.Elem = "", nil, Index{}, 0
	return b
}

// appendJSON writes a value in JSON, structs without members that are zero.
func appendJSON(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer:
		return appendJSON(b, v.Elem())
	case reflect.Struct:
		b = append(b, '{')
		b = appendMembers(b, v)
		return append(b, '}')
	case reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, v.Index(i))
		}
		return append(b, ']')
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic(fmt.Sprintf("a table has a %s: %v", v.Type(), err)) // only code that adds such a member to a type can meet it
	}
	return append(b, text...)
}

func appendMembers(b []byte, v reflect.Value) []byte {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			continue
		}
		if v.Type().Field(i).Anonymous {
			b = appendMembers(b, reflect.Indirect(f))
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, v.Type().Field(i).Name...)
		b = append(b, '"', ':')
		b = appendJSON(b, f)
	}
	return b
}

// ParseTable makes the table of a group version of its text. Errors name the line.
func ParseTable(group, version string, lines []string) (*Table, error) {
	p := &textReader{refs: map[string]Ref{}, orders: map[Ref][]string{}}
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "type "); ok {
			key, _, _ := strings.Cut(rest, " ")
			p.refs[key] = Ref(len(p.refs))
		}
	}
	for n, line := range lines {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d of the table of %s/%s: %w", n+1, group, version, err)
		}
	}
	if len(p.types) != len(p.refs) {
		return nil, fmt.Errorf("the table of %s/%s has a type twice", group, version)
	}
	t, place := ordered(&Table{Group: group, Version: version, Types: p.types, Roots: p.roots})
	for ref, order := range p.orders {
		if t.CauseOrders == nil {
			t.CauseOrders = map[Ref][]string{}
		}
		t.CauseOrders[place[ref]] = order
	}
	t.MakeIndex()
	return t, nil
}

type textReader struct {
	refs   map[string]Ref
	types  []Type
	roots  []Root
	orders map[Ref][]string
}

func (p *textReader) line(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	word := func() (text string) {
		text, rest, _ = strings.Cut(rest, " ")
		return text
	}
	if kind == "root" {
		r := Root{Name: word()}
		ref, err := p.ref(word())
		r.Type, r.Form = ref, rest
		p.roots = append(p.roots, r)
		return err
	}
	if kind == "type" {
		t := Type{Name: word()}
		t.Name, _, _ = strings.Cut(t.Name, "~")
		if err := json.Unmarshal([]byte(rest), &t); err != nil {
			return err
		}
		t.Elem = None
		p.types = append(p.types, t)
		return nil
	}
	if len(p.types) == 0 {
		return fmt.Errorf("%q belongs to no type", line)
	}
	t := &p.types[len(p.types)-1]
	var err error
	switch kind {
	case "elem":
		t.Elem, err = p.ref(rest)
	case "order":
		var order []string
		err = json.Unmarshal([]byte(rest), &order)
		p.orders[Ref(len(p.types)-1)] = order
	case "field":
		f := Field{Name: word()}
		if f.Type, err = p.ref(word()); err == nil {
			err = json.Unmarshal([]byte(rest), &f)
		}
		t.Fields = append(t.Fields, f)
	default:
		err = fmt.Errorf("%q is not a line of a table", line)
	}
	return err
}

func (p *textReader) ref(key string) (Ref, error) {
	ref, ok := p.refs[key]
	if !ok {
		return None, fmt.Errorf("there is no type %q", key)
	}
	return ref, nil
}
