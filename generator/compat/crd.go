package compat

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// definitions adds the served versions of custom resource definitions.
func (m *manifest) definitions(s *Surface) {
	for _, v := range m.Definitions() {
		if !v.Served {
			continue
		}
		gv := s.version(v.Group, v.Name, m.Position(v.At))
		gv.VersionPriority = priorityOf(v.Name, v.Others+1)
		r := v.Resource
		root := m.shape(v.Root)
		for _, u := range root.members {
			if slices.Contains([]string{"apiVersion", "kind", "metadata"}, u.name) { // which every object has
				u.required, u.published = false, false
			}
		}
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			if root.property(name) == nil {
				t := &shape{kind: "string", pos: root.pos, rules: rulesOf(emptySchema()), more: furtherOf(emptySchema())}
				if name == "metadata" {
					t.kind = "object"
				}
				root.members = append(root.members, &member{usage: usage{shape: t}, name: name, pos: root.pos})
			}
		}
		m.names(root.property("metadata"))
		s.converted(&v, gv.Dir+"."+r.Kind)
		r.GV, r.Type = gv.GroupVersion, s.addKind(gv, r.Kind, root)
		for i := range r.Subresources {
			if r.Subresources[i].Name == "status" {
				r.Subresources[i].Type = r.Type
			}
		}
		gv.resources = append(gv.resources, r)
	}
}

// names completes the metadata of objects, of which a definition describes a part: the server
// has all members, and checks names without a schema too.
func (m *manifest) names(metadata *member) {
	if metadata.kind != "object" {
		return
	}
	metadata.open = true
	name := metadata.property("name")
	if name == nil {
		t := &shape{kind: "string", pos: metadata.pos, rules: rulesOf(emptySchema()), more: furtherOf(emptySchema())}
		name = &member{usage: usage{shape: t}, name: "name", pos: metadata.pos}
		metadata.members = append(metadata.members, name)
	}
	name.required, name.published = false, false
	name.text.checks = append(name.text.checks, "dns1123-subdomain")
}

// version is a group version of the surface, made on first sight. Its directory is that of
// documents for groups without a suffix.
func (s *Surface) version(group, name string, pos schema.Position) *version {
	if v := s.served(group, name); v != nil {
		return v
	}
	dir := group + "/" + name
	if group == "" {
		dir = "core/" + name
	}
	words := map[stability]string{alpha: "alpha", beta: "beta", stable: "stable"}
	v := &version{&model.GroupVersion{Pos: pos, Dir: dir, Group: group, Version: name, Stability: words[stabilityOfName(name)], Served: true}, nil}
	s.versions = append(s.versions, v)
	slices.SortFunc(s.versions, func(a, b *version) int { return strings.Compare(a.Dir, b.Dir) })
	return v
}

// addKind adds a type that clients exchange as a whole.
func (s *Surface) addKind(v *version, name string, t *shape) *model.Type {
	id := v.Dir + "." + name
	s.kinds[id] = &kind{id, name, v.GroupVersion, t}
	return &model.Type{GV: v.GroupVersion, Name: name, ID: id, Kind: true}
}

// priorityOf orders versions as clients do: stable ones first, then by number.
func priorityOf(version string, place int) int {
	return int(stabilityOfName(version))*1000 + place
}

func emptySchema() *schema.Schema { return &schema.Schema{} }

// scalarNode is a text at a line.
func scalarNode(text string, line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: line}
}
