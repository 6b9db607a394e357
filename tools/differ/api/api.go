// Package api reads the reference server's own description of its resources: discovery and the OpenAPI v3 documents.
package api

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/exec"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Resource is one resource of one group version.
type Resource struct {
	Group, Version, Name, Kind string
	Namespaced                 bool
	Verbs                      map[string]bool
	Subresources               []string
	Schema                     *Schema
}

// ID is like deployments.apps/v1, or pods/v1 for the core group.
func (r *Resource) ID() string { return r.Short() + "/" + r.Version }

// Short is like deployments.apps, or pods.
func (r *Resource) Short() string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}

// APIVersion is the apiVersion of the resource's objects.
func (r *Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// Path is the collection's path; namespaces are named where the resource has them.
func (r *Resource) Path(ns string) string {
	p := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		p = "/api/" + r.Version
	}
	if r.Namespaced && ns != "" {
		p += "/namespaces/" + ns
	}
	return p + "/" + r.Name
}

// Schema is a node of a schema document with references resolved when asked for.
type Schema struct {
	doc  *document
	node map[string]any
	Type string // last part of the referenced definition's name, like Container; empty for inline schemas
}

type document struct {
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

// API is everything the server serves.
type API struct {
	Resources []*Resource
}

// Remove forgets a group.
func (a *API) Remove(group string) {
	kept := a.Resources[:0]
	for _, r := range a.Resources {
		if r.Group != group {
			kept = append(kept, r)
		}
	}
	a.Resources = kept
}

func get(ctx context.Context, s exec.Server, path string, into any) error {
	a, err := s.Do(ctx, &scenario.Step{Method: "GET", Path: path}, nil)
	if err != nil {
		return err
	}
	if a.Status != 200 {
		return fmt.Errorf("GET %s: %d %.200s", path, a.Status, a.Body)
	}
	return json.Unmarshal(a.Body, into)
}

// Load asks the server.
func Load(ctx context.Context, s exec.Server) (*API, error) {
	var groups struct {
		Groups []struct {
			Name     string `json:"name"`
			Versions []struct {
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"groups"`
	}
	if err := get(ctx, s, "/apis", &groups); err != nil {
		return nil, err
	}
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := get(ctx, s, "/openapi/v3", &index); err != nil {
		return nil, err
	}
	a := &API{}
	var old *document
	add := func(group, version, path string) error {
		doc := &document{}
		p, ok := index.Paths[strings.TrimPrefix(path, "/")]
		if !ok {
			// Groups served by the aggregator itself are described in the version 2 document only.
			if old == nil {
				var v2 struct {
					Definitions map[string]map[string]any `json:"definitions"`
				}
				if err := get(ctx, s, "/openapi/v2", &v2); err != nil {
					return err
				}
				old = &document{}
				old.Components.Schemas = v2.Definitions
			}
			doc = old
		} else if err := get(ctx, s, p.URL, doc); err != nil {
			return err
		}
		return a.add(ctx, s, group, version, path, doc)
	}
	if err := add("", "v1", "/api/v1"); err != nil {
		return nil, err
	}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			if err := add(g.Name, v.Version, "/apis/"+g.Name+"/"+v.Version); err != nil {
				return nil, err
			}
		}
	}
	sort.Slice(a.Resources, func(i, j int) bool { return a.Resources[i].ID() < a.Resources[j].ID() })
	return a, nil
}

func (a *API) add(ctx context.Context, s exec.Server, group, version, path string, doc *document) error {
	var list struct {
		Resources []struct {
			Name, Kind string
			Namespaced bool
			Verbs      []string
		} `json:"resources"`
	}
	if err := get(ctx, s, path, &list); err != nil {
		return err
	}
	byName := map[string]*Resource{}
	for _, r := range list.Resources {
		if strings.Contains(r.Name, "/") {
			continue
		}
		x := &Resource{Group: group, Version: version, Name: r.Name, Kind: r.Kind, Namespaced: r.Namespaced, Verbs: map[string]bool{}}
		for _, v := range r.Verbs {
			x.Verbs[v] = true
		}
		x.Schema = find(doc, group, version, r.Kind)
		byName[r.Name] = x
		a.Resources = append(a.Resources, x)
	}
	for _, r := range list.Resources {
		if n, sub, ok := strings.Cut(r.Name, "/"); ok && byName[n] != nil {
			byName[n].Subresources = append(byName[n].Subresources, sub)
		}
	}
	return nil
}

// find looks for the definition of a kind.
func find(doc *document, group, version, kind string) *Schema {
	names := make([]string, 0, len(doc.Components.Schemas))
	for n := range doc.Components.Schemas {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		node := doc.Components.Schemas[n]
		l, _ := node["x-kubernetes-group-version-kind"].([]any)
		for _, x := range l {
			m, _ := x.(map[string]any)
			if m["group"] == group && m["version"] == version && m["kind"] == kind && len(l) == 1 {
				return &Schema{doc: doc, node: node, Type: short(n)}
			}
		}
	}
	return nil
}

func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// NewSchema makes a schema of a document's definitions; the tests use it.
func NewSchema(definitions map[string]map[string]any, name string) *Schema {
	d := &document{}
	d.Components.Schemas = definitions
	return &Schema{doc: d, node: definitions[name], Type: short(name)}
}

func (s *Schema) resolve(node map[string]any) *Schema {
	if node == nil {
		return nil
	}
	ref, _ := node["$ref"].(string)
	if l, ok := node["allOf"].([]any); ok && len(l) == 1 {
		m, _ := l[0].(map[string]any)
		ref, _ = m["$ref"].(string)
	}
	if ref == "" {
		return &Schema{doc: s.doc, node: node}
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	return &Schema{doc: s.doc, node: s.doc.Components.Schemas[name], Type: short(name)}
}

// Properties lists the names of the fields, sorted.
func (s *Schema) Properties() []string {
	if s == nil {
		return nil
	}
	m, _ := s.node["properties"].(map[string]any)
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Property is the schema of a field; nil when there is none.
func (s *Schema) Property(name string) *Schema {
	if s == nil {
		return nil
	}
	if m, ok := s.node["properties"].(map[string]any); ok {
		if n, ok := m[name].(map[string]any); ok {
			return s.resolve(n)
		}
	}
	return s.Values()
}

// Values is the schema of a map's values; nil when the schema is not a map.
func (s *Schema) Values() *Schema {
	if s == nil {
		return nil
	}
	n, _ := s.node["additionalProperties"].(map[string]any)
	return s.resolve(n)
}

// Items is the schema of a list's items; nil when the schema is not a list.
func (s *Schema) Items() *Schema {
	if s == nil {
		return nil
	}
	n, _ := s.node["items"].(map[string]any)
	return s.resolve(n)
}

// Kind is the JSON type: object, map, array, string, integer, number, boolean, or any.
func (s *Schema) Kind() string {
	if s == nil || s.node == nil {
		return "any"
	}
	switch t, _ := s.node["type"].(string); {
	case s.Type == "IntOrString":
		return "int-or-string"
	case s.Type == "Quantity":
		return "quantity"
	case t == "object" && s.node["additionalProperties"] != nil:
		return "map"
	case t == "object" && s.node["properties"] == nil:
		return "any"
	case t != "":
		return t
	}
	return "any"
}

// Format is the format of a scalar.
func (s *Schema) Format() string {
	if s == nil {
		return ""
	}
	f, _ := s.node["format"].(string)
	return f
}

// Enum lists the allowed values.
func (s *Schema) Enum() []any {
	if s == nil {
		return nil
	}
	l, _ := s.node["enum"].([]any)
	return l
}

// Required reports whether a field is required.
func (s *Schema) Required(name string) bool {
	l, _ := s.node["required"].([]any)
	for _, x := range l {
		if x == name {
			return true
		}
	}
	return false
}
