// Package foreign reads schemas that are not documents: custom resource definitions and
// OpenAPI 3, of files and of servers, with their lines.
package foreign

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is a node of a file.
type Place struct{ *yaml.Node }

// At is the value of a key; the place is empty without it.
func (p Place) At(key string) Place {
	if p.Node == nil || p.Kind != yaml.MappingNode {
		return Place{}
	}
	for i := 0; i+1 < len(p.Content); i += 2 {
		if p.Content[i].Value == key {
			return Place{p.Content[i+1]}
		}
	}
	return Place{}
}

// Extension is the value of a key that begins with the prefix of an installation, as in
// x-example-list-type.
func (p Place) Extension(name string) (found Place) {
	p.Each(func(key string, _, value Place) {
		if strings.HasPrefix(key, "x-") && strings.HasSuffix(key, "-"+name) {
			found = value
		}
	})
	return found
}

// Here reports whether there is a value, and not null.
func (p Place) Here() bool { return p.Node != nil && p.Tag != "!!null" }

// Text is the text of a scalar, "" for others.
func (p Place) Text() string {
	if p.Node == nil || p.Kind != yaml.ScalarNode {
		return ""
	}
	return p.Value
}

// Yes reports whether the value is true.
func (p Place) Yes() bool { return p.Text() == "true" }

// Each visits the entries of a mapping.
func (p Place) Each(visit func(key string, at, value Place)) {
	for i := 0; p.Node != nil && p.Kind == yaml.MappingNode && i+1 < len(p.Content); i += 2 {
		visit(p.Content[i].Value, Place{p.Content[i]}, Place{p.Content[i+1]})
	}
}

// Items are the elements of a list.
func (p Place) Items() (all []Place) {
	if p.Node != nil && p.Kind == yaml.SequenceNode {
		for _, n := range p.Content {
			all = append(all, Place{n})
		}
	}
	return all
}

// Texts are the elements of a list of scalars.
func (p Place) Texts() (all []string) {
	for _, item := range p.Items() {
		all = append(all, item.Text())
	}
	return all
}

// JSON is the value as canonical JSON, "" for none.
func (p Place) JSON() string {
	var v any
	if p.Node == nil || p.Decode(&v) != nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// Number is nil for everything else.
func (p Place) Number() *float64 {
	if v, err := strconv.ParseFloat(p.Text(), 64); err == nil {
		return &v
	}
	return nil
}

// Count is a whole number; without one, or with 0, it is absent.
func (p Place) Count(absent int) int {
	v, err := strconv.Atoi(p.Text())
	if err != nil || v == 0 {
		return absent
	}
	return v
}

// LineOf is the line of a place, 1 for none.
func LineOf(p Place) int {
	if p.Node == nil {
		return 1
	}
	return p.Line
}
