package gen

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// long replaces the word LONG of the tables by a long text.
func long(v any) any {
	switch c := v.(type) {
	case string:
		if c == "LONG" {
			return strings.Repeat("abcdefgh.", 40) + "z"
		}
	case map[string]any:
		for k, x := range c {
			c[k] = long(x)
		}
	case []any:
		for i, x := range c {
			c[i] = long(x)
		}
	}
	return v
}

func (b *builder) pick(l []any) any { return long(scenario.Copy(l[b.r.Intn(len(l))])) }

// mutate makes one to three changes to an object and returns their description.
func (b *builder) mutate(obj map[string]any, s *api.Schema) string {
	n := 1
	for n < 4 && b.r.Intn(4) == 0 {
		n++
	}
	var said []string
	for i := 0; i < n; i++ {
		for try := 0; try < 8; try++ {
			if what := b.mutateOnce(obj, s); what != "" {
				said = append(said, what)
				break
			}
		}
	}
	return strings.Join(said, ", ")
}

func (b *builder) mutateOnce(obj map[string]any, s *api.Schema) string {
	switch b.r.Intn(14) {
	case 0:
		return b.mutateMeta(obj)
	case 1:
		return b.unknownField(obj, s)
	case 2:
		return b.duplicateKey(obj, s)
	case 3:
		if a := b.enrich(obj, s, 2); len(a) > 0 {
			return "add " + strings.Join(a, " ")
		}
		return ""
	}
	places := walk(obj, s, "", "")
	if len(places) == 0 {
		return ""
	}
	p := places[b.r.Intn(len(places))]
	if strings.HasPrefix(p.path, ".metadata") && b.r.Intn(3) > 0 {
		return ""
	}
	switch b.r.Intn(6) {
	case 0:
		if m, ok := p.parent.(map[string]any); ok {
			delete(m, p.at.(string))
			return "drop " + p.path
		}
		p.set(nil)
		return "null " + p.path
	case 1:
		v := []any{nil, "text", 7.0, true, []any{}, map[string]any{}, -1.0, "", []any{"x"}, map[string]any{"x": "y"}}[b.r.Intn(10)]
		p.set(v)
		return fmt.Sprintf("set %s to %s", p.path, scenario.Encode(v))
	}
	return b.mutateValue(p)
}

// mutateValue sets a value of the right type that is probably not allowed.
func (b *builder) mutateValue(p node) string {
	x := &b.g.tables.extras
	switch v := p.value().(type) {
	case []any:
		c := scenario.Copy(v).([]any)
		switch b.r.Intn(4) {
		case 0:
			c = []any{}
		case 1:
			c = append(c, nil)
		case 2:
			if len(c) > 0 {
				c = append(c, scenario.Copy(c[0]))
			}
		case 3:
			if y, ok := b.make("", p.key+"[]", p.schema.Items(), 1); ok {
				c = append(c, y)
			}
		}
		p.set(c)
		return "change list " + p.path
	case map[string]any:
		switch {
		case p.schema.Kind() == "map" && b.r.Intn(2) == 0:
			delete(v, firstKey(v))
			v[fmt.Sprint(b.pick(x.Names))] = "v"
		case b.r.Intn(2) == 0:
			p.set(map[string]any{})
		default:
			b.enrich(v, p.schema, 1+b.r.Intn(2))
		}
		return "change " + p.path
	case float64, int64:
		n := b.pick(x.Numbers)
		p.set(n)
		return fmt.Sprintf("set %s to %v", p.path, n)
	case bool:
		p.set(!v)
		return "flip " + p.path
	case string:
		var n any
		switch k := p.schema.Kind(); {
		case k == "quantity" || strings.HasSuffix(p.path, "cpu") || strings.HasSuffix(p.path, "memory") || strings.HasSuffix(p.path, "storage"):
			n = b.pick(x.Quantities)
		case k == "int-or-string" && b.r.Intn(2) == 0:
			n = b.pick([]any{"0%", "101%", "abc", -1.0, "10", "5.5%", "", "-5%", 0.0, "100%"})
		case len(p.schema.Enum()) > 0 && b.r.Intn(2) == 0:
			e := p.schema.Enum()
			n = e[b.r.Intn(len(e))]
		case b.r.Intn(4) == 0:
			n = b.pick(x.Names)
		default:
			n = b.pick(x.Strings)
		}
		p.set(n)
		return fmt.Sprintf("set %s to %.40q", p.path, fmt.Sprint(n))
	}
	p.set("x")
	return "set " + p.path
}

// firstKey is the smallest key; empty for an empty map.
func firstKey(m map[string]any) string {
	first := ""
	for k := range m {
		if first == "" || k < first {
			first = k
		}
	}
	return first
}

// mutateMeta spoils metadata, kind or apiVersion.
func (b *builder) mutateMeta(obj map[string]any) string {
	md, ok := obj["metadata"].(map[string]any)
	if !ok {
		return ""
	}
	x := &b.g.tables.extras
	set := func(k string, v any) string {
		md[k] = v
		return "metadata." + k
	}
	switch b.r.Intn(18) {
	case 0:
		return set("labels", b.pick(x.Labels))
	case 1:
		return set("annotations", b.pick(x.Annotations))
	case 2:
		return set("finalizers", b.pick(x.Finalizers))
	case 3:
		return set("ownerReferences", b.pick(x.OwnerReferences))
	case 4:
		return set("name", b.pick(x.Names))
	case 5:
		return set("namespace", b.pick([]any{"other-ns", "", "${NS}", "Bad_NS", nil}))
	case 6:
		return set("uid", b.pick([]any{"00000000-0000-0000-0000-000000000007", "nonsense", ""}))
	case 7:
		return set("resourceVersion", b.pick([]any{"1", "abc", "0", "-1", "", "99999999"}))
	case 8:
		return set("generation", b.pick([]any{7.0, -1.0, "1"}))
	case 9:
		return set("creationTimestamp", b.pick([]any{nil, "2020-01-01T00:00:00Z", "yesterday", ""}))
	case 10:
		return set("deletionTimestamp", b.pick([]any{"2020-01-01T00:00:00Z", nil}))
	case 11:
		return set("managedFields", b.pick([]any{[]any{}, []any{map[string]any{}},
			[]any{map[string]any{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1",
				"fieldsV1": map[string]any{"f:data": map[string]any{}}}}, []any{map[string]any{"operation": "Bogus"}}, nil}))
	case 12:
		return set("selfLink", "/x/y")
	case 13:
		return set("generateName", b.pick([]any{"gen-", "Bad_", "", "LONG"}))
	case 14:
		return set("deletionGracePeriodSeconds", b.pick([]any{5.0, -1.0}))
	case 15:
		obj["kind"] = b.pick([]any{"Pod", "Nothing", "", "configmap", nil, 3.0, "List"})
		return "kind"
	case 16:
		obj["apiVersion"] = b.pick([]any{"v1", "apps/v1", "v2", "apps/v1beta1", "", "a/b/c", nil, 1.0})
		return "apiVersion"
	}
	delete(md, "name")
	return "drop metadata.name"
}

func (b *builder) objects(obj map[string]any, s *api.Schema) []node {
	out := []node{{path: "", parent: map[string]any{"": obj}, at: "", schema: s}}
	for _, p := range walk(obj, s, "", "") {
		if _, ok := p.value().(map[string]any); ok {
			out = append(out, p)
		}
	}
	return out
}

func (b *builder) unknownField(obj map[string]any, s *api.Schema) string {
	places := b.objects(obj, s)
	p := places[b.r.Intn(len(places))]
	m := p.value().(map[string]any)
	name := []string{"zzz", "unknownField", "Spec", "metaData", "x-y", "", "a.b", "containers"}[b.r.Intn(8)]
	if props := p.schema.Properties(); len(props) > 0 && b.r.Intn(3) == 0 {
		f := props[b.r.Intn(len(props))]
		name = strings.ToUpper(f[:1]) + f[1:]
	}
	if _, ok := m[name]; ok {
		return ""
	}
	m[name] = b.pick([]any{1.0, "v", nil, map[string]any{"a": "b"}, []any{1.0}})
	return "unknown " + p.path + "." + name
}

func (b *builder) duplicateKey(obj map[string]any, s *api.Schema) string {
	places := b.objects(obj, s)
	p := places[b.r.Intn(len(places))]
	m := p.value().(map[string]any)
	for _, n := range walk(m, p.schema, "", "") {
		if _, direct := n.parent.(map[string]any); !direct || strings.Count(n.path, ".") != 1 || b.r.Intn(2) == 0 ||
			strings.HasPrefix(n.at.(string), scenario.DupPrefix) {
			continue
		}
		v := scenario.Copy(n.value())
		if b.r.Intn(3) == 0 {
			v = b.pick([]any{nil, "other", 5.0})
		}
		m[scenario.DupPrefix+n.at.(string)] = v
		return "duplicate " + p.path + n.path
	}
	return ""
}
