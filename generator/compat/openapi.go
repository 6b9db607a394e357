package compat

import (
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// resourcePath is a path of the resources of a control plane: group, version, plural, and
// whether there are a namespace, a name and a subresource.
var resourcePath = regexp.MustCompile(`^/(?:api|apis/([^/]+))/(v[0-9][a-z0-9]*)/(namespaces/\{namespace\}/)?([a-z0-9]+)(/\{name\}(?:/([a-z]+))?)?$`)

// operationVerbs are the verbs of methods, for a collection and for one object.
var operationVerbs = map[string][2]string{"get": {"list", "get"}, "post": {"create", "create"}, "put": {"", "update"}, "patch": {"", "patch"}, "delete": {"deletecollection", "delete"}}

// openAPI adds the kinds and operations of an OpenAPI 3 document. Paths of another form than
// those of resources are resources by themselves, whose verbs are the methods.
func (m *manifest) openAPI(s *Surface, root place) {
	m.components = root.at("components").at("schemas")
	m.components.each(func(name string, key, value place) {
		if _, ok := m.reference(value); ok {
			_ = m.shape(value)
			return
		}
		t := m.done[name]
		if t == nil {
			t = m.referred(place{scalarNode("#/components/schemas/"+name, key.Line)})
		}
		if isList(t) {
			return // a list kind, which its resource implies
		}
		for _, gvk := range value.extension("group-version-kind").items() {
			v := s.version(gvk.at("group").text(), gvk.at("version").text(), m.position(key))
			if kind := gvk.at("kind").text(); len(value.extension("group-version-kind").items()) == 1 {
				s.addKind(v, kind, t)
			}
		}
		if !value.extension("group-version-kind").here() && !strings.Contains(name, ".") {
			s.addKind(s.version("components", "v1", m.position(key)), name, t)
		}
	})
	root.at("paths").each(func(path string, key, value place) {
		if parts := resourcePath.FindStringSubmatch(path); parts != nil {
			m.resourcePath(s, parts, key, value)
			return
		}
		if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") {
			return // a watch of old clients, a proxy: other forms of resources
		}
		m.plainPath(s, path, key, value)
	})
}

// isList reports whether a shape is that of a list kind.
func isList(t *shape) bool {
	items := t.property("items")
	return items != nil && t.property("metadata") != nil && len(t.members) <= 4 && items.kind == "list"
}

// resourcePath adds the operations of one path of a resource.
func (m *manifest) resourcePath(s *Surface, parts []string, key, item place) {
	v := s.version(parts[1], parts[2], m.position(key))
	one := 0
	if parts[5] != "" {
		one = 1
	}
	var verbs []string
	kind := ""
	for method, verb := range operationVerbs {
		if op := item.at(method); op.here() {
			if verb[one] != "" {
				verbs = append(verbs, verb[one])
			}
			if k := op.extension("group-version-kind").at("kind").text(); k != "" {
				kind = k
			}
		}
	}
	plural := parts[4]
	r := v.resource(plural)
	if r == nil {
		r = &model.Resource{Pos: m.position(key), GV: v.GroupVersion, Plural: plural, Stored: true, StorageVersion: v.Version}
		v.resources = append(v.resources, r)
	}
	r.Namespaced = r.Namespaced || parts[3] != ""
	if name := parts[6]; name != "" {
		slices.Sort(verbs)
		r.HasStatus = r.HasStatus || name == "status"
		r.Subresources = append(r.Subresources, model.Subresource{Pos: m.position(key), Name: name, Verbs: verbs, Type: s.typeOf(v, kind)})
		return
	}
	if r.Verbs = append(r.Verbs, verbs...); kind != "" && r.Kind == "" {
		r.Kind, r.Type = kind, s.typeOf(v, kind)
	}
	if slices.Contains(r.Verbs, "list") {
		r.Verbs = append(r.Verbs, "watch") // a parameter of lists, not an operation
	}
	slices.Sort(r.Verbs)
	r.Verbs = slices.Compact(r.Verbs)
}

// typeOf is the kind of a group version, nil if the document has no schema of it.
func (s *Surface) typeOf(v *version, kind string) *model.Type {
	if k := s.kinds[v.Dir+"."+kind]; k != nil {
		return &model.Type{GV: v.GroupVersion, Name: kind, ID: k.id, Kind: true}
	}
	return nil
}

// plainPath adds a path of any API: its methods, and the schemas of its bodies and answers.
func (m *manifest) plainPath(s *Surface, path string, key, item place) {
	v := s.version("paths", "v1", m.position(key))
	r := &model.Resource{Pos: m.position(key), GV: v.GroupVersion, Plural: path, Kind: path}
	for _, method := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"} {
		op := item.at(method)
		if !op.here() {
			continue
		}
		r.Verbs = append(r.Verbs, method)
		add := func(name string, content place, ways Direction) {
			content.each(func(media string, _, value place) {
				if schema := value.at("schema"); schema.here() {
					k := s.addKind(v, method+" "+path+" "+name+" "+media, m.shape(schema))
					s.kinds[k.ID].shape.spread(use{ways, stable})
				}
			})
		}
		add("request", op.at("requestBody").at("content"), Request|checked)
		op.at("responses").each(func(code string, _, value place) { add(code, value.at("content"), Response) })
		params := m.parameters(key, append(item.at("parameters").items(), op.at("parameters").items()...))
		k := s.addKind(v, method+" "+path+" parameters", params)
		s.kinds[k.ID].shape.spread(use{Request | checked, stable})
	}
	v.resources = append(v.resources, r)
}

// parameters are the parameters of an operation as the members of an object.
func (m *manifest) parameters(at place, all []place) *shape {
	t := &shape{kind: "object", pos: m.position(at)}
	t.rules = rulesOf(emptySchema())
	t.more = furtherOf(emptySchema())
	for _, p := range all {
		if p.at("$ref").here() {
			continue
		}
		t.members = append(t.members, m.memberOf(p.at("in").text()+" "+p.at("name").text(), p, p.at("schema"), p.at("required").yes()))
	}
	return t
}
