package load

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// A step that finds a mistake ends the way of all documents, since later steps would stumble over it. So the documents
// are read again without those that have mistakes, and without those that refer to them, until nothing more is found:
// mistakes that have nothing to do with each other are reported together, whichever steps find them.

// mostReadings bounds how often documents are read again: for each step, and for each link of a chain of references.
const mostReadings = 20

// piece is a document or, in that of a group version, a resource.
type piece struct{ file, resource string }

// rest has the documents that mistakes leave, and the names in those that they do not.
type rest struct {
	changed map[string][]byte // documents without some of their resources
	without map[string]bool   // documents that are left out
	gone    map[piece]bool
	kinds   []string // the types and kinds that are gone
	texts   [][]byte // of pieces that are gone
}

// others adds the mistakes in pieces that have nothing to do with those found. It gives the model of the right pieces,
// nil for none.
func (d *documents) others() *model.Model {
	r := rest{changed: map[string][]byte{}, without: map[string]bool{}, gone: map[piece]bool{}}
	maps.Copy(r.changed, d.changed)
	last, found := d, d.errs
	for range mostReadings {
		if !r.leaveOut(last, found) {
			return nil
		}
		last = newDocuments(d.root)
		last.changed, last.without, last.release = r.changed, r.without, d.release
		last.readAll()
		m, err := last.finish()
		if err == nil {
			return m
		}
		found = last.errs
		d.errs = append(d.errs, r.unrelated(last, found)...)
	}
	return nil
}

// leaveOut leaves out the pieces that have mistakes. It reports whether there are such, and nothing else is wrong.
func (r *rest) leaveOut(d *documents, found []*schema.Error) bool {
	before := len(r.gone)
	var pieces []piece
	for _, e := range found {
		p, ok := d.pieceAt(e.Pos)
		if !ok {
			return false
		}
		pieces = append(pieces, p)
	}
	for _, p := range pieces {
		if r.gone[p] || r.without[p.file] {
			continue
		}
		r.gone[p] = true
		text := r.changed[p.file]
		if text == nil {
			text = d.plainText(p.file)
		}
		r.remove(p, text)
	}
	return len(r.gone) > before
}

// remove leaves out one piece of a document.
func (r *rest) remove(p piece, text []byte) {
	resources := resourcesIn(text)
	if p.resource == "" {
		r.without[p.file] = true
		r.texts = append(r.texts, text)
		for _, other := range resources {
			r.kinds = append(r.kinds, other.kind)
		}
		if strings.HasPrefix(p.file, "schemas/") || len(resources) == 0 {
			r.kinds = append(append(r.kinds, strings.TrimSuffix(path.Base(p.file), ".yaml")), declared(text)...)
		}
		return
	}
	lines, left := bytes.SplitAfter(text, []byte("\n")), 0
	for _, one := range resources {
		if one.name != p.resource {
			left++
			continue
		}
		r.kinds = append(r.kinds, one.kind)
		r.texts = append(r.texts, bytes.Join(lines[one.from-1:one.to], nil))
		for i := one.from - 1; i < one.to; i++ {
			lines[i] = []byte("\n") // the others keep their lines
		}
	}
	r.changed[p.file] = bytes.Join(lines, nil)
	r.without[p.file] = left == 0
}

// unrelated are the mistakes in pieces that do not refer to those that are gone.
func (r *rest) unrelated(d *documents, found []*schema.Error) (mistakes []*schema.Error) {
	gone := anyOf(r.kinds)
	related := map[piece]bool{}
	for _, e := range found {
		if p, ok := d.pieceAt(e.Pos); !ok || gone.MatchString(e.What) || r.takenBack(e) {
			related[p] = true
		}
	}
	for _, e := range found {
		if p, _ := d.pieceAt(e.Pos); !related[p] {
			mistakes = append(mistakes, e)
		}
	}
	return mistakes
}

// takenBack reports whether a piece that is gone may have the names that a mistake misses.
func (r *rest) takenBack(e *schema.Error) bool {
	missing, ok := e.Of.(model.Missing)
	if !ok || len(missing.Names) == 0 {
		return ok
	}
	return slices.ContainsFunc(r.texts, anyOf(missing.Names).Match)
}

// anyOf matches texts with one of some words.
func anyOf(words []string) *regexp.Regexp {
	patterns := []string{"$^"} // no text with words
	for _, w := range words {
		if w != "" {
			patterns = append(patterns, `\b`+regexp.QuoteMeta(w)+`\b`)
		}
	}
	return regexp.MustCompile(strings.Join(patterns, "|"))
}

// pieceAt is the piece of the project's own documents at a place.
func (d *documents) pieceAt(pos schema.Position) (p piece, ok bool) {
	switch folder, _, _ := strings.Cut(pos.File, "/"); {
	case strings.HasSuffix(pos.File, ".yml"):
		return piece{file: pos.File}, true
	case folder == "schemas" && slices.Contains(d.list("schemas", "schemas/examples"), pos.File):
		return piece{file: pos.File}, true
	case folder != "openapi" || pos.File == "openapi/profile.yaml" || !slices.Contains(d.list("openapi", "openapi/released"), pos.File):
		return piece{}, false
	}
	p.file = pos.File
	for _, one := range resourcesIn(d.plainText(pos.File)) {
		if one.from <= pos.Line && pos.Line <= one.to {
			p.resource = one.name
		}
	}
	return p, true
}

// plainText is the text of a document that is a file of a usual size.
func (d *documents) plainText(name string) []byte {
	if text := d.changed[name]; text != nil {
		return text
	}
	at := filepath.Join(d.root, filepath.FromSlash(name))
	if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() || info.Size() > mostBytes {
		return nil
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return nil
	}
	return text
}

// resourceLines are the lines of a resource in the document of a group version.
type resourceLines struct {
	name, kind string
	from, to   int
}

// resourcesIn finds the resources of a document, if each has lines of its own.
func resourcesIn(text []byte) (all []resourceLines) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	end := bytes.Count(text, []byte("\n")) + 1
	root := node{Node: doc.Content[0]}
	of, ok := valueOf(root, "x-cluster-resources")
	if !ok || of.Kind != yaml.MappingNode || of.Style&yaml.FlowStyle != 0 {
		return nil
	}
	for _, e := range entriesOf(root) {
		if e.at.Line > of.Line && e.at.Line <= end {
			end = e.at.Line - 1
		}
	}
	for _, e := range entriesOf(of) {
		kind, _ := valueOf(e.value, "kind")
		one := resourceLines{name: e.key, from: e.at.Line, to: end}
		if kind.Node != nil {
			one.kind = kind.Value
		}
		if n := len(all); n > 0 {
			all[n-1].to = one.from - 1
		}
		all = append(all, one)
	}
	return all
}

// capital is the key of a type, or the kind of a resource, in a text that may be no YAML.
var capital = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*)"?\s*:|\bkind:\s*"?([A-Z][A-Za-z0-9]*)`)

// declared are the types in $defs of a document, or what looks like them.
func declared(text []byte) (names []string) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) == nil && len(doc.Content) > 0 {
		defs, _ := valueOf(node{Node: doc.Content[0]}, "$defs")
		for _, e := range entriesOf(defs) {
			names = append(names, e.key)
		}
		return names
	}
	for _, found := range capital.FindAllSubmatch(text, -1) {
		names = append(names, string(found[1])+string(found[2]))
	}
	return names
}
