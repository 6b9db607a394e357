package gen

import (
	"encoding/base64"
	"fmt"
	"sort"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// node is a value in an object with its schema.
type node struct {
	path   string
	key    string // field name; the nearest one for list items
	parent any    // map or list that holds the value
	at     any    // its key or index there
	schema *api.Schema
	within string // type of the object that holds it
}

func (n node) value() any {
	switch p := n.parent.(type) {
	case map[string]any:
		return p[n.at.(string)]
	case []any:
		return p[n.at.(int)]
	}
	return nil
}

func (n node) set(v any) {
	switch p := n.parent.(type) {
	case map[string]any:
		p[n.at.(string)] = v
	case []any:
		p[n.at.(int)] = v
	}
}

// walk lists all places below an object, in a fixed order.
func walk(v any, s *api.Schema, path, key string) []node {
	var out []node
	switch c := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(c))
		for k := range c {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			p := s.Property(k)
			t := ""
			if s != nil {
				t = s.Type
			}
			out = append(out, node{path: path + "." + k, key: k, parent: c, at: k, schema: p, within: t})
			out = append(out, walk(c[k], p, path+"."+k, k)...)
		}
	case []any:
		for i := range c {
			p := s.Items()
			t := ""
			if p != nil {
				t = p.Type
			}
			at := fmt.Sprintf("%s[%d]", path, i)
			out = append(out, node{path: at, key: key, parent: c, at: i, schema: p, within: t})
			out = append(out, walk(c[i], p, at, key)...)
		}
	}
	return out
}

// skipped are fields that the server owns, and those that only make sense together with others.
var skipped = map[string]bool{
	"status": true, "apiVersion": true, "kind": true, "managedFields": true, "creationTimestamp": true, "deletionTimestamp": true,
	"selfLink": true, "uid": true, "resourceVersion": true, "generation": true, "deletionGracePeriodSeconds": true, "generateName": true,
	"namespace": true,
}

// enrich adds up to n optional fields with valid values and returns their paths.
func (b *builder) enrich(obj map[string]any, s *api.Schema, n int) []string {
	var added []string
	for i := 0; i < n; i++ {
		type spot struct {
			m    map[string]any
			s    *api.Schema
			path string
		}
		spots := []spot{{obj, s, ""}}
		for _, x := range walk(obj, s, "", "") {
			if m, ok := x.value().(map[string]any); ok && len(x.schema.Properties()) > 0 && x.key != "status" {
				spots = append(spots, spot{m, x.schema, x.path})
			}
		}
		at := spots[b.r.Intn(len(spots))]
		var free []string
		for _, p := range at.s.Properties() {
			if _, ok := at.m[p]; !ok && !skipped[p] && !(at.path == ".metadata" && p == "name") {
				free = append(free, p)
			}
		}
		if len(free) == 0 {
			continue
		}
		f := free[b.r.Intn(len(free))]
		if v, ok := b.make(at.s.Type, f, at.s.Property(f), 0); ok {
			at.m[f] = v
			added = append(added, at.path+"."+f)
		}
	}
	return added
}

// make builds a valid value for a field; false when it should be left out.
func (b *builder) make(parent, field string, s *api.Schema, depth int) (any, bool) {
	if alt, ok := b.g.tables.valid(parent, field, s); ok {
		if len(alt) == 0 {
			return nil, false
		}
		return scenario.Copy(alt[b.r.Intn(len(alt))]), true
	}
	if e := s.Enum(); len(e) > 0 {
		return e[b.r.Intn(len(e))], true
	}
	switch s.Kind() {
	case "string":
		switch s.Format() {
		case "date-time":
			return "2020-01-01T00:00:00Z", true
		case "byte":
			return base64.StdEncoding.EncodeToString([]byte("x")), true
		}
		return []string{"a", "abc", "x1"}[b.r.Intn(3)], true
	case "integer":
		return float64(1 + b.r.Intn(5)), true
	case "number":
		return float64(b.r.Intn(4)), true
	case "boolean":
		return b.r.Intn(2) == 0, true
	case "int-or-string":
		return []any{1.0, "20%"}[b.r.Intn(2)], true
	case "quantity":
		return []any{"1", "100m", "1Gi"}[b.r.Intn(3)], true
	case "array":
		if depth > 4 {
			return nil, false
		}
		v, ok := b.make(parent, field+"[]", s.Items(), depth+1)
		if !ok {
			return []any{}, true
		}
		return []any{v}, true
	case "map":
		if depth > 4 {
			return nil, false
		}
		v, ok := b.make(parent, field+"{}", s.Values(), depth+1)
		if !ok {
			return map[string]any{}, true
		}
		return map[string]any{[]string{"cpu", "memory", "k"}[b.r.Intn(3)]: v}, true
	case "object":
		if depth > 4 {
			return nil, false
		}
		out := map[string]any{}
		for _, p := range s.Properties() {
			if skipped[p] && p != "apiVersion" && p != "kind" {
				continue
			}
			if s.Required(p) || (p != "apiVersion" && p != "kind" && b.r.Intn(6) == 0) {
				if v, ok := b.make(s.Type, p, s.Property(p), depth+1); ok {
					out[p] = v
				}
			}
		}
		return out, true
	}
	return map[string]any{"a": "b"}, true
}
