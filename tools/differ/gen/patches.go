package gen

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// patch sends a JSON, merge or strategic merge patch.
func (b *builder) patch(o *object) {
	ct := []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"}[b.r.Intn(3)]
	var body any
	what := "patch"
	switch ct {
	case "application/json-patch+json":
		body = b.jsonPatch(o)
	case "application/merge-patch+json":
		body, what = b.mergePatch(o)
	default:
		body, what = b.strategicPatch(o)
	}
	if b.r.Intn(25) == 0 {
		body = b.pick([]any{[]any{}, map[string]any{}, "text", 5.0, []any{1.0}, []any{map[string]any{}}, map[string]any{"metadata": nil},
			map[string]any{"spec": nil}, map[string]any{"kind": nil}})
	}
	if m, ok := body.(map[string]any); ok && b.r.Intn(12) == 0 {
		m["zzz"] = 1.0
	}
	b.add(&scenario.Step{Name: what, Method: "PATCH", Path: query(o.path(), dryParam(dry(o.res, true)),
		b.chance(5, append([]string{"force=true"}, writeParams...)...), b.chance(6, "fieldValidation=Strict", "fieldValidation=Warn")), Body: body,
		Headers: map[string]string{"Content-Type": ct}, Save: map[string]string{"RV" + o.id: "metadata.resourceVersion"}})
}

func pointer(path string) string {
	path = strings.NewReplacer("~", "~0", "/", "~1").Replace(path)
	path = strings.ReplaceAll(path, "[", ".")
	path = strings.ReplaceAll(path, "]", "")
	return strings.ReplaceAll(path, ".", "/")
}

// jsonPatch makes one to four operations on places that the object has, or nearly has.
func (b *builder) jsonPatch(o *object) []any {
	body := scenario.Copy(o.body).(map[string]any)
	places := walk(body, o.res.Schema, "", "")
	var ops []any
	for n := 1 + b.r.Intn(4); n > 0; n-- {
		p := places[b.r.Intn(len(places))]
		ptr := pointer(p.path)
		if strings.Contains(fmt.Sprint(p.at), ".") { // keys with dots do not survive the path form
			ptr = "/metadata/labels"
		}
		switch b.r.Intn(12) {
		case 0:
			ptr += "/x"
		case 1:
			ptr += "/-"
		case 2:
			ptr = []string{"", "/", "spec", "/nothing/here", "/metadata/labels/new", "/metadata/annotations/example.com~1a", "/spec/containers/9",
				"/spec/containers/-1", "/metadata/name", "/kind"}[b.r.Intn(10)]
		}
		op := map[string]any{"op": []string{"add", "replace", "remove", "test", "add", "replace"}[b.r.Intn(6)], "path": ptr}
		switch op["op"] {
		case "add", "replace", "test":
			v := scenario.Copy(p.value())
			switch b.r.Intn(4) {
			case 0:
				v = b.pick([]any{nil, "x", 1.0, true, []any{}, map[string]any{"a": "b"}, -1.0})
			case 1:
				if x, ok := b.make(p.within, p.key, p.schema, 0); ok {
					v = x
				}
			}
			op["value"] = v
			if b.r.Intn(20) == 0 {
				delete(op, "value")
			}
		}
		switch b.r.Intn(16) {
		case 0:
			op["op"], op["from"] = "move", pointer(places[b.r.Intn(len(places))].path)
		case 1:
			op["op"], op["from"] = "copy", pointer(places[b.r.Intn(len(places))].path)
		case 2:
			op["op"] = b.pick([]any{"bogus", nil, "", "Add"})
		case 3:
			delete(op, b.pick([]any{"op", "path"}).(string))
		}
		ops = append(ops, op)
	}
	return ops
}

// only builds an object with only the maps along a path, and returns the innermost map.
func only(path []string, v any) map[string]any {
	m := map[string]any{path[len(path)-1]: v}
	for i := len(path) - 2; i >= 0; i-- {
		m = map[string]any{path[i]: m}
	}
	return m
}

// fieldPath is the way from the root through maps alone; lists end it.
func (b *builder) fieldPath(o *object) (path []string, last node) {
	body := scenario.Copy(o.body).(map[string]any)
	var l []node
	for _, p := range walk(body, o.res.Schema, "", "") {
		if !strings.Contains(p.path, "[") && p.key != "apiVersion" && p.key != "kind" {
			l = append(l, p)
		}
	}
	p := l[b.r.Intn(len(l))]
	if _, ok := p.parent.(map[string]any); !ok {
		return []string{"metadata"}, p
	}
	seg := strings.Split(strings.TrimPrefix(p.path, "."), ".")
	return seg, p
}

func (b *builder) mergePatch(o *object) (any, string) {
	path, p := b.fieldPath(o)
	var v any
	switch b.r.Intn(5) {
	case 0:
		v = nil
	case 1:
		v = b.pick([]any{"x", 1.0, true, []any{}, map[string]any{}, map[string]any{"zzz": 1.0}, -1.0})
	case 2:
		m, ok := scenario.Copy(p.value()).(map[string]any)
		if ok {
			b.enrich(m, p.schema, 1)
			v = m
			break
		}
		fallthrough
	default:
		x, ok := b.make(p.within, p.key, p.schema, 0)
		if !ok {
			x = scenario.Copy(p.value())
		}
		v = x
	}
	out := only(path, v)
	switch b.r.Intn(10) {
	case 0:
		out["metadata"] = map[string]any{"resourceVersion": b.pick([]any{"${RV" + o.id + "}", "${OLD" + o.id + "}", "1", "abc", nil})}
	case 1:
		out["metadata"] = map[string]any{"labels": b.pick(b.g.tables.extras.Labels)}
	case 2:
		out["metadata"] = map[string]any{"finalizers": b.pick([]any{nil, []any{}, []any{"example.com/f"}})}
	case 3:
		b.mutateMeta(map[string]any{"metadata": out})
	}
	return out, "merge patch " + strings.Join(path, ".")
}

// strategicPatch adds directives to a part of the object.
func (b *builder) strategicPatch(o *object) (any, string) {
	path, p := b.fieldPath(o)
	v := scenario.Copy(p.value())
	lists := listsOf(o.body, o.res.Schema)
	if len(lists) > 0 && b.r.Intn(2) == 0 {
		p = lists[b.r.Intn(len(lists))]
		path = strings.Split(strings.TrimPrefix(p.path, "."), ".")
		v = b.listPatch(p)
		return only(path, v), "strategic patch list " + p.path
	}
	switch m := v.(type) {
	case map[string]any:
		b.enrich(m, p.schema, 1)
		switch b.r.Intn(8) {
		case 0:
			m["$patch"] = b.pick([]any{"replace", "delete", "merge", "bogus", nil, 1.0})
		case 1:
			var keys []any
			for _, k := range p.schema.Properties() {
				if b.r.Intn(3) == 0 {
					keys = append(keys, k)
				}
			}
			m["$retainKeys"] = keys
		case 2:
			m["$retainKeys"] = b.pick([]any{"x", []any{1.0}, []any{}, nil, []any{"type"}})
		case 3:
			m[firstKey(m)] = nil
		}
	default:
		if b.r.Intn(3) == 0 {
			v = b.pick([]any{nil, "x", 1.0, map[string]any{}, []any{}})
		} else if x, ok := b.make(p.within, p.key, p.schema, 0); ok {
			v = x
		}
	}
	out := only(path, v)
	if b.r.Intn(8) == 0 {
		md := map[string]any{"finalizers": []any{"example.com/f"}}
		md["$deleteFromPrimitiveList/finalizers"] = b.pick([]any{[]any{"example.com/f"}, []any{}, "x", nil}) // a list of another type is refused or not, by chance
		if b.r.Intn(2) == 0 {
			delete(md, "finalizers")
		} else {
			// An element that a patch both adds and deletes is present or not, by chance.
			md["$deleteFromPrimitiveList/finalizers"] = []any{"example.com/g"}
		}
		if b.r.Intn(3) == 0 {
			md["$setElementOrder/finalizers"] = []any{"example.com/g", "example.com/f"}
		}
		out["metadata"] = md
	}
	return out, "strategic patch " + strings.Join(path, ".")
}

func listsOf(body map[string]any, s *api.Schema) []node {
	var out []node
	for _, p := range walk(body, s, "", "") {
		if _, ok := p.value().([]any); ok && !strings.Contains(p.path, "[") {
			out = append(out, p)
		}
	}
	return out
}

// listPatch changes a list's items: by key, with directives, or as a whole.
func (b *builder) listPatch(p node) any {
	l := scenario.Copy(p.value()).([]any)
	switch b.r.Intn(7) {
	case 0:
		return append([]any{map[string]any{"$patch": "replace"}}, l...)
	case 1:
		if len(l) > 0 {
			if m, ok := l[0].(map[string]any); ok {
				m["$patch"] = b.pick([]any{"delete", "delete", "replace", "merge", "bogus"})
			}
		}
	case 2:
		if x, ok := b.make("", p.key+"[]", p.schema.Items(), 1); ok {
			return []any{x}
		}
	case 3:
		if len(l) > 0 {
			if m, ok := l[0].(map[string]any); ok {
				b.enrich(m, p.schema.Items(), 1)
			}
		}
	case 4:
		return b.pick([]any{[]any{}, nil, []any{nil}, []any{1.0}, []any{map[string]any{}}, []any{map[string]any{"$patch": "delete"}}, "x", map[string]any{}})
	case 5:
		if len(l) > 1 {
			return []any{l[1], l[0]}
		}
	case 6:
		if len(l) > 0 {
			return []any{l[len(l)-1]}
		}
	}
	return l
}
