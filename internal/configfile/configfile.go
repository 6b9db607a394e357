// Package configfile reads configuration files, YAML or JSON. It is strict, since a
// misspelled field would change a configuration silently, and it reports mistakes with
// file and line.
package configfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value is a value in a file, with its position.
type Value struct {
	path string
	node *yaml.Node // nil for none
}

// Read reads the only document of a file. Errors: the file's, "path:line: mistake".
func Read(path string) (Value, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Value{}, err
	}
	return Parse(path, text)
}

// Parse is Read for the text of a file.
func Parse(path string, text []byte) (Value, error) {
	v := Value{path, &yaml.Node{Line: 1}}
	if err := yaml.Unmarshal(text, v.node); err != nil {
		return v, v.errors(err)
	}
	if len(v.node.Content) == 0 {
		return v, v.Wrong("the file is empty")
	}
	v.node = v.node.Content[0]
	return v, nil
}

// At is the value of a member (a string), or of an element (an int), inside the value. It
// does not exist if there is none.
func (v Value) At(steps ...any) Value {
	for _, step := range steps {
		v.node = v.step(step)
	}
	return v
}

func (v Value) step(step any) *yaml.Node {
	n := v.node
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch at := step.(type) {
	case int:
		if n != nil && n.Kind == yaml.SequenceNode && at < len(n.Content) {
			return n.Content[at]
		}
	case string:
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == at {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

// Exists reports whether there is such a value, other than null.
func (v Value) Exists() bool { return v.node != nil && v.node.Tag != "!!null" }

// Beside is a path in the file, which is relative to its folder.
func (v Value) Beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(v.path), path)
}

// Wrong is an error about the value.
func (v Value) Wrong(format string, args ...any) error {
	line := 1
	if v.node != nil {
		line = max(v.node.Line, 1)
	}
	return fmt.Errorf("%s:%d: %s", v.path, line, fmt.Sprintf(format, args...))
}

// WrongAt is an error about the value inside, or if it does not exist about the nearest
// one around it that does.
func (v Value) WrongAt(steps []any, format string, args ...any) error {
	for len(steps) > 0 && v.At(steps...).node == nil {
		steps = steps[:len(steps)-1]
	}
	return v.At(steps...).Wrong(format, args...)
}

// Is refuses a value that is another kind of configuration; versions are possible
// apiVersions.
func (v Value) Is(kind string, versions ...string) error {
	var is struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	if err := v.node.Decode(&is); err != nil {
		return v.errors(err)
	}
	if is.Kind != kind || !slices.Contains(versions, is.APIVersion) {
		return v.Wrong("kind %q of %q is not what belongs here: write kind: %s and apiVersion: %s", is.Kind, is.APIVersion, kind, strings.Join(versions, " or "))
	}
	return nil
}

// Load reads a file of a kind, in one of these versions, into a struct.
func Load(path string, into any, kind string, versions ...string) (Value, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Value{}, err
	}
	return LoadText(path, text, into, kind, versions...)
}

// Versions are those of a group that a release reads: v1alpha1, and v1beta1 and v1 since the releases that they came in.
func Versions(group string, since func(release string) bool, v1beta1, v1 string) []string {
	all := []string{group + "/v1alpha1"}
	if since(v1beta1) {
		all = append(all, group+"/v1beta1")
	}
	if since(v1) {
		all = append(all, group+"/v1")
	}
	return all
}

// LoadText is Load for the text of a file.
func LoadText(path string, text []byte, into any, kind string, versions ...string) (Value, error) {
	v, err := Parse(path, text)
	if err == nil {
		err = v.Is(kind, versions...)
	}
	if err == nil {
		err = v.Decode(into)
	}
	return v, err
}

// Decode reads the value into a struct, whose fields have yaml tags. Unknown fields are
// mistakes, but for apiVersion and kind of the value itself.
func (v Value) Decode(into any) error {
	if err := v.node.Decode(into); err != nil {
		return v.errors(err)
	}
	return errors.Join(v.unknown(reflect.TypeOf(into).Elem(), v.node, "apiVersion", "kind")...)
}

// unknown are the errors about fields that the type does not have.
func (v Value) unknown(t reflect.Type, n *yaml.Node, besides ...string) (all []error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			all = append(all, v.unknown(t.Elem(), item)...)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct && t != reflect.TypeFor[yaml.Node]():
		fields := map[string]reflect.Type{}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			fields[name] = f.Type
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if known := fields[key.Value]; known != nil {
				all = append(all, v.unknown(known, n.Content[i+1])...)
			} else if !slices.Contains(besides, key.Value) {
				all = append(all, Value{v.path, key}.Wrong("unknown field %q", key.Value))
			}
		}
	}
	return all
}

var lineOf = regexp.MustCompile(`^(?:yaml: )?line (\d+): (?s:(.*))$`)

// errors gives the library's errors our form.
func (v Value) errors(err error) error {
	texts := []string{err.Error()}
	if many := new(yaml.TypeError); errors.As(err, &many) {
		texts = many.Errors
	}
	all := make([]error, len(texts))
	for i, text := range texts {
		if m := lineOf.FindStringSubmatch(text); m != nil {
			all[i] = fmt.Errorf("%s:%s: %s", v.path, m[1], m[2])
		} else {
			all[i] = v.Wrong("%s", strings.TrimPrefix(text, "yaml: "))
		}
	}
	return errors.Join(all...)
}
