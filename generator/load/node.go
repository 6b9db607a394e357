package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// reader reads YAML documents and gathers what is wrong with them.
type reader struct {
	root string
	errs []error
}

func (r *reader) fail(pos schema.Position, mend, format string, args ...any) {
	r.errs = append(r.errs, &schema.Error{Pos: pos, What: fmt.Sprintf(format, args...), Mend: mend})
}

func (r *reader) err() error { return errors.Join(r.errs...) }

// node is a place in a YAML document.
type node struct {
	*yaml.Node
	file string
}

func (n node) pos() schema.Position { return schema.Position{File: n.file, Line: n.Line} }

func (n node) with(y *yaml.Node) node { return node{y, n.file} }

// file parses one document. name is relative to the project's root.
func (r *reader) file(path, name string) (node, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		r.fail(schema.Position{File: name}, "make the file readable", "%v", err)
		return node{}, false
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		line := 1
		_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line) // stays 1 when the parser names none
		r.fail(schema.Position{File: name, Line: line}, "mend the YAML", "not valid YAML: %v", err)
		return node{}, false
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		r.fail(schema.Position{File: name, Line: 1}, "write a document with keys", "the document is not a mapping")
		return node{}, false
	}
	return node{doc.Content[0], name}, true
}

// entry is one key of a mapping with its value.
type entry struct {
	key   string
	at    node // the key
	value node
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

// object reads a mapping whose keys are known.
func (r *reader) object(n node, what string, fields map[string]func(node)) {
	for _, e := range r.entries(n) {
		if set := fields[e.key]; set != nil {
			set(e.value)
			continue
		}
		known := make([]string, 0, len(fields))
		for name := range fields {
			known = append(known, name)
		}
		mend := "remove it"
		if near := nearest(e.key, known); near != "" {
			mend = fmt.Sprintf("did you mean %q?", near)
		}
		r.fail(e.at.pos(), mend, "%s has no key %q", what, e.key)
	}
}

func (r *reader) text(to *string) func(node) {
	return func(n node) {
		if n.Kind != yaml.ScalarNode {
			r.fail(n.pos(), "write one value", "a text is expected here")
			return
		}
		*to = n.Value
	}
}

func (r *reader) boolean(to *bool) func(node) {
	return func(n node) {
		if n.Decode(to) != nil {
			r.fail(n.pos(), "write true or false", "%q is neither true nor false", n.Value)
		}
	}
}

func (r *reader) optionalBool(to **bool) func(node) {
	return func(n node) {
		*to = new(bool)
		r.boolean(*to)(n)
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

func (r *reader) optionalInt(to **int) func(node) {
	return func(n node) {
		*to = new(int)
		r.integer(*to)(n)
	}
}

func (r *reader) number(to **float64) func(node) {
	return func(n node) {
		v, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || n.Kind != yaml.ScalarNode {
			r.fail(n.pos(), "write a number", "%q is not a number", n.Value)
			return
		}
		*to = &v
	}
}

func (r *reader) texts(to *[]string) func(node) {
	return func(n node) {
		if n.Kind != yaml.SequenceNode {
			r.fail(n.pos(), "write a list: [a, b]", "a list is expected here")
			return
		}
		for _, y := range n.Content {
			var text string
			r.text(&text)(n.with(y))
			*to = append(*to, text)
		}
	}
}

// json reads any value as canonical JSON text.
func (r *reader) json(to *[]byte) func(node) {
	return func(n node) {
		var v any
		err := n.Decode(&v)
		if err == nil {
			*to, err = json.Marshal(v)
		}
		if err != nil {
			r.fail(n.pos(), "write a value that JSON can hold", "not a JSON value: %v", err)
		}
	}
}

// nearest finds the known word that a misspelt one probably means.
func nearest(word string, known []string) string {
	best, distance := "", len(word)/3+2
	for _, k := range known {
		if d := editDistance(word, k); d < distance || d == distance && best != "" && k < best {
			best, distance = k, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
