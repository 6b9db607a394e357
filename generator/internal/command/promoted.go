package command

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// storedKeys are the keys of a resource that only the stored version has, without hooks and selectable,
// which further versions may have too.
var storedKeys = []string{"generation", "graceful", "completes", "expires", "statusOnCreate", "deleteReturnsObject", "role", "conditionalUpdate",
	"dependents", "orphanWarning", "protectedNames", "age", "reads", "columns"}

// block is a resource in a document: the lines of each of its keys, without their indentation.
type block struct {
	name          string // of the document
	indent        string
	before, after string // the rest of the document
	keys          []string
	lines         map[string][]string
	values        map[string]*yaml.Node
}

// open reads the resource from its document, changed or not.
func (p *promotion) open(r *model.Resource) (*block, error) {
	name := "openapi/" + r.GV.Dir + ".yaml"
	source := p.files[name]
	if source == nil {
		var err error
		if source, err = os.ReadFile(filepath.Join(p.root, filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	doc, root, err := readText(name, source)
	if err != nil {
		return nil, err
	}
	_, resources := doc.resourceEntries(root)
	e := entryOf(resources, r.Plural)
	if e.key == nil {
		return nil, fmt.Errorf("%s: write %s without braces, with a line for each of its keys, so that they can be moved", r.Pos, r.Plural)
	}
	keys := doc.entries(e.value, e.until)
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: write %s without braces, with a line for each of its keys, so that they can be moved", r.Pos, r.Plural)
	}
	b := &block{name: name, indent: strings.Repeat(" ", keys[0].key.Column-1), before: doc[:keys[0].from].String(), after: doc[keys[len(keys)-1].until:].String(),
		lines: map[string][]string{}, values: map[string]*yaml.Node{}}
	for _, k := range keys {
		b.keys = append(b.keys, k.key.Value)
		b.values[k.key.Value] = k.value
		for _, line := range doc[k.from:k.until] {
			b.lines[k.key.Value] = append(b.lines[k.key.Value], strings.TrimPrefix(strings.TrimSuffix(line, "\n"), b.indent)+"\n")
		}
	}
	return b, nil
}

// close puts the resource back into its document.
func (p *promotion) close(b *block) {
	var text strings.Builder
	text.WriteString(b.before)
	for _, key := range b.keys {
		for _, line := range b.lines[key] {
			if line != "\n" {
				text.WriteString(b.indent)
			}
			text.WriteString(line)
		}
	}
	text.WriteString(b.after)
	p.files[b.name] = []byte(text.String())
}

// take removes a key and returns its lines; nil if the resource lacks it.
func (b *block) take(key string) []string {
	lines := b.lines[key]
	b.drop(key)
	return lines
}

// drop removes keys and returns the value of the last one.
func (b *block) drop(keys ...string) (value *yaml.Node) {
	for _, key := range keys {
		value = b.values[key]
		delete(b.lines, key)
		delete(b.values, key)
		b.keys = slices.DeleteFunc(b.keys, func(k string) bool { return k == key })
	}
	return value
}

// add adds the lines of a key as the last one.
func (b *block) add(lines ...string) {
	for _, line := range lines {
		if key, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			b.keys, b.lines[key] = append(b.keys, key), lines
			return
		}
	}
}

// addFirst adds the line of a key behind kind and scope, and the lines of another one.
func (b *block) addFirst(line string, further []string) {
	b.add(line)
	added := b.keys[len(b.keys)-1]
	at := max(slices.Index(b.keys, "kind"), slices.Index(b.keys, "scope")) + 1
	b.keys = slices.Insert(b.keys[:len(b.keys)-1], at, added)
	if further != nil {
		b.add(further...)
	}
}

// list is the value of a key that is a list of words.
func (b *block) list(key string) (words []string) {
	if n := b.values[key]; n != nil {
		for _, item := range n.Content {
			words = append(words, item.Value)
		}
	}
	return words
}

// selectables is the key selectable of the version that becomes the stored one: the fields of the other one by
// their names, which clients know, and its own.
func selectables(was, is *yaml.Node, renamed model.Renaming) string {
	var items []string
	names := map[string]bool{}
	for _, list := range []*yaml.Node{was, is} {
		for i := 0; list != nil && i < len(list.Content); i++ {
			f := map[string]any{}
			if list.Content[i].Decode(&f) != nil {
				f = map[string]any{"name": list.Content[i].Value, "path": "." + list.Content[i].Value}
			}
			name := fmt.Sprint(f["name"])
			if names[name] {
				continue
			}
			names[name] = true
			if list == was {
				for _, key := range []string{"path", "else"} {
					if path, ok := f[key].(string); ok {
						f[key] = renamed.In(path)
					}
				}
			}
			if len(f) == 2 && f["path"] == "."+name {
				items = append(items, name)
				continue
			}
			var parts []string
			for _, key := range slices.Sorted(maps.Keys(f)) {
				parts = append(parts, fmt.Sprintf("%s: %v", key, f[key]))
			}
			items = append(items, "{"+strings.Join(parts, ", ")+"}")
		}
	}
	if items == nil {
		return ""
	}
	return "selectable: [" + strings.Join(items, ", ") + "]\n"
}

// report says what people do after the move.
func (p *promotion) report(release *compat.Release) string {
	var plurals, from []string
	for _, r := range p.moved {
		plurals = append(plurals, r.Plural)
		if !slices.Contains(from, r.StoredAs.GV.Dir) {
			from = append(from, r.StoredAs.GV.Dir)
		}
	}
	was := strings.Join(from, ", ")
	var b strings.Builder
	fmt.Fprintf(&b, "Objects of %s are stored as %s, and no longer as %s. With it moved: %s.\n\nDesigners:\n", strings.Join(plurals, ", "), p.to.Dir, was,
		strings.Join(append([]string{"storedAs"}, slices.Sorted(maps.Keys(p.keys))...), ", "))
	b.WriteString("  - Generate.\n")
	for _, m := range p.rename {
		fmt.Fprintf(&b, "  - Rename the method %s to %s.\n", m[0], m[1])
	}
	for _, m := range p.write {
		fmt.Fprintf(&b, "  - Write the method %s\n", m)
	}
	for _, m := range p.drop {
		fmt.Fprintf(&b, "    in place of %s\n", m)
	}
	for _, h := range p.hooks {
		fmt.Fprintf(&b, "  - These hooks get objects of %s now. Look at the fields that they read. %s\n", p.to.Version, h)
	}
	if preferred := p.preferred(); preferred != p.to {
		fmt.Fprintf(&b, "  - Clients still prefer %s. A versionPriority of %s above %d changes it.\n", preferred.Dir, p.to.Dir, preferred.VersionPriority)
	}
	b.WriteString("  - Test, and release.\n\nOperators, with that release:\n  1. Back up.\n  2. Replace the binary of every server, one after the other where several share an etcd.\n" +
		"  3. SERVER store migrate --data-dir D, while the server runs, rewrites the objects. Until then each read converts them.\n")
	if release != nil && !release.None() {
		fmt.Fprintf(&b, "  4. The way back leads to release %s, which can read them. Earlier releases need the backup.\n", release.Version)
	}
	fmt.Fprintf(&b, "A release may leave out %s only when all objects are migrated.\n", was)
	return b.String()
}

// preferred is the version of the group that clients prefer.
func (p *promotion) preferred() *model.GroupVersion {
	best := p.to
	for _, gv := range ownVersions(p.model) {
		if gv.Group == best.Group && gv.VersionPriority > best.VersionPriority {
			best = gv
		}
	}
	return best
}
