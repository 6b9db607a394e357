package compat

import (
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is a node of a file.
type place struct{ *yaml.Node }

// at is the value of a key; the place is empty without it.
func (p place) at(key string) place {
	if p.Node == nil || p.Kind != yaml.MappingNode {
		return place{}
	}
	for i := 0; i+1 < len(p.Content); i += 2 {
		if p.Content[i].Value == key {
			return place{p.Content[i+1]}
		}
	}
	return place{}
}

// extension is the value of a key that begins with the prefix of an installation, as in
// x-example-list-type.
func (p place) extension(name string) (found place) {
	p.each(func(key string, _, value place) {
		if strings.HasPrefix(key, "x-") && strings.HasSuffix(key, "-"+name) {
			found = value
		}
	})
	return found
}

func (p place) here() bool { return p.Node != nil && p.Tag != "!!null" }

func (p place) text() string {
	if p.Node == nil || p.Kind != yaml.ScalarNode {
		return ""
	}
	return p.Value
}

func (p place) yes() bool { return p.text() == "true" }

// each visits the entries of a mapping.
func (p place) each(visit func(key string, at, value place)) {
	for i := 0; p.Node != nil && p.Kind == yaml.MappingNode && i+1 < len(p.Content); i += 2 {
		visit(p.Content[i].Value, place{p.Content[i]}, place{p.Content[i+1]})
	}
}

func (p place) items() (all []place) {
	if p.Node != nil && p.Kind == yaml.SequenceNode {
		for _, n := range p.Content {
			all = append(all, place{n})
		}
	}
	return all
}

func (p place) texts() (all []string) {
	for _, item := range p.items() {
		all = append(all, item.text())
	}
	return all
}

// json is the value as canonical JSON, "" for none.
func (p place) json() string {
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

func (p place) number() *float64 {
	if v, err := strconv.ParseFloat(p.text(), 64); err == nil {
		return &v
	}
	return nil
}

func (p place) count(absent int) int {
	v, err := strconv.Atoi(p.text())
	if err != nil || v == 0 {
		return absent
	}
	return v
}

func lineAt(p place) int {
	if p.Node == nil {
		return 1
	}
	return p.Line
}
