package load

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// reader reads YAML documents and gathers the mistakes in them.
type reader struct {
	root            string
	module          string            // the import path of a module on top of the built-in groups; "" for these themselves
	names           *strings.Replacer // of the profile: <groupSuffix> and so on
	places          map[*schema.Schema]map[string]schema.Position
	inner           map[*schema.Schema][]innerMessage
	files           map[*yaml.Node]string // of nodes merged into another document
	changed         map[string][]byte     // documents in place of those below root
	without         map[string]bool       // documents that are left out
	spared          *spared               // places that are taken out; nil for none
	every           bool                  // the parts of all releases, as they are in the last one that has them
	release         string                // asked for; "" for the usual one
	releases        model.Releases
	builtInReleases model.Releases // of the documents that a module refers to
	errs            []*schema.Error
	size            int64 // of the documents so far
}

func (r *reader) fail(pos schema.Position, fix, format string, args ...any) {
	r.failOf(nil, pos, fix, format, args...)
}

// failOf notes a mistake in a part that programs can do without.
func (r *reader) failOf(part any, pos schema.Position, fix, format string, args ...any) {
	r.errs = append(r.errs, &schema.Error{Pos: pos, What: fmt.Sprintf(format, args...), Fix: fix, Of: part})
}

// err joins the mistakes, each once, in the order of files and lines.
func (r *reader) err() error {
	slices.SortStableFunc(r.errs, func(a, b *schema.Error) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	var errs []error
	said := map[string]bool{}
	for _, e := range r.errs {
		if text := e.Error(); !said[text] {
			said[text] = true
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// at is the line of a key of a schema, or of the schema when it lacks the key.
func (r *reader) at(s *schema.Schema, key string) schema.Position {
	if pos, ok := r.places[s][key]; ok {
		return pos
	}
	return s.Pos
}

// node is a place in a YAML document.
type node struct {
	*yaml.Node
	file  string
	files map[*yaml.Node]string // those of the reader
}

func (n node) pos() schema.Position { return schema.Position{File: n.file, Line: n.Line} }

// with is another place of the document: in the same file, unless it was merged into it.
func (n node) with(y *yaml.Node) node {
	file, merged := n.files[y]
	if !merged {
		file = n.file
	}
	return node{y, file, n.files}
}

// mostBytes is the greatest size of a document, and mostTogether that of all.
const mostBytes, mostTogether = 8 << 20, 24 << 20

// file is one document as it is in the release, named relative to the project's root; ok is false if it is not there.
func (r *reader) file(name string) (n node, text []byte, ok bool) {
	if n, text, ok = r.wholeFile(name); ok {
		n, ok = r.present(name, n, text)
	}
	return n, text, ok
}

// wholeFile parses one document with the parts of all releases. The names of the profile are filled in before.
func (r *reader) wholeFile(name string) (n node, text []byte, ok bool) {
	path := filepath.Join(r.root, filepath.FromSlash(name))
	switch info, err := os.Lstat(path); {
	case err != nil || r.changed[name] != nil:
	case info.Mode()&os.ModeSymlink != 0:
		r.fail(schema.Position{File: name, Line: 1}, "copy the document to this place", "the document is a link, which may lead out of the folder")
		return node{}, nil, false
	case !info.Mode().IsRegular():
		r.fail(schema.Position{File: name, Line: 1}, "remove it, or give it another ending", "the document is not a file")
		return node{}, nil, false
	case info.Size() > mostBytes:
		r.fail(schema.Position{File: name, Line: 1}, "split it; a type has a file of its own", "the document has %d MiB, more than %d",
			info.Size()>>20, mostBytes>>20)
		return node{}, nil, false
	case r.size > mostTogether:
		return node{}, nil, false // reported
	default:
		if r.size += info.Size(); r.size > mostTogether {
			r.fail(schema.Position{File: name, Line: 1}, "make groups that are apart servers of their own",
				"with this one the documents have more than %d MiB", mostTogether>>20)
			return node{}, nil, false
		}
	}
	text, err := r.read(name)
	if err != nil {
		r.fail(schema.Position{File: name, Line: 1}, "make it a readable file", "the document cannot be read")
		return node{}, nil, false
	}
	if r.names != nil {
		text = []byte(r.names.Replace(string(text)))
	}
	if n, ok = r.parse(name, text); ok {
		r.spared.spare(name, n)
	}
	return n, text, ok
}

func (r *reader) parse(name string, text []byte) (node, bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		line, what := 1, strings.TrimPrefix(err.Error(), "yaml: ")
		if n, _ := fmt.Sscanf(what, "line %d:", &line); n == 1 { // else the parser names none
			_, what, _ = strings.Cut(what, ": ")
		}
		at, fix := misplaced(text, line), "fix the YAML"
		if at != line {
			what, fix = "the line does not fit to those before it", "check its indentation, colons and quotes"
		}
		if tabbed(text, at) {
			what, fix = "a tab indents the line", "write spaces"
		}
		r.fail(schema.Position{File: name, Line: at}, fix, "not valid YAML: %s", what)
		return node{}, false
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		r.fail(schema.Position{File: name, Line: 1}, "write a document with keys", "the document is not a mapping")
		return node{}, false
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		r.fail(schema.Position{File: name, Line: max(more.Line, 1)}, "write one document per file", "the file holds more than one document")
	}
	return node{doc.Content[0], name, r.files}, true
}

// entry is one key of a mapping with its value.
type entry struct {
	key   string
	at    node // the key
	value node
}

// valueOf finds the value of a key of a mapping.
func valueOf(n node, key string) (node, bool) {
	for i := 0; n.Node != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.with(n.Content[i+1]), true
		}
	}
	return node{}, false
}

// posOf is the line of the value of a key, or of the entry when it lacks the key.
func (e entry) posOf(key string) schema.Position {
	if n, ok := valueOf(e.value, key); ok {
		return n.pos()
	}
	return e.at.pos()
}

// entries lists the keys of a mapping, and refuses repeated ones.
func (r *reader) entries(n node) []entry {
	if n.Kind != yaml.MappingNode {
		r.fail(n.pos(), "write keys and values", "a mapping is expected here")
		return nil
	}
	seen := map[string]int{}
	var out []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.with(n.Content[i])
		if line, twice := seen[key.Value]; twice {
			r.fail(key.pos(), "keep one of them", "the key %q is here twice, first in line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		out = append(out, entry{key.Value, key, n.with(n.Content[i+1])})
	}
	return out
}

// items lists the elements of a sequence.
func (r *reader) items(n node) []node {
	if n.Kind != yaml.SequenceNode {
		r.fail(n.pos(), "write a list", "a list is expected here")
		return nil
	}
	var out []node
	for _, y := range n.Content {
		out = append(out, n.with(y))
	}
	return out
}

// object reads the known keys of a mapping. Like text and boolean it takes what it can: the
// form of the document reports the rest.
func (r *reader) object(n node, fields map[string]func(node)) {
	for _, e := range r.entries(n) {
		if set := fields[e.key]; set != nil {
			set(e.value)
		}
	}
}

func (r *reader) text(to *string) func(node) {
	return func(n node) {
		if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
			*to = n.Value
		}
	}
}

func (r *reader) texts(to *[]string) func(node) {
	return func(n node) {
		for _, item := range r.items(n) {
			var text string
			r.text(&text)(item)
			*to = append(*to, text)
		}
	}
}

func (r *reader) boolean(to *bool) func(node) {
	return func(n node) {
		*to = n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && strings.EqualFold(n.Value, "true")
	}
}

func (r *reader) optionalBool(to **bool) func(node) {
	return func(n node) {
		*to = new(bool)
		r.boolean(*to)(n)
	}
}

// not reads the opposite of a boolean.
func (r *reader) not(to *bool) func(node) {
	return func(n node) {
		var yes bool
		r.boolean(&yes)(n)
		*to = !yes
	}
}

func (r *reader) integer(to *int) func(node) {
	return func(n node) {
		v, err := strconv.Atoi(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			r.fail(n.pos(), "write a whole number", "%q is not a whole number", n.Value)
			return
		}
		*to = v
	}
}

// count reads a whole number, of which none differs from 0.
func (r *reader) count(to **int) func(node) {
	return func(n node) {
		*to = new(int)
		r.integer(*to)(n)
	}
}

func (r *reader) number(to **float64) func(node) {
	return func(n node) {
		v, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || n.Kind != yaml.ScalarNode || v-v != 0 { // v-v: not for NaN and infinities
			r.fail(n.pos(), "write a number", "%q is not a number", n.Value)
			return
		}
		*to = &v
	}
}

// json reads any value as JSON text, the shortest form, in the order of the document.
func (r *reader) json(to *[]byte) func(node) {
	return func(n node) {
		var v any
		var b bytes.Buffer
		err := n.Decode(&v)
		if err == nil {
			err = writeJSON(&b, n.Node)
		}
		if err != nil {
			r.fail(n.pos(), "write a value that JSON can hold", "not a JSON value: %v", err)
			return
		}
		*to = b.Bytes()
	}
}

func writeJSON(b *bytes.Buffer, n *yaml.Node) (err error) {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content) && err == nil; i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			if err = writeScalar(b, n.Content[i].Value); err == nil {
				b.WriteByte(':')
				err = writeJSON(b, n.Content[i+1])
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i := 0; i < len(n.Content) && err == nil; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			err = writeJSON(b, n.Content[i])
		}
		b.WriteByte(']')
	default:
		var v any
		if err = n.Decode(&v); err == nil {
			err = writeScalar(b, v)
		}
	}
	return err
}

func writeScalar(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	b.Truncate(len(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
	return err
}
