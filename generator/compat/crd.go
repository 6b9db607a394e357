package compat

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// allVerbs are those of custom resources.
var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// definitions reads the custom resource definitions among the objects of a file, also those
// in lists; other objects are passed over.
func (m *manifest) definitions(s *Surface, objects []place) {
	found := false
	for len(objects) > 0 {
		at := objects[0]
		objects = objects[1:]
		group, version, _ := strings.Cut(at.at("apiVersion").text(), "/")
		switch kind := at.at("kind").text(); {
		case kind == "CustomResourceDefinitionList" || kind == "List":
			objects = append(objects, at.at("items").items()...)
		case kind != "CustomResourceDefinition" || !strings.HasPrefix(group, "apiextensions."):
		case version != "v1":
			found = true
			m.fail(at.at("apiVersion"), "write "+group+"/v1, with a schema for each version", "the definition is of the version %s", version)
		default:
			found = true
			m.definition(s, at.at("spec"))
		}
	}
	if !found {
		m.fail(place{}, "name a file with custom resource definitions, or an OpenAPI 3 document", "the file has neither a custom resource definition nor OpenAPI")
	}
}

func (m *manifest) definition(s *Surface, spec place) {
	group, names := spec.at("group").text(), spec.at("names")
	if group == "" || names.at("plural").text() == "" || names.at("kind").text() == "" {
		m.fail(spec, "add what is missing", "a definition needs group, names.plural and names.kind")
		return
	}
	versions := spec.at("versions").items()
	stored := ""
	for _, v := range versions {
		if v.at("storage").yes() {
			stored = v.at("name").text()
		}
	}
	if stored == "" {
		m.fail(spec, "write storage: true in one of the versions", "no version of %s is stored", names.at("plural").text())
	}
	for i, v := range versions {
		if !v.at("served").yes() {
			continue
		}
		gv := s.version(group, v.at("name").text(), m.position(v))
		gv.VersionPriority = priorityOf(gv.Version, len(versions)-i)
		root := v.at("schema").at("openAPIV3Schema")
		if !root.here() {
			m.fail(v, "add schema.openAPIV3Schema", "the version %s of %s has no schema", gv.Version, names.at("plural").text())
			continue
		}
		kind := s.addKind(gv, names.at("kind").text(), m.shape(root))
		r := &model.Resource{Pos: m.position(v), GV: gv.GroupVersion, Plural: names.at("plural").text(), Singular: names.at("singular").text(), Kind: kind.Name,
			ListKind: names.at("listKind").text(), Type: kind, Namespaced: spec.at("scope").text() == "Namespaced", Stored: true, ShortNames: names.at("shortNames").texts(),
			Categories: names.at("categories").texts(), Verbs: allVerbs, NameFormat: "dns1123-subdomain", StorageVersion: stored}
		if r.ListKind == "" {
			r.ListKind = r.Kind + "List"
		}
		m.parts(r, v)
		gv.resources = append(gv.resources, r)
	}
}

// parts reads what a version says besides its schema.
func (m *manifest) parts(r *model.Resource, v place) {
	if sub := v.at("subresources"); sub.at("status").Node != nil {
		r.HasStatus = true
		r.Subresources = append(r.Subresources, model.Subresource{Pos: m.position(sub.at("status")), Name: "status", Endpoint: "status", Verbs: []string{"get", "patch", "update"}, Type: r.Type})
	}
	if scale := v.at("subresources").at("scale"); scale.here() {
		r.Subresources = append(r.Subresources, model.Subresource{Pos: m.position(scale), Name: "scale", Endpoint: "scale", Verbs: []string{"get", "patch", "update"},
			SpecReplicas: scale.at("specReplicasPath").text(), StatusReplicas: scale.at("statusReplicasPath").text(), Selector: scale.at("labelSelectorPath").text()})
	}
	for _, c := range v.at("additionalPrinterColumns").items() {
		r.Columns = append(r.Columns, model.Column{Pos: m.position(c), Name: c.at("name").text(), Type: c.at("type").text(), Format: c.at("format").text(),
			Priority: c.at("priority").count(0), Path: c.at("jsonPath").text()})
	}
	for _, f := range v.at("selectableFields").items() {
		path := f.at("jsonPath").text()
		r.Selectable = append(r.Selectable, model.Selectable{Pos: m.position(f), Name: strings.TrimPrefix(path, "."), Path: path})
	}
	if v.at("deprecated").yes() {
		r.DeprecatedSince = "0.0" // the release is not known
	}
}

func (m *manifest) position(p place) schema.Position {
	return schema.Position{File: m.file, Line: lineAt(p)}
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
