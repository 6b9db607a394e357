package facts

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// typeMember is a member of a type that a path of a kind leads to.
type typeMember struct {
	owner    *model.Type
	property schema.Property
}

func (p typeMember) String() string {
	return p.owner.GV.Dir + "." + p.owner.Name + "." + p.property.Name
}

// elem is the schema of the members, elements or values that lie below s.
func elem(s *schema.Schema) *schema.Schema {
	switch {
	case s.Items != nil:
		return elem(s.Items)
	case s.Additional != nil:
		return elem(s.Additional)
	}
	return s
}

// walk visits all members that the paths of a kind reach, once around in types
// that hold themselves (the schemas of custom resources).
func walk(types map[string]*model.Type, t *model.Type, path string, visit func(path string, p typeMember)) {
	walkBelow(types, t, path, nil, visit)
}

func walkBelow(types map[string]*model.Type, t *model.Type, path string, above []*model.Type, visit func(path string, p typeMember)) {
	if slices.Contains(above, t) {
		return
	}
	above = append(above[:len(above):len(above)], t)
	for _, p := range t.Schema.Properties {
		at := strings.TrimPrefix(path+"."+p.Name, ".")
		visit(at, typeMember{t, p})
		e := elem(p.Schema)
		if p.Schema.Items != nil {
			at += "[]"
		}
		if e.Ref != "" {
			if next := types[target(t, e.Ref)]; next != nil {
				walkBelow(types, next, at, above, visit)
			}
		}
	}
}

// compareDefaults compares the defaults that always apply. A default of a
// shared type has to be one for every kind that reaches it.
func compareDefaults(t *testing.T, m *model.Model, found differences) {
	types := typesByID(m)
	facts := map[string]map[string]string{} // by kind, by path
	for _, r := range table(t, "defaults") {
		kind := dir(r["gv"], m.Profile.GroupSuffix) + "." + r["kind"]
		if facts[kind] == nil {
			facts[kind] = map[string]string{}
		}
		facts[kind][r["path"]] = r["value"]
	}
	for id, typ := range types {
		if !typ.Kind {
			continue
		}
		walk(types, typ, "", func(path string, p typeMember) {
			fact, ok := facts[id][path]
			delete(facts[id], path)
			if !ok {
				fact = "-"
			}
			document := "-"
			if p.property.Schema.Default != nil {
				document = plain(p.property.Schema.Default)
			}
			found.compare(p.String(), "default", fact, document)
		})
	}
	for kind, paths := range facts {
		if types[kind] == nil {
			found.skip("defaults", len(paths))
			continue
		}
		for path := range paths {
			found.missing(kind + " " + path + " default")
		}
	}
}

// plain is a JSON value as the facts write it: strings without quotes, but ""
// for the empty one.
func plain(data []byte) string {
	var s string
	if json.Unmarshal(data, &s) == nil && s != "" {
		return s
	}
	return string(data)
}
