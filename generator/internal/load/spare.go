package load

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// A document with a mistake has others that later steps would find. So documents are read again with the wrong fields as
// fields of any value, and without the wrong keys of types and resources: the steps go on, and the mistakes that they find
// elsewhere in the document are reported with the first ones.

// spared are the places of mistakes in documents.
type spared struct {
	places map[string][]wrong // by document
	names  []string           // of fields that have any value, and in keys that are gone
}

// wrong is the place of a mistake, and its words.
type wrong struct {
	line int
	what string
}

// key is that with which the words begin, if they do.
func (w wrong) key() string {
	key, _, _ := strings.Cut(w.what, " ")
	return key
}

// names reports whether the mistake names some text.
func (w wrong) names(texts []string) bool { return anyOf(texts).MatchString(w.what) }

// within adds the further mistakes in the documents that have some.
func (d *documents) within(first []*schema.Error) {
	s := &spared{places: map[string][]wrong{}}
	for range mostReadings {
		if !s.add(first) {
			return
		}
		last := newDocuments(d.root)
		last.changed, last.release, last.spared = d.changed, d.release, s
		last.readAll()
		if _, err := last.finish(); err == nil {
			return
		}
		gone := anyOf(s.names)
		for _, e := range last.errs {
			if _, missing := e.Of.(model.Missing); !missing && !s.has(e) && !gone.MatchString(e.What) {
				d.errs = append(d.errs, e)
			}
		}
		first = last.errs
	}
}

// add notes the places of mistakes, and reports whether some are new.
func (s *spared) add(found []*schema.Error) (more bool) {
	for _, e := range found {
		if w := (wrong{e.Pos.Line, e.What}); !slices.Contains(s.places[e.Pos.File], w) {
			s.places[e.Pos.File] = append(s.places[e.Pos.File], w)
			more = true
		}
	}
	return more
}

// has reports whether the line of a mistake is spared, where words begin likewise: the line of a type has mistakes of many keys.
func (s *spared) has(e *schema.Error) bool {
	return slices.ContainsFunc(s.places[e.Pos.File], func(w wrong) bool {
		return w.line == e.Pos.Line && w.key() == (wrong{what: e.What}).key()
	})
}

// spare takes the places of mistakes out of a document.
func (s *spared) spare(name string, n node) {
	if s == nil {
		return
	}
	for _, w := range s.places[name] {
		if strings.HasPrefix(name, "schemas/") {
			s.inType(n, w)
		} else {
			s.inResources(n, w)
		}
	}
}

// around is the entry of a mapping that has a line; ok is false where more than one has it, or none.
func around(n node, line int) (e entry, i int, ok bool) {
	for j, other := range entriesOf(n) {
		if other.at.Line > line {
			break
		}
		if ok = !ok || e.at.Line < other.at.Line || other.at.Line < line; !ok {
			return e, i, false
		}
		e, i = other, 2*j
	}
	return e, i, ok
}

// inType spares a place in a type: the field that has the line, or the key of the type. A mistake about a key may have
// the line of the type.
func (s *spared) inType(n node, w wrong) {
	e, i, ok := around(n, w.line)
	if w.line == n.Line {
		named := slices.IndexFunc(entriesOf(n), func(e entry) bool { return e.key == w.key() })
		if ok = named >= 0; ok {
			e, i = entriesOf(n)[named], 2*named
		}
	}
	switch {
	case !ok:
	case e.key == "$defs":
		if of, _, ok := around(e.value, w.line); ok {
			s.inType(of.value, w)
		}
	case e.key == "properties":
		if p, at, ok := around(e.value, w.line); ok {
			s.inField(e.value, p, at, w.line)
		}
	case e.key != "description":
		s.drop(n, i, w)
	}
}

// inField spares a line of a field, or of a field in it.
func (s *spared) inField(of node, p entry, at, line int) {
	if e, _, ok := around(p.value, line); ok && line > e.at.Line {
		for e.key == "items" || e.key == "additionalProperties" {
			if e, _, ok = around(e.value, line); !ok {
				break
			}
		}
		if below, i, found := around(e.value, line); ok && found && e.key == "properties" {
			s.inField(e.value, below, i, line)
			return
		}
	}
	if slices.Contains([]string{"metadata", "spec", "status"}, p.key) {
		return
	}
	text := func(text string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: p.at.Line}
	}
	free := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: p.value.Line, Content: []*yaml.Node{text("description"), text("Any value at all."),
		text("x-cluster-preserve-unknown-fields"), {Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true", Line: p.at.Line}}}
	for _, key := range []string{"x-cluster-lifecycle", "x-cluster-renamed-from", "x-cluster-binary"} {
		if kept, ok := valueOf(p.value, key); ok {
			free.Content = append(free.Content, text(key), kept.Node)
		}
	}
	s.names = append(s.names, p.key)
	of.Content[at+1] = free
}

// drop takes a key out of a mapping, or of a list the elements that have the line, or that the mistake names.
func (s *spared) drop(n node, i int, w wrong) {
	list, whole := n.Content[i+1], true
	if list.Kind == yaml.SequenceNode {
		list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool {
			named, there := w.names(wordsIn(item)), list.Style&yaml.FlowStyle == 0 && item.Line <= w.line && w.line <= lastLine(item)
			if whole = whole && !named && !there; there && !named && item.Kind == yaml.ScalarNode {
				s.names = append(s.names, item.Value)
			}
			return named || there
		})
	}
	if whole || len(list.Content) == 0 {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}

// lastLine is the line where the last part of a value begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, below := range n.Content {
		last = max(last, lastLine(below))
	}
	return last
}

// wordsIn are the texts in a part of a document.
func wordsIn(n *yaml.Node) (words []string) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return []string{n.Value}
	}
	for _, below := range n.Content {
		words = append(words, wordsIn(below)...)
	}
	return words
}

// inResources spares a line of the resources of a group version: an element of a list, a subresource, or a key that a
// resource can do without.
func (s *spared) inResources(n node, w wrong) {
	of, _ := valueOf(n, "x-cluster-resources")
	if of.Node == nil || of.Kind != yaml.MappingNode {
		return
	}
	res, _, ok := around(of, w.line)
	if !ok {
		return
	}
	e, i, ok := around(res.value, w.line)
	switch {
	case !ok || slices.Contains([]string{"kind", "scope", "storedAs", "schema", "storage", "endpoint", "action"}, e.key):
	case e.key == "subresources":
		if sub, at, ok := around(e.value, w.line); ok {
			s.names = append(s.names, sub.key)
			e.value.Content = slices.Delete(e.value.Content, at, at+2)
		}
	default:
		s.drop(res.value, i, w)
	}
}
