package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MostBytes bounds a file or an answer, since it becomes a tree in memory.
const MostBytes = 32 << 20

// mostDeep bounds the nesting of values.
const mostDeep = 1000

// File is a file with schemas in JSON or YAML, and the mistakes that were found in it.
type File struct {
	Name  string
	Roots []Place // its documents
	errs  []error
}

// Fail adds a mistake at a place, with its remedy.
func (f *File) Fail(at Place, fix, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s:%d: %s; %s", f.Name, max(LineOf(at), 1), fmt.Sprintf(format, args...), fix))
}

// Err joins the mistakes.
func (f *File) Err() error { return errors.Join(f.errs...) }

// Read reads a file.
func Read(name string) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > MostBytes {
		return nil, fmt.Errorf("%s:1: the file has %d MiB, more than %d; split it, or remove what is not needed", name, info.Size()>>20, MostBytes>>20)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// Parse reads a text with custom resource definitions or an OpenAPI 3 document.
func Parse(name string, text []byte) (*File, error) {
	f := &File{Name: name}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: not YAML or JSON: %s; fix it", name, lineOf(err), strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if len(doc.Content) > 0 && doc.Content[0].Kind == yaml.MappingNode {
			f.Roots = append(f.Roots, Place{doc.Content[0]})
		}
	}
	for _, root := range f.Roots {
		f.plain(root.Node, 0)
	}
	if len(f.Roots) == 0 {
		f.Fail(Place{}, "name a file with custom resource definitions, or an OpenAPI 3 document", "the file is empty")
		return nil, f.Err()
	}
	if v := f.Roots[0].At("swagger"); v.Here() {
		f.Fail(v, "convert it to OpenAPI 3; a server has one below /openapi/v3", "the document is OpenAPI %s", v.Text())
	}
	if v := f.Roots[0].At("openapi"); v.Here() && !strings.HasPrefix(v.Text(), "3.") {
		f.Fail(v, "write OpenAPI 3.0 or 3.1", "the document is OpenAPI %s", v.Text())
	}
	return f, f.Err()
}

// plain refuses keys that are there twice, and aliases, whose values would have to be copied.
func (f *File) plain(n *yaml.Node, depth int) {
	if depth > mostDeep {
		f.Fail(Place{n}, "give inner types names", "values are nested more than %d deep", mostDeep)
		return
	}
	if n.Kind == yaml.AliasNode {
		f.Fail(Place{n}, "write the value", "*%s is an alias", n.Value)
		return
	}
	seen := map[string]int{}
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if line := seen[part.Value]; line > 0 {
				f.Fail(Place{part}, "keep one of them", "the key %q is here twice, first in line %d", part.Value, line)
			}
			seen[part.Value] = max(part.Line, 1)
		}
		f.plain(part, depth+1)
	}
}

// OpenAPI reports whether the file is an OpenAPI document, rather than objects.
func (f *File) OpenAPI() bool { return f.Roots[0].At("openapi").Here() }

// lineOf is the line that a mistake in YAML names.
func lineOf(err error) int {
	line := 1
	if at := strings.Index(err.Error(), "line "); at >= 0 {
		_, _ = fmt.Sscanf(err.Error()[at:], "line %d", &line)
	}
	return line
}
