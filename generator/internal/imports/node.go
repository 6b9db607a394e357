package imports

import (
	"bytes"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// mapping is a mapping of a document that is being made. The lines of its nodes are those of
// the file that it is made of.
type mapping struct{ *yaml.Node }

func newMapping(line int) mapping {
	return mapping{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: line}}
}

// find is the place of a key, or -1. Its value is next to it.
func (m mapping) find(key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// set sets a key, behind the others if it is new.
func (m mapping) set(key string, value *yaml.Node) {
	if i := m.find(key); i >= 0 {
		m.Content[i+1] = value
		return
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: value.Line}, value)
}

func (m mapping) text(key, value string, line int) {
	if value != "" {
		m.set(key, textNode(value, line))
	}
}

func (m mapping) yes(key string, line int) {
	m.set(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true", Line: line})
}

func (m mapping) number(key string, value, line int) {
	m.set(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(value), Line: line})
}

func (m mapping) texts(key string, values []string, line int) {
	if len(values) == 0 {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Line: line}
	for _, v := range values {
		list.Content = append(list.Content, textNode(v, line))
	}
	m.set(key, list)
}

// add adds an element to the list of a key.
func (m mapping) add(key string, element *yaml.Node) {
	if list := m.get(key); list != nil {
		list.Content = append(list.Content, element)
		return
	}
	m.set(key, &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: element.Line, Content: []*yaml.Node{element}})
}

func (m mapping) get(key string) *yaml.Node {
	if i := m.find(key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}

func (m mapping) remove(key string) {
	if i := m.find(key); i >= 0 {
		m.Content = slices.Delete(m.Content, i, i+2)
	}
}

func textNode(value string, line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: line}
}

// clone is a copy of a value, without comments and styles of its file.
func clone(n *yaml.Node) *yaml.Node {
	c := &yaml.Node{Kind: n.Kind, Tag: n.ShortTag(), Value: n.Value, Line: n.Line}
	for _, part := range n.Content {
		c.Content = append(c.Content, clone(part))
	}
	return c
}

// encode is the text of a document, and for each of its lines the line that it was made of.
func encode(root *yaml.Node) (text []byte, lines []int, err error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, nil, err
	}
	var again yaml.Node
	if err := yaml.Unmarshal(b.Bytes(), &again); err != nil {
		return nil, nil, err
	}
	lines = make([]int, bytes.Count(b.Bytes(), []byte("\n"))+2)
	var visit func(made, from *yaml.Node)
	visit = func(made, from *yaml.Node) {
		if made.Line < len(lines) && from.Line > 0 {
			lines[made.Line] = from.Line
		}
		for i := range made.Content {
			if i < len(from.Content) {
				visit(made.Content[i], from.Content[i])
			}
		}
	}
	visit(again.Content[0], root)
	for i := 1; i < len(lines); i++ {
		if lines[i] == 0 {
			lines[i] = lines[i-1]
		}
	}
	return b.Bytes(), lines, nil
}

// places are the origins of the lines of a document.
type places struct {
	file  string
	lines []int
}

func (p places) at(line int) schema.Position {
	if line < 1 || line >= len(p.lines) {
		return schema.Position{File: p.file, Line: 1}
	}
	return schema.Position{File: p.file, Line: max(p.lines[line], 1)}
}

// sameNode reports whether two values are the same, wherever they stand.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Tag == b.Tag && slices.EqualFunc(a.Content, b.Content, sameNode)
}
