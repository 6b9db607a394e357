package command

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// text is a document in lines, which commands change without touching the others: comments and the
// designer's form stay.
type text []string

// entry is a key of a block mapping in a text: the lines from to until, with the comments above the key
// and without blank lines below.
type entry struct {
	key, value  *yaml.Node
	from, until int // numbers from 0; until is the line after
}

// readText reads a document.
func readText(name string, source []byte) (text, *yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(source, &doc); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("%s:1: the document is not a mapping", name)
	}
	return strings.SplitAfter(string(source), "\n"), doc.Content[0], nil
}

// entries are those of a mapping whose lines end before until. A mapping in braces has none.
func (t text) entries(m *yaml.Node, until int) (all []entry) {
	if m == nil || m.Kind != yaml.MappingNode || m.Style&yaml.FlowStyle != 0 {
		return nil
	}
	for i := 0; i < len(m.Content); i += 2 {
		e := entry{key: m.Content[i], value: m.Content[i+1], from: m.Content[i].Line - 1, until: until}
		for e.from > 0 && strings.HasPrefix(strings.TrimSpace(t[e.from-1]), "#") && (len(all) == 0 || e.from-1 > all[len(all)-1].from) {
			e.from--
		}
		if len(all) > 0 {
			all[len(all)-1].until = e.from
		}
		all = append(all, e)
	}
	for i := range all {
		for all[i].until > all[i].from+1 && strings.TrimSpace(t[all[i].until-1]) == "" {
			all[i].until--
		}
	}
	return all
}

// entryOf is the entry of a key; its key is nil if there is none.
func entryOf(all []entry, key string) entry {
	for _, e := range all {
		if e.key.Value == key {
			return e
		}
	}
	return entry{}
}

// resourceEntries are those of x-cluster-resources.
func (t text) resourceEntries(root *yaml.Node) (whole entry, all []entry) {
	whole = entryOf(t.entries(root, len(t)), "x-cluster-resources")
	if whole.key != nil {
		all = t.entries(whole.value, whole.until)
	}
	return whole, all
}

func (t text) String() string { return strings.Join(t, "") }
