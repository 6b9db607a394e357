package load

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Chapter is a part of the reference of keys. A chapter without keys begins a sort of documents.
type Chapter struct {
	Title, Text string
	Keys        []Key
}

// Key is a key of documents. Texts are Markdown.
type Key struct {
	Name     string // "graceful.period" of a key in another one
	Form     string // "a list of texts"
	Text     string
	Absent   string // the meaning of a document without it
	Words    []Word
	Examples []string // in YAML
}

// Word is a word that a key can have, with its meaning or "".
type Word struct{ Name, Meaning string }

// Reference describes all keys of documents, from their forms, or those with a name: "period" or
// "graceful.period".
func Reference(name string) ([]Chapter, error) {
	all, err := allKeys()
	if err != nil || name == "" {
		return all, err
	}
	var found []Chapter
	names := map[string]bool{}
	for _, c := range all {
		keys := slices.DeleteFunc(slices.Clone(c.Keys), func(k Key) bool {
			names[k.Name] = true
			return k.Name != name && !strings.HasSuffix(k.Name, "."+name)
		})
		if len(keys) > 0 {
			found = append(found, Chapter{c.Title, c.Text, keys})
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no key %q: %s", name, remedyFor(name, sortedKeys(names)))
	}
	return found, nil
}

func allKeys() (all []Chapter, err error) {
	known, err := forms()
	if err != nil {
		return nil, err
	}
	for _, name := range formNames {
		var doc yaml.Node
		if err := yaml.Unmarshal(known[name].text, &doc); err != nil {
			return nil, err
		}
		d := describer{node{Node: doc.Content[0]}}
		all = append(all, Chapter{Title: d.text(d.root, "title"), Text: d.text(d.root, "description")})
		for _, def := range entriesOf(d.find(d.root, "$defs")) {
			if def.key != "restriction" && def.key != "changes" { // they repeat the keys of a schema
				all = d.keys(all, "", def.value)
			}
		}
	}
	return all, nil
}

// describer reads one form.
type describer struct{ root node }

// find is a part of a schema, or of one that it refers to.
func (d describer) find(n node, key string) node {
	for {
		if value, ok := valueOf(n, key); ok {
			return value
		}
		ref, ok := valueOf(n, "$ref")
		if !ok {
			return node{}
		}
		n = index{}.find(d.root, strings.TrimPrefix(ref.Value, "#")).value
	}
}

func (d describer) text(n node, key string) string {
	if value := d.find(n, key); value.Node != nil {
		return value.Value
	}
	return ""
}

// keys adds the keys of a mapping that has no others.
func (d describer) keys(all []Chapter, prefix string, of node) []Chapter {
	if closed, ok := valueOf(of, "additionalProperties"); !ok || closed.Value != "false" {
		return all
	}
	for _, p := range entriesOf(d.find(of, "properties")) {
		if title, ok := valueOf(p.value, "x-chapter"); ok {
			all = append(all, Chapter{Title: title.Value})
		}
		last := &all[len(all)-1]
		last.Keys = append(last.Keys, d.key(prefix, p, of))
		all = d.keys(all, prefix+p.key+".", p.value)
	}
	return all
}

// key describes one key of a mapping.
func (d describer) key(prefix string, p entry, of node) Key {
	k := Key{Name: prefix + p.key, Form: d.form(p.value), Text: d.text(p.value, "description"), Absent: d.text(p.value, "x-when-absent")}
	if value := d.find(p.value, "default"); value.Node != nil {
		k.Absent = "`" + inYAML(value) + "`."
	}
	if required := d.find(of, "required"); required.Node != nil {
		for _, name := range required.Content {
			if name.Value == p.key {
				k.Absent = "The document is refused."
			}
		}
	}
	words := d.find(p.value, "x-words")
	if items := d.find(p.value, "items"); words.Node == nil && items.Node != nil {
		words = d.find(items, "x-words")
	}
	for _, w := range entriesOf(words) {
		k.Words = append(k.Words, Word{w.key, w.value.Value})
	}
	if examples := d.find(p.value, "examples"); examples.Node != nil {
		for _, value := range examples.Content {
			pair := []*yaml.Node{{Kind: yaml.ScalarNode, Value: p.key}, value}
			k.Examples = append(k.Examples, inYAML(node{Node: &yaml.Node{Kind: yaml.MappingNode, Content: pair}}))
		}
	}
	return k
}

// form names the form of a value: "a text or a list of texts".
func (d describer) form(n node) string { return "a " + strings.Join(d.nouns(n), " or a ") }

// nouns name the forms of a value.
func (d describer) nouns(n node) (all []string) {
	if title, is := strings.CutPrefix(d.text(n, "title"), "a "); is {
		return []string{title}
	}
	items, each := d.find(n, "items"), d.find(n, "additionalProperties")
	for _, kind := range kindsOf(d.find(n, "type")) {
		switch {
		case kind == "string" && d.find(n, "enum").Node != nil:
			kind = "word"
		case kind == "string":
			kind = "text"
		case kind == "integer":
			kind = "whole number"
		case kind == "array" && items.Node == nil:
			kind = "list"
		case kind == "array":
			kind = "list of " + plurals(d.nouns(items))
		case kind == "object" && each.Node != nil && each.Kind == yaml.MappingNode:
			kind = "mapping to " + plurals(d.nouns(each))
		case kind == "object":
			kind = "mapping"
		}
		all = append(all, kind)
	}
	if len(all) == 0 {
		return []string{"value"}
	}
	return all
}

// plurals joins nouns in their plural: "lists of texts or numbers".
func plurals(nouns []string) string {
	for i, noun := range nouns {
		head, rest, _ := strings.Cut(noun, " of ")
		if nouns[i] = head + "s"; rest != "" {
			nouns[i] += " of " + rest
		}
	}
	return strings.Join(nouns, " or ")
}

// kindsOf are the types in the keyword type.
func kindsOf(n node) (kinds []string) {
	switch {
	case n.Node == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}
	}
	for _, kind := range n.Content {
		kinds = append(kinds, kind.Value)
	}
	return kinds
}

// inYAML is a value, or a key with a value, in one line of YAML.
func inYAML(n node) string {
	restyle(n.Node)
	if n.Kind == yaml.MappingNode {
		n.Style = 0
	}
	text, err := yaml.Marshal(n.Node)
	if err != nil {
		return err.Error() // nodes that were read can be written
	}
	return strings.TrimSpace(string(text))
}

// restyle drops needless quotes, and keeps a value in one line.
func restyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for i, part := range n.Content {
		if restyle(part); n.Kind == yaml.MappingNode && i%2 == 0 {
			part.Tag = "" // a key is a text without quotes
		}
	}
}
