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
	m.components = root.At("components").At("schemas")
	m.components.Each(func(name string, key, value place) {
		if _, ok := m.reference(value); ok {
			_ = m.shape(value)
			return
		}
		t := m.done[name]
		if t == nil {
			t = m.referred(place{Node: scalarNode("#/components/schemas/"+name, key.Line)})
		}
		if isList(t) {
			return // a list kind, which its resource implies
		}
		for _, gvk := range value.Extension("group-version-kind").Items() {
			v := s.version(gvk.At("group").Text(), gvk.At("version").Text(), m.Position(key))
			if kind := gvk.At("kind").Text(); len(value.Extension("group-version-kind").Items()) == 1 {
				s.addKind(v, kind, t)
			}
		}
		if !value.Extension("group-version-kind").Here() && !strings.Contains(name, ".") {
			s.addKind(s.version("components", "v1", m.Position(key)), name, t)
		}
	})
	root.At("paths").Each(func(path string, key, value place) {
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
	v := s.version(parts[1], parts[2], m.Position(key))
	one := 0
	if parts[5] != "" {
		one = 1
	}
	var verbs []string
	kind := ""
	for method, verb := range operationVerbs {
		if op := item.At(method); op.Here() {
			if verb[one] != "" {
				verbs = append(verbs, verb[one])
			}
			if k := op.Extension("group-version-kind").At("kind").Text(); k != "" {
				kind = k
			}
		}
	}
	plural := parts[4]
	r := v.resource(plural)
	if r == nil {
		r = &model.Resource{Pos: m.Position(key), GV: v.GroupVersion, Plural: plural, Stored: true, StorageVersion: v.Version}
		v.resources = append(v.resources, r)
	}
	r.Namespaced = r.Namespaced || parts[3] != ""
	if name := parts[6]; name != "" {
		slices.Sort(verbs)
		r.HasStatus = r.HasStatus || name == "status"
		r.Subresources = append(r.Subresources, model.Subresource{Pos: m.Position(key), Name: name, Verbs: verbs, Type: s.typeOf(v, kind)})
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
	v := s.version("paths", "v1", m.Position(key))
	r := &model.Resource{Pos: m.Position(key), GV: v.GroupVersion, Plural: path, Kind: path}
	for _, method := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"} {
		op := item.At(method)
		if !op.Here() {
			continue
		}
		r.Verbs = append(r.Verbs, method)
		add := func(name string, content place, ways Direction) {
			content.Each(func(media string, _, value place) {
				if schema := value.At("schema"); schema.Here() {
					k := s.addKind(v, method+" "+path+" "+name+" "+media, m.shape(schema))
					s.kinds[k.ID].shape.spread(use{ways, stable})
				}
			})
		}
		add("request", op.At("requestBody").At("content"), Request|checked)
		op.At("responses").Each(func(code string, _, value place) { add(code, value.At("content"), Response) })
		params := m.parameters(key, append(item.At("parameters").Items(), op.At("parameters").Items()...))
		k := s.addKind(v, method+" "+path+" parameters", params)
		s.kinds[k.ID].shape.spread(use{Request | checked, stable})
	}
	v.resources = append(v.resources, r)
}

// parameters are the parameters of an operation as the members of an object.
func (m *manifest) parameters(at place, all []place) *shape {
	t := &shape{kind: "object", pos: m.Position(at)}
	t.rules = rulesOf(emptySchema())
	t.more = furtherOf(emptySchema())
	for _, p := range all {
		if p.At("$ref").Here() {
			continue
		}
		t.members = append(t.members, m.memberOf(p.At("in").Text()+" "+p.At("name").Text(), p, p.At("schema"), p.At("required").Yes()))
	}
	return t
}
