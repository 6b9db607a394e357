package load

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/openapi"
)

// A set of documents has the parts of all releases of an API. A part says in which of them it is there, and how it was
// before: by the key x-cluster-lifecycle of a schema, by the key lifecycle elsewhere. Documents are read for one release:
// what that release lacks is taken out before any other step looks at them.

const releasesFile = "openapi/releases.yaml"

// lifecycleKeys are the names of the key.
var lifecycleKeys = []string{"x-cluster-lifecycle", "lifecycle"}

// All is Right for commands that look at all releases of the documents: the model has those of the other releases, and
// the one with the parts of all.
func All(root string) (*model.Model, error) {
	m, err := Right(root)
	if err == nil {
		err = otherReleases(root, m)
	}
	return m, err
}

// otherReleases adds the models of the other releases to that of one, and the model with the parts of all.
func otherReleases(root string, m *model.Model) error {
	for _, name := range m.Releases.All {
		if name == m.Releases.Now {
			continue
		}
		other, err := At(root, name)
		if err != nil {
			return fmt.Errorf("in release %s:\n%w", name, err)
		}
		m.Others = append(m.Others, other)
	}
	if len(m.Others) == 0 {
		return nil
	}
	d := newDocuments(root)
	d.every = true
	d.readAll()
	var err error
	if m.Every, err = d.finish(); err != nil {
		return fmt.Errorf("with the parts of all releases:\n%w", err)
	}
	if m.Module == "" {
		shareHooks(append([]*model.Model{m}, m.Others...))
	}
	return nil
}

// openReleases reads the releases of the project, and chooses the one that is asked for, or the usual one. A module on top
// of the built-in groups has releases of its own, and refers to built-in types as they usually are.
func (r *reader) openReleases() {
	if r.module != "" {
		text, _ := openapi.Documents.ReadFile(path.Base(releasesFile)) // which is a part of the program
		r.builtInReleases = r.readReleases(text, "")
	}
	text := r.changed[releasesFile]
	if text == nil {
		text, _ = os.ReadFile(filepath.Join(r.root, filepath.FromSlash(releasesFile))) // as if it were not there
	}
	switch {
	case text != nil:
		r.releases = r.readReleases(text, r.release)
	case r.release != "":
		at := schema.Position{File: releasesFile, Line: 1}
		r.fail(at, "add openapi/releases.yaml with the releases, oldest first", "the release %s is asked for, and the project names none", r.release)
	}
}

// readReleases reads a list of releases, of which asked is the one to read.
func (r *reader) readReleases(text []byte, asked string) (all model.Releases) {
	n, ok := r.parse(releasesFile, text)
	if !ok || !r.wellFormed(n, "releases") {
		return all
	}
	r.object(n, r.releasesKeys(&all))
	if len(all.All) == 0 {
		return all
	}
	all.Default = cmp.Or(all.Default, all.All[len(all.All)-1])
	all.Now = cmp.Or(asked, all.Default)
	for _, name := range []string{all.Default, all.Now} {
		if !slices.Contains(all.All, name) {
			r.fail(n.pos(), remedyForRelease(all.All), "there is no release %s", name)
		}
	}
	return all
}

func (r *reader) releasesKeys(all *model.Releases) map[string]func(node) {
	return map[string]func(node){"releases": r.texts(&all.All), "default": r.text(&all.Default), "dates": func(n node) {
		all.Dates = map[string]string{}
		for _, e := range r.entries(n) {
			all.Dates[e.key] = e.value.Value
		}
	}}
}

// present makes of a document what it says in the release that it is read for. ok is false for a document that the
// release does not have.
func (r *reader) present(name string, n node, text []byte) (now node, ok bool) {
	if !bytes.Contains(text, []byte("lifecycle")) {
		return n, true
	}
	p := presence{r, r.releases, r.every}
	if r.isBuiltIn(name) {
		p = presence{r, r.builtInReleases, false}
	}
	return p.of(n)
}

// presence takes out of a document what the release does not have.
type presence struct {
	*reader
	releases model.Releases
	every    bool
}

// of is a part as it is in the release; false for a part that is not there.
func (p *presence) of(n node) (node, bool) {
	switch n.Kind {
	case yaml.MappingNode:
		return p.mapping(n)
	case yaml.SequenceNode:
		m := n.with(&yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Style: n.Style})
		for _, item := range n.Content {
			if now, ok := p.of(n.with(item)); ok {
				p.files[now.Node] = now.file
				m.Content = append(m.Content, now.Node)
			}
		}
		return m, true
	}
	return n, true
}

func (p *presence) mapping(n node) (node, bool) {
	life, found := p.lifecycleOf(n)
	if found {
		if !p.every && !life.Has(p.releases.All, p.releases.Now) {
			return n, false
		}
		for _, earlier := range slices.Backward(life.before) {
			if !p.every && p.index(p.releases.Now) < p.index(earlier.key) {
				n = p.merge(n, earlier.value)
			}
		}
	}
	m := n.with(&yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Style: n.Style})
	for _, e := range entriesOf(n) {
		value, ok := e.value, true
		switch {
		case found && slices.Contains(lifecycleKeys, e.key):
		case e.key == "properties" && e.value.Kind == yaml.MappingNode:
			value = p.properties(e.value)
		default:
			value, ok = p.of(e.value)
		}
		switch {
		case ok:
			p.files[e.at.Node], p.files[value.Node] = e.at.file, value.file
			m.Content = append(m.Content, e.at.Node, value.Node)
		case e.key == "x-cluster-group": // the version itself
			return n, false
		}
		if e.key == "x-cluster-resources" && len(value.Content) == 0 && len(e.value.Content) > 0 { // a version of nothing is not served
			return n, false
		}
	}
	p.dropNames(m)
	return m, true
}

// The tags of a property that the release lacks, and of one that x-cluster-one-of names. Its place, and its number in
// the binary form, stay its own.
const absent, absentOneOf = "!absent", "!absent-one-of"

func isAbsent(n node) bool { return n.Tag == absent || n.Tag == absentOneOf }

// properties are the properties of a schema, with places for those that the release lacks.
func (p *presence) properties(n node) node {
	m := n.with(&yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Style: n.Style})
	for _, e := range entriesOf(n) {
		value, ok := p.of(e.value)
		if !ok {
			value = e.value.with(&yaml.Node{Kind: yaml.MappingNode, Tag: absent, Line: e.value.Line})
			if number, says := valueOf(e.value, "x-cluster-binary"); says {
				setChild(value.Node, "x-cluster-binary", number.Node)
			}
		}
		p.files[e.at.Node], p.files[value.Node] = e.at.file, value.file
		m.Content = append(m.Content, e.at.Node, value.Node)
	}
	return m
}

// nameLists are the keys of a schema that name its properties.
var nameLists = []string{"required", "x-cluster-required-published", "x-cluster-required-enforced", "x-cluster-one-of", "x-cluster-cause-order"}

// dropNames takes the names of properties that are not there out of the lists of a schema, whose mapping is not that of
// another document.
func (r *reader) dropNames(now node) {
	for i := 0; i+1 < len(now.Content); i += 2 {
		list, key := now.with(now.Content[i+1]), now.Content[i].Value
		if list.Kind != yaml.SequenceNode || !slices.Contains(nameLists, key) {
			continue
		}
		left := list.with(&yaml.Node{Kind: yaml.SequenceNode, Line: list.Line, Style: list.Style})
		for _, item := range list.Content {
			name, _, _ := strings.Cut(item.Value, ":")
			if !r.lacks(now, name, key == "x-cluster-one-of") {
				left.Content = append(left.Content, item)
			}
		}
		r.files[left.Node] = list.file
		now.Content[i+1] = left.Node
	}
}

// lacks reports whether a property of a schema is not there, and notes that x-cluster-one-of names it.
func (r *reader) lacks(now node, name string, oneOf bool) bool {
	properties, _ := valueOf(now, "properties")
	p, ok := valueOf(properties, name)
	if !ok || !isAbsent(p) {
		return false
	}
	if oneOf && p.Tag != absentOneOf {
		marked := *p.Node
		marked.Tag = absentOneOf
		r.files[&marked] = p.file
		all := properties.with(&yaml.Node{Kind: yaml.MappingNode, Line: properties.Line, Style: properties.Style, Content: slices.Clone(properties.Content)})
		all.Content[slices.Index(all.Content, p.Node)] = &marked
		r.files[all.Node] = properties.file
		now.Content[slices.Index(now.Content, properties.Node)] = all.Node
	}
	return true
}

// history is the value of the key in a document.
type history struct {
	schema.Lifecycle
	before []entry // by release, oldest first: the keys that were different before
}

// lifecycleOf reads the lifecycle of a part.
func (p *presence) lifecycleOf(n node) (life history, found bool) {
	for _, key := range lifecycleKeys {
		at, ok := valueOf(n, key)
		if !ok || !isLifecycle(at) {
			continue
		}
		p.object(at, p.lifecycleKeys(&life.Lifecycle))
		if before, ok := valueOf(at, "before"); ok && before.Kind == yaml.MappingNode {
			life.before = p.entries(before)
		}
		return life, p.sound(at, &life)
	}
	return life, false
}

func (r *reader) lifecycleKeys(to *schema.Lifecycle) map[string]func(node) {
	return map[string]func(node){"since": r.text(&to.Since), "until": r.text(&to.Until), "before": func(node) {}}
}

// readLifecycle reads the releases of a part that is there.
func (r *reader) readLifecycle(to *schema.Lifecycle) func(node) {
	return func(n node) { r.object(n, r.lifecycleKeys(to)) }
}

// isLifecycle tells the key from a property of its name.
func isLifecycle(n node) bool {
	entries := entriesOf(n)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e entry) bool { return e.key != "since" && e.key != "until" && e.key != "before" })
}

// sound checks that a lifecycle names releases, in their order.
func (p *presence) sound(at node, life *history) bool {
	if len(p.releases.All) == 0 {
		p.fail(at.pos(), "add openapi/releases.yaml with the releases, oldest first", "a lifecycle in a project that names no releases")
		return false
	}
	found := len(p.errs)
	for _, name := range []string{life.Since, life.Until} {
		p.known(at, name)
	}
	for _, e := range life.before {
		p.known(e.at, e.key)
	}
	slices.SortStableFunc(life.before, func(a, b entry) int { return p.index(a.key) - p.index(b.key) })
	if len(p.errs) > found {
		return false
	}
	if life.Since != "" && life.Until != "" && p.index(life.Until) <= p.index(life.Since) {
		p.fail(at.pos(), "write a later one in until: the first release without the part", "the part ends with %s, and begins with %s", life.Until, life.Since)
		return false
	}
	for _, e := range life.before {
		if life.Since != "" && p.index(e.key) <= p.index(life.Since) {
			p.fail(e.at.pos(), "drop it", "the part begins with %s, so there is nothing before %s", life.Since, e.key)
		}
	}
	return len(p.errs) == found
}

// known checks that a release has one before it: a part of all releases needs no key.
func (p *presence) known(at node, name string) {
	switch p.index(name) {
	case -1:
		if name != "" {
			p.fail(at.pos(), remedyForRelease(p.releases.All), "there is no release %s", name)
		}
	case 0:
		p.fail(at.pos(), "drop it", "no release is before %s", name)
	}
}

func (p *presence) index(release string) int { return slices.Index(p.releases.All, release) }
