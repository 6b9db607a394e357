package compat

import (
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

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
		rows := value.Extension("group-version-kind").Items()
		// A kind of all versions is of none.
		if shared := strings.HasSuffix(name, ".DeleteOptions") || strings.HasSuffix(name, ".WatchEvent"); len(rows) == 1 && !shared {
			s.addKind(s.version(rows[0].At("group").Text(), rows[0].At("version").Text(), m.Position(key)), rows[0].At("kind").Text(), t)
		}
		if !value.Extension("group-version-kind").Here() && !strings.Contains(name, ".") {
			s.addKind(s.version("components", "v1", m.Position(key)), name, t)
		}
	})
	root.At("paths").Each(func(path string, key, value place) {
		if op, ok := foreign.OperationsOf(path, value); ok {
			m.resourcePath(s, op, key, value)
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
func (m *manifest) resourcePath(s *Surface, op foreign.Operations, key, item place) {
	v := s.version(op.Group, op.Version, m.Position(key))
	r := v.resource(op.Plural)
	if r == nil {
		r = &model.Resource{Pos: m.Position(key), GV: v.GroupVersion, Plural: op.Plural, Stored: true, StorageVersion: v.Version}
		v.resources = append(v.resources, r)
	}
	var action *model.Action
	for _, method := range []string{"get", "post"} {
		if a := m.performed(s, item.At(method)); a != nil {
			action = a
		}
	}
	if op.AddTo(r, m.Position(key)); op.Subresource != "" {
		sub := &r.Subresources[len(r.Subresources)-1]
		sub.Type, sub.Action = s.typeOf(v, op.Kind), action
		return
	}
	if action != nil {
		r.Action = action
	}
	if op.Kind != "" && r.Kind == "" {
		r.Kind, r.Type = op.Kind, s.typeOf(v, op.Kind)
	}
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
		add("request", op.At("requestBody").At("content"), Request|checked|updated)
		op.At("responses").Each(func(code string, _, value place) { add(code, value.At("content"), Response) })
		params := m.parameters(key, append(item.At("parameters").Items(), op.At("parameters").Items()...))
		k := s.addKind(v, method+" "+path+" parameters", params)
		s.kinds[k.ID].shape.spread(use{Request | checked | updated, stable})
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
