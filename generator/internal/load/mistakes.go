package load

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"
)

// mistake is a break of a keyword of a form, in the words of designers.
type mistake struct {
	at        node
	what, fix string
}

// mistakes are those in a part of a document.
type mistakes struct {
	form *form
	part part
	all  []mistake
	index
}

// compare orders mistakes by their places; the validator finds them in any order.
func (m mistake) compare(o mistake) int {
	return cmp.Or(cmp.Compare(m.at.Line, o.at.Line), cmp.Compare(m.at.Column, o.at.Column), strings.Compare(m.what, o.what))
}

// spot is a place in a document: the last steps of the way there.
type spot struct {
	owner, key entry // the entries of mappings around the value and of the value
	value      node
}

// index has the entries of mappings by their keys, of repeated ones the last.
type index map[*yaml.Node]map[string]entry

func (x index) entry(n node, key string) (entry, bool) {
	if x[n.Node] == nil {
		x[n.Node] = map[string]entry{}
		for _, e := range entriesOf(n) {
			x[n.Node][e.key] = e
		}
	}
	e, has := x[n.Node][key]
	return e, has
}

// find follows a JSON pointer.
func (x index) find(n node, pointer string) spot {
	s := spot{value: n}
	for _, step := range steps(pointer) {
		switch n.Kind {
		case yaml.MappingNode:
			if e, has := x.entry(n, step); has {
				s = spot{s.key, e, e.value}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
				s = spot{s.owner, entry{at: n.with(n.Content[i])}, n.with(n.Content[i])}
			}
		}
		n = s.value
	}
	if s.key.at.Node == nil {
		s.key.at = n
	}
	return s
}

// steps are the parts of a JSON pointer of the validator, which escapes them as in addresses.
func steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range list {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		list[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return list
}

// broken is the keyword that a value breaks, and the schemas that have a say in it: the one with
// the keyword is the last, after those that refer to it.
type broken struct {
	form    *form
	chain   []any
	keyword string
	whole   any // the value of the keyword
}

// at follows the way of a validation from a schema to the keyword.
func (f *form) at(from any, way []string) broken {
	b := broken{form: f, whole: from}
	for i, step := range way {
		if ref, is := b.whole.(string); is && way[i-1] == "$ref" {
			b.chain = append(b.chain, f.target(ref))
		} else {
			b.chain = []any{b.whole}
		}
		b.keyword, b.whole = step, child(b.chain[len(b.chain)-1], step)
	}
	return b
}

// child is a part of a schema.
func child(of any, step string) any {
	switch of := of.(type) {
	case map[string]any:
		return of[step]
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i < len(of) {
			return of[i]
		}
	}
	return nil
}

// target is the schema that a reference names.
func (f *form) target(ref string) (now any) {
	now = f.tree
	for _, step := range steps(strings.TrimPrefix(ref, "#")) {
		now = child(now, step)
	}
	return now
}

// said is an annotation of the first schema that has it.
func (b broken) said(key string) any {
	for _, s := range b.chain {
		if value := child(s, key); value != nil {
			return value
		}
	}
	return nil
}

// text is a text in an annotation that has several by their keys.
func (b broken) text(key string, names ...string) string {
	for _, s := range b.chain {
		for _, name := range names {
			if text, is := child(child(s, key), name).(string); is {
				return text
			}
		}
	}
	return ""
}

// title is the name of the schema in messages.
func (b broken) title() string {
	title, _ := b.said("title").(string)
	return title
}

// gather adds the mistakes in a report of the validator.
func (m *mistakes) gather(wrong *jsonschema.ValidationError) {
	for _, cause := range wrong.Causes {
		m.gather(cause)
	}
	if len(wrong.Causes) > 0 {
		return
	}
	way := steps(wrong.KeywordLocation)
	from := m.form.target(m.part.ref)
	s, b := m.find(m.part.at, wrong.InstanceLocation), m.form.at(from, way)
	if b.whole == false && b.keyword != "additionalProperties" { // a key that cannot be here
		b = m.form.at(from, way[:len(way)-1])
		m.unknownKey(b, s.key)
		return
	}
	switch b.keyword {
	case "additionalProperties":
		known, _ := child(b.chain[len(b.chain)-1], "properties").(map[string]any)
		for _, e := range entriesOf(s.value) {
			if _, is := known[e.key]; !is {
				m.unknownKey(b, e)
			}
		}
	case "required":
		for _, name := range b.whole.([]any) {
			name := name.(string)
			if _, has := valueOf(s.value, name); !has {
				text := cmp.Or(b.text("x-mistakes", "required "+name, "required"), "the key {missing} is missing; add it")
				m.add(s.key.at, text, s, name)
			}
		}
	default:
		m.add(s.value, b.message(s, wrong.Message), s, "")
	}
}

// unknownKey adds the mistake of a key that a schema lacks.
func (m *mistakes) unknownKey(b broken, e entry) {
	elsewhere, _ := b.said("x-elsewhere").(string)
	known, _ := child(b.chain[len(b.chain)-1], "properties").(map[string]any)
	title, _ := child(b.chain[len(b.chain)-1], "title").(string)
	text := title + " has no key {quoted}; " + remedyFor(e.key, sortedKeys(known))
	if why := b.text("x-refused", e.key); why != "" {
		text = "the keyword {key} is not understood: " + why
	} else if child(child(b.form.target(elsewhere), "properties"), e.key) != nil && elsewhere != "" {
		text = b.text("x-mistakes", "elsewhere")
	}
	m.add(e.at, text, spot{key: e, value: e.value}, "")
}

// add adds a mistake from "mistake; remedy", in which words in braces stand for parts of the
// document: {value} in quotes, {text} without, {key}, in quotes {quoted}, and {owner} for the keys
// of the value and of the mapping around it, {missing} for a key that it lacks, {count} for the
// number of its keys.
func (m *mistakes) add(at node, text string, s spot, missing string) {
	words := map[string]string{"{value}": strconv.Quote(s.value.Value), "{text}": s.value.Value, "{key}": s.key.key, "{owner}": s.owner.key,
		"{quoted}": strconv.Quote(s.key.key), "{count}": strconv.Itoa(len(s.value.Content) / 2), "{missing}": missing}
	fill := func(text string) string {
		return inBraces.ReplaceAllStringFunc(text, func(word string) string { return cmp.Or(words[word], word) })
	}
	what, fix, _ := strings.Cut(text, "; ")
	m.all = append(m.all, mistake{at, fill(what), fill(fix)})
}

var inBraces = regexp.MustCompile(`\{[a-z]+\}`)

// typeTexts are the mistakes of values that have another type.
var typeTexts = map[string]string{
	"string": "a text is expected here; write one value", "array": "a list is expected here; write a list",
	"object": "a mapping is expected here; write keys and values", "boolean": "{value} is neither true nor false; write true or false, without quotes",
	"integer": "{value} is not a whole number; write a whole number", "number": "{value} is not a number; write a number",
}

// message is the mistake in a value, with the remedy.
func (b broken) message(s spot, report string) string {
	near := ""
	if list, is := b.whole.([]any); is && b.keyword == "enum" {
		var words []string
		for _, word := range list {
			words = append(words, fmt.Sprint(word))
		}
		near = remedyFor(s.value.Value, words)
	}
	if text := b.text("x-mistakes", b.keyword, "*"); text != "" {
		return strings.ReplaceAll(text, "{near}", near)
	}
	refused := ""
	if s.value.Kind == yaml.ScalarNode {
		refused = b.text("x-refused", s.value.Value)
	}
	switch b.keyword {
	case "enum":
		if refused != "" {
			return "the " + b.title() + " {text} is not understood: " + refused
		}
		return "unknown " + b.title() + " {value}; " + near
	case "type":
		kinds, is := b.whole.([]any)
		if !is {
			kinds = []any{b.whole}
		}
		if kinds[0] == "string" && s.value.Kind == yaml.ScalarNode && s.value.ShortTag() != "!!null" {
			return "{text} is not a text; write it in quotes"
		}
		return cmp.Or(refused, typeTexts[fmt.Sprint(kinds[0])])
	}
	return "{key}: " + report + "; see capstan-gen keys {key}"
}
