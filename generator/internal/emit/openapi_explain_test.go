package emit_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// node is a schema of a published document.
type node struct {
	Ref         string           `json:"$ref"`
	Description string           `json:"description"`
	Type        string           `json:"type"`
	AllOf       []*node          `json:"allOf"`
	OneOf       []*node          `json:"oneOf"`
	Properties  map[string]*node `json:"properties"`
	Items       *node            `json:"items"`
	Additional  *node            `json:"additionalProperties"`
	Format      string           `json:"format"`
	Kinds       []groupVersionKind
}

type groupVersionKind struct{ Group, Version, Kind string }

// published is a document that kubectl explain reads, by the beginning of its references.
type published struct {
	name, refs string
	schemas    map[string]*node
}

// explained are the documents of both versions, those of version 3 by the
// directory of the group version.
func explained(t *testing.T, m *model.Model) (v2 published, v3 map[string]published) {
	t.Helper()
	files, err := emit.OpenAPI(m)
	if err != nil {
		t.Fatal(err)
	}
	read := func(data []byte, into any) {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	kinds := func(raw map[string]json.RawMessage) map[string]*node {
		schemas := map[string]*node{}
		for name, text := range raw {
			n, extensions := &node{}, map[string]json.RawMessage{}
			read(text, n)
			read(text, &extensions)
			if gvks := extensions[m.Profile.ExtensionPrefix+"group-version-kind"]; gvks != nil {
				read(gvks, &n.Kinds)
			}
			schemas[name] = n
		}
		return schemas
	}
	v3 = map[string]published{}
	for _, f := range files {
		if f.Path == "openapi/v2.json" {
			var doc struct{ Definitions map[string]json.RawMessage }
			read(f.Data, &doc)
			v2 = published{f.Path, "#/definitions/", kinds(doc.Definitions)}
		}
		if path, ok := strings.CutPrefix(f.Path, "openapi/v3/"); ok {
			var doc struct {
				Components struct{ Schemas map[string]json.RawMessage }
			}
			read(f.Data, &doc)
			v3[strings.TrimSuffix(path, ".json")] = published{f.Path, "#/components/schemas/", kinds(doc.Components.Schemas)}
		}
	}
	return v2, v3
}

// TestExplain walks from every kind that is served to every field below it, in
// the documents of both versions: each field of our documents is there and the
// other way round, each has a type and a description that says more than
// its name, and no reference leads nowhere.
func TestExplain(t *testing.T) {
	m, err := load.Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	v2, v3 := explained(t, m)
	types := map[string]*model.Type{}
	for _, gv := range m.GroupVersions {
		for _, typ := range gv.Types {
			types[typ.ID] = typ
		}
	}
	fields := 0
	for _, gv := range m.GroupVersions {
		if !gv.Served {
			continue
		}
		path := "apis__" + gv.Group + "__" + gv.Version
		if gv.Group == "" {
			path = "api__" + gv.Version
		}
		kinds := map[string]*model.Type{}
		for _, r := range gv.Resources {
			kinds[r.Kind] = r.Type
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			for _, doc := range []published{v2, v3[path]} {
				if doc.name == v2.name && gv.Stability == "alpha" {
					continue // version 2 is one document, of the types that are on by default
				}
				root := doc.kind(groupVersionKind{gv.Group, gv.Version, kind})
				if root == nil {
					t.Errorf("%s has no %s of %s/%s", doc.name, kind, gv.Group, gv.Version)
					continue
				}
				w := &explainer{t: t, doc: doc, types: types, seen: map[string]bool{}}
				w.walk(kind, root, kinds[kind].Schema, kinds[kind].GV.Dir)
				fields += w.fields
			}
		}
	}
	if fields < 10000 {
		t.Errorf("only %d fields were looked at", fields)
	}
}

func (p published) kind(gvk groupVersionKind) *node {
	for _, n := range p.schemas {
		if slices.Contains(n.Kinds, gvk) {
			return n
		}
	}
	return nil
}

// explainer walks one kind. Every type is walked once.
type explainer struct {
	t      *testing.T
	doc    published
	types  map[string]*model.Type
	seen   map[string]bool
	fields int
}

// resolve follows references; where is the path for messages.
func (w *explainer) resolve(where string, n *node) *node {
	for n.Ref != "" || len(n.AllOf) == 1 {
		ref := n.Ref
		if ref == "" {
			ref = n.AllOf[0].Ref
		}
		next := w.doc.schemas[strings.TrimPrefix(ref, w.doc.refs)]
		if next == nil {
			w.t.Errorf("%s: %s refers to %s, which is not there", w.doc.name, where, ref)
			return &node{}
		}
		n = next
	}
	return n
}

func (w *explainer) walk(where string, n *node, s *schema.Schema, dir string) {
	n = w.resolve(where, n)
	for s.Ref != "" {
		id := dir + "." + strings.TrimPrefix(s.Ref, "#/$defs/")
		if path, ok := strings.CutPrefix(s.Ref, "/"); ok {
			i := strings.LastIndexByte(path, '/')
			id, dir = path[:i]+"."+path[i+1:], path[:i]
		}
		typ := w.types[id]
		if typ == nil {
			w.t.Fatalf("%s: no type %s", where, id)
		}
		s = typ.Schema
		if w.seen[id] {
			return
		}
		w.seen[id] = true
	}
	switch {
	case s.PreserveAny:
	case s.Items != nil:
		if n.Type != "array" || n.Items == nil {
			w.t.Errorf("%s: %s is no list", w.doc.name, where)
			return
		}
		w.walk(where+"[]", n.Items, s.Items, dir)
	case s.Additional != nil:
		if n.Additional == nil {
			w.t.Errorf("%s: %s is no map", w.doc.name, where)
			return
		}
		w.walk(where+".*", n.Additional, s.Additional, dir)
	case len(s.Properties) > 0:
		w.object(where, n, s, dir)
	case n.Type == "" && len(n.OneOf) == 0 && n.Format == "":
		w.t.Errorf("%s: %s has no type", w.doc.name, where)
	}
}

func (w *explainer) object(where string, n *node, s *schema.Schema, dir string) {
	names := map[string]bool{"apiVersion": true, "kind": true}
	for _, p := range s.Properties {
		names[p.Name] = true
		path := where + "." + p.Name
		field := n.Properties[p.Name]
		if field == nil {
			w.t.Errorf("%s: %s is missing", w.doc.name, path)
			continue
		}
		w.fields++
		if len(field.Description) < 10 || strings.EqualFold(strings.TrimSuffix(field.Description, "."), p.Name) {
			w.t.Errorf("%s: %s is described with %q", w.doc.name, path, field.Description)
		}
		w.walk(path, field, p.Schema, dir)
	}
	for name := range n.Properties {
		if !names[name] {
			w.t.Errorf("%s: %s.%s is not in our documents", w.doc.name, where, name)
		}
	}
}
