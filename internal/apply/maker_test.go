package apply

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// maker makes objects with few fields, so that managers often conflict.
type maker struct {
	*rand.Rand
	table  *schema.Table
	fields map[schema.Ref][]int
	// distinct keeps the keys of list elements distinct, where other objects would be
	// refused.
	distinct bool
}

func (m *maker) some(r schema.Ref) []int {
	if list, ok := m.fields[r]; ok {
		return list
	}
	list := m.Perm(len(m.table.Types[r].Fields))
	list = list[:min(len(list), 2+m.IntN(4))]
	m.fields[r] = list
	return list
}

func (m *maker) word() string { return string(rune('a' + m.IntN(3))) }

// value makes a value; raw ones may have nulls and empty values in them.
func (m *maker) value(r schema.Ref, depth int, raw bool) any {
	if raw && m.IntN(30) == 0 {
		return nil
	}
	t := &m.table.Types[max(r, 0)]
	if r < 0 {
		t = &schema.Type{Kind: schema.Any}
	}
	switch t.Kind {
	case schema.Object:
		out := map[string]any{}
		for _, i := range m.some(r) {
			f := &t.Fields[i]
			if m.IntN(3) > 0 && depth < 9 {
				out[f.Name] = m.value(f.Type, depth+1, raw)
			}
		}
		return out
	case schema.Map:
		out := map[string]any{}
		for range m.IntN(4) {
			out[m.word()] = m.value(t.Elem, depth+1, raw)
		}
		return out
	case schema.List:
		return m.list(t, depth, raw)
	case schema.Boolean:
		return m.IntN(2) == 0
	case schema.Integer, schema.Number:
		return m.IntN(3)
	case schema.Bytes:
		return []string{"", "YQ==", "Yg=="}[m.IntN(3)]
	case schema.Quantity:
		return []string{"1", "2", "100m"}[m.IntN(3)]
	case schema.Time:
		return []string{"2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"}[m.IntN(2)]
	case schema.MicroTime:
		return "2020-01-01T00:00:00.000000Z"
	case schema.Duration:
		return []string{"1m0s", "2s"}[m.IntN(2)]
	case schema.IntOrString:
		return []any{1, "http"}[m.IntN(2)]
	case schema.Any:
		return map[string]any{m.word(): []any{1, m.word()}, m.word(): map[string]any{m.word(): true}}
	}
	return m.word()
}

func (m *maker) list(t *schema.Type, depth int, raw bool) any {
	out := []any{}
	seen := map[string]bool{}
	for range m.IntN(4) {
		v := m.value(t.Elem, depth+1, raw && t.ListType == schema.ListAtomic)
		if o, ok := v.(map[string]any); ok && t.ListType == schema.ListMap {
			elem := &m.table.Types[t.Elem]
			for _, key := range t.ListKeys {
				f := &elem.Fields[elem.Field(key)]
				delete(o, key)
				absent := f.Default != "" || len(t.ListKeys) > 1 && f.Presence == schema.Explicit // may be
				if !absent || m.IntN(2) == 0 {
					o[key] = m.value(f.Type, depth+1, false)
				}
			}
			id := ""
			for _, key := range t.ListKeys {
				f := &elem.Fields[elem.Field(key)]
				if got, ok := o[key]; ok {
					id += fmt.Sprintf("%v,", got)
				} else {
					id += strings.Trim(f.Default, `"`) + ","
				}
			}
			if seen[id] && (m.distinct || m.IntN(4) > 0) {
				continue
			}
			seen[id] = true
		}
		if t.ListType == schema.ListSet {
			if id := fmt.Sprint(v); seen[id] && (m.distinct || m.IntN(4) > 0) {
				continue
			} else {
				seen[id] = true
			}
		}
		out = append(out, v)
	}
	return out
}

func (m *maker) object(k *Kind, raw bool) map[string]any {
	m.distinct = raw
	obj, _ := m.value(k.Type, 0, false).(map[string]any)
	if raw {
		obj, _ = m.value(k.Type, 0, true).(map[string]any)
	}
	if obj == nil {
		obj = map[string]any{}
	}
	meta := map[string]any{"name": "x"}
	for range m.IntN(3) {
		labels, _ := meta["labels"].(map[string]any)
		if labels == nil {
			labels = map[string]any{}
		}
		labels[m.word()] = m.word()
		meta["labels"] = labels
	}
	if m.IntN(2) == 0 {
		meta["finalizers"] = []any{"a/" + m.word()}
	}
	obj["apiVersion"], obj["kind"], obj["metadata"] = k.APIVersion, k.Name, meta
	return obj
}
