package load

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const sameAsKey = "x-cluster-same-as"

// sameAs resolves x-cluster-same-as: a document with this key becomes the document that the
// key names, with its own other keys merged into it. Its types are resolved likewise.
func (d *documents) sameAs(n node) node {
	if at, ok := valueOf(n, sameAsKey); ok {
		n = d.merged(n, at, d.otherDocument)
	}
	defs, ok := valueOf(n, "$defs")
	if !ok {
		return n
	}
	types := slices.Clone(defs.Content)
	for i := 1; defs.Kind == yaml.MappingNode && i < len(types); i += 2 {
		t := defs.with(types[i])
		if at, ok := valueOf(t, sameAsKey); ok {
			t = d.merged(t, at, func(at node) (node, bool) { return d.otherType(at, n) })
			types[i] = t.Node
			d.files[t.Node] = t.file
		}
	}
	defs.Content = types
	return n
}

// merged finds the mapping that the key at a place names, and merges the other keys of n
// into it. A name of nothing is reported and gives an empty mapping.
func (d *documents) merged(n, at node, find func(node) (node, bool)) node {
	other, ok := find(at)
	if !ok {
		return n.with(&yaml.Node{Kind: yaml.MappingNode, Line: n.Line})
	}
	if _, again := valueOf(other, sameAsKey); again {
		d.fail(at.pos(), "name the one that has the rest", "%s is the same as another itself", at.Value)
		other = without(other, sameAsKey)
	}
	return d.merge(other, without(n, sameAsKey))
}

// otherDocument finds the document that is named at a place.
func (d *documents) otherDocument(at node) (node, bool) {
	name := "schemas" + at.Value + ".yaml"
	if !slices.Contains(d.list("schemas", "schemas/examples"), name) && !d.builtIn(name) {
		d.fail(at.pos(), "write /<group>/<version>/<Kind>", "no schema document for %s", at.Value)
		return node{}, false
	}
	other, text, ok := d.wholeFile(name) // a mistake is reported where the document is read for itself
	if ok {
		other, ok = d.present(name, everThere(other), text)
	}
	if !ok {
		return node{}, false
	}
	return without(other, "$id"), true
}

// everThere is a document without the releases in which it is there: what it says counts in those of the one that is the
// same as it.
func everThere(n node) node {
	life, ok := valueOf(n, lifecycleKeys[0])
	if !ok {
		return n
	}
	n = without(n, lifecycleKeys[0])
	if life = without(without(life, "since"), "until"); len(life.Content) > 0 {
		setChild(n.Node, lifecycleKeys[0], life.Node)
	}
	return n
}

// otherType finds the type that is named at a place: the root of a document or one of its
// $defs, or one of those of the own document.
func (d *documents) otherType(at, own node) (node, bool) {
	document, name, inDefs := strings.Cut(at.Value, "#/$defs/")
	other := own
	if document != "" {
		ok := false
		if other, ok = d.otherDocument(at.with(&yaml.Node{Value: document, Line: at.Line})); !ok {
			return other, false
		}
	}
	if !inDefs {
		return without(other, "$defs"), true
	}
	defs, _ := valueOf(other, "$defs")
	t, ok := valueOf(defs, name)
	if !ok {
		d.fail(at.pos(), `write "/<group>/<version>/<Kind>#/$defs/<Type>"`, "no type for %s", at.Value)
	}
	return t, ok
}

// merge changes a mapping as a JSON merge patch does: null takes a key away, mappings are
// merged, any other value replaces the old one. The nodes of both keep their positions. A property that is renamed from
// one that goes has the place of that one, and so its binary number.
func (r *reader) merge(base, patch node) node {
	said := map[string]entry{}
	for _, e := range r.entries(patch) {
		said[e.key] = e
	}
	m := base.with(&yaml.Node{Kind: yaml.MappingNode, Line: base.Line})
	add := func(key, value node) {
		r.files[key.Node], r.files[value.Node] = key.file, value.file
		m.Content = append(m.Content, key.Node, value.Node)
	}
	for _, e := range r.entries(base) {
		p, ok := said[e.key]
		switch delete(said, e.key); {
		case !ok, isAbsent(e.value): // the release lacks it, in this document too
			add(e.at, e.value)
		case isAbsent(p.value): // of this document only
			add(e.at, withNumber(p.value, e.value))
		case p.value.Tag == "!!null":
			now, ok := renamedFrom(said, e.key)
			if _, there := valueOf(base, now.key); ok && !there {
				delete(said, now.key)
				add(now.at, now.value)
			}
		case p.value.Kind == yaml.MappingNode && e.value.Kind == yaml.MappingNode:
			add(e.at, r.merge(e.value, p.value))
		default:
			add(p.at, p.value)
		}
	}
	for _, e := range r.entries(patch) {
		if _, left := said[e.key]; !left {
			continue
		}
		if e.value.Tag == "!!null" {
			r.fail(e.at.pos(), "drop it", "there is no %s to take away", e.key)
			continue
		}
		add(e.at, e.value)
	}
	r.dropNames(m)
	return m
}

// withNumber is a property that the release lacks, with the binary number of the one in whose place it is.
func withNumber(n, of node) node {
	_, says := valueOf(n, "x-cluster-binary")
	if number, ok := valueOf(of, "x-cluster-binary"); ok && !says {
		setChild(n.Node, "x-cluster-binary", number.Node)
	}
	return n
}

// renamedFrom is the entry of a property that has another name elsewhere.
func renamedFrom(all map[string]entry, name string) (entry, bool) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		e := all[key]
		from, _ := valueOf(e.value, "x-cluster-renamed-from")
		if from.Node != nil && (from.Value == name || slices.ContainsFunc(from.Content, func(n *yaml.Node) bool { return n.Value == name })) {
			return e, true
		}
	}
	return entry{}, false
}

// without is a mapping that lacks a key.
func without(n node, key string) node {
	m := n.with(&yaml.Node{Kind: yaml.MappingNode, Line: n.Line})
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			m.Content = append(m.Content, n.Content[i], n.Content[i+1])
		}
	}
	return m
}
