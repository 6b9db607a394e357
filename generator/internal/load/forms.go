package load

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"
)

// keyFiles are the forms of documents: a JSON Schema of each sort, with annotations of its own:
//
//   - x-words: the words that a text can be, with their meanings; the enum is made of them.
//   - x-when-absent: the meaning of a document without the key, in a sentence, where it is not a default.
//   - x-chapter: the chapter of the reference that begins with the key.
//   - x-mistakes: "mistake; remedy" by the keyword that a value breaks, "*" for any; see message.
//   - x-refused: "reason; remedy" by a word or a key that is refused for a reason of its own.
//   - x-elsewhere: the schema whose keys belong there, and not here.
//
//go:embed keys
var keyFiles embed.FS

// form is the JSON Schema of one sort of documents.
type form struct {
	text    []byte // as JSON, in the order of the file
	tree    map[string]any
	schemas map[string]*jsonschema.Schema // by references: "#" and those of partNames
}

// partNames are the schemas that hold themselves.
var partNames = []string{"#/$defs/part", "#/$defs/restriction"}

// formNames are the sorts of documents.
var formNames = []string{"schema", "version", "profile", "promises", "releases"}

// forms are compiled once, by their names.
var forms = sync.OnceValues(func() (map[string]*form, error) {
	all := map[string]*form{}
	for _, name := range formNames {
		f, err := readForm(name, all["schema"])
		if err != nil {
			return nil, fmt.Errorf("keys/%s.yaml: %w", name, err)
		}
		all[name] = f
	}
	return all, nil
})

// sharedParts are the parts of the form of schemas that other forms have too.
var sharedParts = map[string][]string{"version": {"check", "lifecycle"}, "promises": {"lifecycle"}}

// readForm reads a JSON Schema, completes and compiles it. Named checks are those of schemas.
func readForm(name string, schemas *form) (*form, error) {
	text, err := keyFiles.ReadFile("keys/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	root := doc.Content[0]
	f := &form{schemas: map[string]*jsonschema.Schema{}}
	if parts := sharedParts[name]; parts != nil {
		var other yaml.Node
		if err := yaml.Unmarshal(schemas.text, &other); err != nil {
			return nil, err
		}
		for _, shared := range parts {
			setChild(childOf(root, "$defs"), shared, childOf(childOf(other.Content[0], "$defs"), shared))
		}
	}
	addEnums(root)
	var b bytes.Buffer
	if err := writeJSON(&b, root); err != nil {
		return nil, err
	}
	f.text = b.Bytes()
	if err := json.Unmarshal(f.text, &f.tree); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("capstan:///"+name, bytes.NewReader(f.text)); err != nil {
		return nil, err
	}
	for _, ref := range append(partNames, "#") {
		if f.target(ref) == nil {
			continue
		}
		if f.schemas[ref], err = c.Compile("capstan:///" + name + ref); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// childOf is the value of a key of a mapping, or nil.
func childOf(n *yaml.Node, key string) *yaml.Node {
	child, _ := valueOf(node{Node: n}, key)
	return child.Node
}

// setChild adds a key to a mapping.
func setChild(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

// addEnums gives each schema with words their enum.
func addEnums(n *yaml.Node) {
	words, kind := childOf(n, "x-words"), childOf(n, "type")
	if words != nil && childOf(n, "enum") == nil && kind != nil && kind.Value == "string" {
		enum, meanings := &yaml.Node{Kind: yaml.SequenceNode}, &yaml.Node{Kind: yaml.SequenceNode}
		for i := 0; i < len(words.Content); i += 2 {
			enum.Content = append(enum.Content, words.Content[i])
			meanings.Content = append(meanings.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: words.Content[i+1].Value})
		}
		setChild(n, "enum", enum)
		setChild(n, "enumDescriptions", meanings) // editors show them
	}
	for _, child := range n.Content {
		addEnums(child)
	}
}

// changesOf is the schema of a document that says how it differs from another: the same keys,
// of which null takes one away. The document is checked as a whole when it is merged.
func changesOf(schema *yaml.Node) *yaml.Node {
	parts := map[string]string{"items": "schema", "additionalProperties": "schema", "properties": "schemas", "$defs": "schemas"}
	var b bytes.Buffer
	b.WriteString("title: a schema\ntype: [object, 'null']\nadditionalProperties: false\nproperties:\n")
	for _, e := range entriesOf(node{Node: childOf(schema, "properties")}) {
		switch parts[e.key] {
		case "schema":
			fmt.Fprintf(&b, "  %s: {$ref: '#/$defs/changes'}\n", e.key)
		case "schemas":
			fmt.Fprintf(&b, "  %s: {type: [object, 'null'], additionalProperties: {$ref: '#/$defs/changes'}}\n", e.key)
		default:
			fmt.Fprintf(&b, "  %s: {anyOf: [{type: 'null'}, {$ref: '#/$defs/schema/properties/%s'}]}\n", e.key, e.key)
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b.Bytes(), &doc); err != nil {
		panic(err) // keys are plain words
	}
	return doc.Content[0]
}

// wellFormed checks the form of a document, and reports whether it can be read: a document
// with mistakes of form can, so that all mistakes are found.
func (r *reader) wellFormed(n node, name string) bool {
	all, err := forms()
	if err != nil {
		r.fail(n.pos(), "report this mistake of the program", "the form of documents cannot be read: %v", err)
		return false
	}
	found := len(r.errs)
	c := checker{reader: r, form: all[name], due: []part{{n, "#"}}}
	for len(c.due) > 0 {
		next := c.due[0]
		c.due = c.due[1:]
		c.check(next)
	}
	slices.SortStableFunc(c.found, mistake.compare)
	for _, m := range c.found {
		r.fail(m.at.pos(), m.fix, "%s", m.what)
	}
	return len(r.errs) == found+len(c.found)
}

// checker checks the form of one document in parts. A report of the validator has all steps
// to its place, and so do those of all schemas around: a schema in another one is a part of
// its own, so that the steps are few.
type checker struct {
	*reader
	form  *form
	due   []part
	found []mistake
}

// part is a part of a document with the reference to its schema.
type part struct {
	at  node
	ref string
}

// check checks one part.
func (c *checker) check(p part) {
	found := len(c.errs)
	value := c.plain(p.at, c.form.target(p.ref))
	if len(c.errs) > found {
		return // an alias, which has no value for the validator
	}
	var wrong *jsonschema.ValidationError
	if err := c.form.schemas[p.ref].Validate(value); errors.As(err, &wrong) {
		m := mistakes{form: c.form, part: p, index: index{}}
		m.gather(wrong)
		c.found = append(c.found, m.all...)
	} else if err != nil {
		c.fail(p.at.pos(), "report this mistake of the program", "the form cannot be checked: %v", err)
	}
}

// jsonNumber matches the numbers of YAML that JSON has too.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// plain is a value of a document as the validator takes it, with an empty mapping in place of
// a schema that becomes a part of its own. A number that JSON lacks, like .inf or 0x1f, is a
// text to it.
func (c *checker) plain(n node, s any) any {
	s, ref := c.form.follow(s)
	switch {
	case n.Kind == yaml.AliasNode:
		c.fail(n.pos(), "write the value itself", "aliases of YAML are not followed")
	case n.Kind == yaml.MappingNode && ref != "":
		c.due = append(c.due, part{n, ref})
		return map[string]any{}
	case n.Kind == yaml.MappingNode:
		m, known, others := make(map[string]any, len(n.Content)/2), child(s, "properties"), child(s, "additionalProperties")
		for _, e := range entriesOf(n) {
			of := child(known, e.key)
			if of == nil {
				of = others
			}
			m[e.key] = c.plain(e.value, of)
		}
		return m
	case n.Kind == yaml.SequenceNode:
		list, of := make([]any, len(n.Content)), child(s, "items")
		for i, item := range n.Content {
			list[i] = c.plain(n.with(item), of)
		}
		return list
	}
	return scalar(n)
}

// scalar is a text, a number, a boolean or nil.
func scalar(n node) any {
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		return nil
	case tag == "!!bool":
		var is bool
		if n.Decode(&is) == nil {
			return is
		}
	case (tag == "!!int" || tag == "!!float") && jsonNumber.MatchString(n.Value):
		if whole, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return whole
		}
		if number, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return number
		}
	}
	return n.Value
}

// follow follows references from a schema to the one with the keys, or to that of a part of
// its own, whose reference it gives too.
func (f *form) follow(s any) (at any, partRef string) {
	for {
		ref, is := child(s, "$ref").(string)
		switch {
		case is && f.schemas[ref] != nil:
			return s, ref
		case is:
			s = f.target(ref)
		case child(s, "else") != nil:
			s = child(s, "else")
		case child(s, "allOf") != nil:
			s = child(child(s, "allOf"), "0")
		default:
			return s, ""
		}
	}
}

// EditorSchemas are the forms of the documents as JSON Schemas for editors, by the names of
// files. A description says there too what counts without the key.
func EditorSchemas() (map[string][]byte, error) {
	all, err := forms()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, f := range all {
		var doc yaml.Node
		var b, indented bytes.Buffer
		err := yaml.Unmarshal(f.text, &doc)
		if err == nil {
			if defs := childOf(doc.Content[0], "$defs"); name == "schema" {
				*childOf(defs, "changes") = *changesOf(childOf(defs, "schema"))
			}
			explainAbsence(doc.Content[0])
			err = writeJSON(&b, doc.Content[0])
		}
		if err == nil {
			err = json.Indent(&indented, b.Bytes(), "", " ")
		}
		if err != nil {
			return nil, err
		}
		files[name+".json"] = append(indented.Bytes(), '\n')
	}
	return files, nil
}

// explainAbsence adds the meaning of absence to descriptions, and drops the annotations that
// editors do not know.
func explainAbsence(n *yaml.Node) {
	text, absent := childOf(n, "description"), childOf(n, "x-when-absent")
	if text != nil && absent != nil && text.Kind == yaml.ScalarNode && absent.Kind == yaml.ScalarNode {
		text.Value += "\nWhen absent: " + absent.Value
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); {
		if key := n.Content[i].Value; strings.HasPrefix(key, "x-") && !strings.HasPrefix(key, "x-cluster-") {
			n.Content = slices.Delete(n.Content, i, i+2)
			continue
		}
		i += 2
	}
	for _, child := range n.Content {
		explainAbsence(child)
	}
}
