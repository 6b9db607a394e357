package compat

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/internal/document"
)

// admission does with the values of a schema of a custom resource as a server: members without a schema are dropped, defaults are
// filled in, and the result is validated.
type admission struct {
	schema node
	rules  *jsonschema.Schema
}

// newAdmission is nil for a schema that does not compile.
func newAdmission(s node) *admission {
	rules := compiled(standard(s).(node))
	if rules == nil {
		return nil
	}
	return &admission{s, rules}
}

// standard is a schema of a custom resource in the words of JSON Schema. Combined schemas do not ask null.
func standard(v any) any {
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = standard(v[i])
		}
		return all
	case node:
		out, combined := node{}, node{}
		for key, below := range v {
			switch {
			case key == "nullable" || key == "default" || strings.HasPrefix(key, "x-"):
			case key == "enum" || key == "required":
				out[key] = below
			case key == "properties":
				members := node{}
				for name, m := range below.(node) {
					members[name] = standard(m)
				}
				out[key] = members
			case slices.Contains([]string{"allOf", "anyOf", "oneOf", "not"}, key):
				combined[key] = standard(below)
			default:
				out[key] = standard(below)
			}
		}
		if len(combined) > 0 {
			out["if"], out["else"] = node{"type": "null"}, combined
		}
		if v["nullable"] == true {
			if values, is := v["enum"].([]any); !is || slices.Contains(values, nil) {
				return node{"anyOf": []any{node{"type": "null"}, out}}
			}
		}
		return out
	}
	return v
}

// admit is the stored form of a value; false for one that is refused.
func (a *admission) admit(v any) (stored any, ok bool) {
	text, _ := json.Marshal(v)
	_ = json.Unmarshal(text, &stored)
	stored = fillIn(a.schema, stored)
	return stored, a.rules.Validate(stored) == nil && distinct(a.schema, stored)
}

// fillIn drops unknown members and fills in defaults.
func fillIn(s node, v any) any {
	properties, _ := s["properties"].(node)
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = fillIn(s["items"].(node), v[i])
		}
	case node:
		if below, is := s["additionalProperties"].(node); is {
			for name := range v {
				v[name] = fillIn(below, v[name])
			}
			return v
		}
		for _, name := range sorted(v) {
			if properties[name] == nil && s[anyMembers] != true {
				delete(v, name)
			}
		}
		for _, name := range sorted(properties) {
			m := properties[name].(node)
			in, has := v[name]
			if d := m["default"]; d != nil && (!has || in == nil && m["nullable"] != true) {
				text, _ := json.Marshal(d)
				_ = json.Unmarshal(text, &in)
				has = true
			}
			if has {
				v[name] = fillIn(m, in)
			}
		}
	}
	return v
}

// distinct reports whether the elements of sets and of lists with keys differ, and whole objects say what they are.
func distinct(s node, v any) bool {
	properties, _ := s["properties"].(node)
	switch v := v.(type) {
	case []any:
		seen := map[string]bool{}
		for _, e := range v {
			id := ""
			switch s[listType] {
			case "set":
				id = fmt.Sprint(e)
			case "map":
				id = fmt.Sprint(e.(node)[s[listKeys].([]any)[0].(string)])
			default:
				id = fmt.Sprint(len(seen))
			}
			if seen[id] || !distinct(s["items"].(node), e) {
				return false
			}
			seen[id] = true
		}
	case node:
		if text := func(name string) string { s, _ := v[name].(string); return s }; s[embedded] == true && (text("apiVersion") == "" || text("kind") == "") {
			return false
		}
		for name, in := range v {
			below, _ := properties[name].(node)
			if below == nil {
				below, _ = s["additionalProperties"].(node)
			}
			if below != nil && !distinct(below, in) {
				return false
			}
		}
	}
	return true
}

// differs finds a member that has another value in the stored form of the new schema.
func differs(s node, old, now any) bool {
	properties, _ := s["properties"].(node)
	switch old := old.(type) {
	case []any:
		now, is := now.([]any)
		if !is || len(now) != len(old) {
			return true
		}
		for i := range old {
			if differs(s["items"].(node), old[i], now[i]) {
				return true
			}
		}
		return false
	case node:
		now, is := now.(node)
		if !is {
			return true
		}
		for name := range maps.Keys(old) {
			below, _ := properties[name].(node)
			if extra, is := s["additionalProperties"].(node); is {
				below = extra
			}
			if in, has := now[name]; !has || below != nil && differs(below, old[name], in) || below == nil && !reflect.DeepEqual(old[name], in) {
				return true
			}
		}
		for name := range now {
			if _, had := old[name]; !had && properties[name] != nil {
				return true
			}
		}
		return false
	}
	return !reflect.DeepEqual(old, now)
}

// definitionMutant is a definition and an edit of it.
type definitionMutant struct {
	old, now *definition
	edits    []string
	safe     bool
	broken   string
}

func (m *definitionMutant) String() string {
	return fmt.Sprintf("%s\nold %s\nnew %s", strings.Join(m.edits, ", "), m.old.manifest(), m.now.manifest())
}

// mutatedDefinition is the mutant of a seed; nil where no value was accepted, or a definition is wrong.
func mutatedDefinition(seed uint64) *definitionMutant {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 5))}
	m := &definitionMutant{safe: true}
	if m.old = d.definition(); m.old == nil {
		return nil
	}
	m.now = m.old.clone()
	for range 1 + d.IntN(2) {
		what, safe, broken := d.editDefinition(m.now)
		m.edits, m.safe = append(m.edits, what), m.safe && safe
		if broken {
			m.broken = what
		}
	}
	if m.old.Webhook && !m.now.Webhook && m.now.unlike() {
		m.broken = "nothing converts any more"
	}
	accepted := 0
	for i := range m.old.Versions {
		was := &m.old.Versions[i]
		at := slices.IndexFunc(m.now.Versions, func(v definedVersion) bool { return v.Name == was.Name && v.Served })
		if at < 0 {
			continue
		}
		why, n, ok := prove(seed, was, &m.now.Versions[at])
		if !ok {
			return nil
		}
		if accepted += n; why != "" && m.broken == "" {
			m.broken = why
		}
	}
	if accepted == 0 && m.broken == "" {
		return nil
	}
	return m
}

// prove draws objects of a version before and after an edit. It reports one that is refused or stored in another way, how many were
// accepted before, and whether both schemas are right.
func prove(seed uint64, was, is *definedVersion) (why string, accepted int, ok bool) {
	old, now := newAdmission(was.Spec), newAdmission(is.Spec)
	if old == nil || now == nil || !defaultsFit(was.Spec) || !defaultsFit(is.Spec) {
		return "", 0, false
	}
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 6)), numbers: []any{0.0, 1.0, 12.0, 0.25, -9.0}, texts: []string{"", "a", "b", "ab", "zz", "x", "x1", "x9", "7", "A",
		"abc", "abcd", "abcdef", "xab", "zzzzzzzzz", "b b", "ö"}}
	d.collect(was.Spec)
	d.collect(is.Spec)
	for range 200 {
		v := d.value(was.Spec)
		before, took := old.admit(v)
		if !took {
			continue
		}
		accepted++
		if after, takes := now.admit(v); !takes || differs(was.Spec, before, after) {
			text, _ := json.Marshal(v)
			return string(text), accepted, true
		}
	}
	takes := func(s node, name string) bool { return s == nil || compiled(s).Validate(name) == nil }
	for _, name := range append(slices.Clone(d.texts), "a.b", strings.Repeat("a", 253)) {
		if len(document.CheckFormat("dns1123-subdomain", name)) == 0 && takes(was.ObjectName, name) && !takes(is.ObjectName, name) {
			return "the name " + name, accepted, true
		}
	}
	return "", accepted, true
}

// defaultsFit reports whether a server accepts the defaults of a schema.
func defaultsFit(s node) bool {
	for _, at := range places(s) {
		if v := at["default"]; v != nil {
			bare := clone(at)
			delete(bare, "default")
			a := newAdmission(bare)
			if a == nil {
				return false
			}
			if _, ok := a.admit(v); !ok {
				return false
			}
		}
	}
	return true
}

func (m *definitionMutant) compared() (*Report, error) {
	var sides [2]*Surface
	for i, def := range []*definition{m.old, m.now} {
		var err error
		if sides[i], err = fileSurface(foreign.Parse("mutant.yaml", def.manifest())); err != nil {
			return nil, err
		}
	}
	return Compare(sides[0], sides[1], Options{Now: day}), nil
}

func (m *definitionMutant) proven() (string, bool) { return m.broken, m.safe }

// TestDefinitionMutations compares custom resource definitions with random edits of them: of null, defaults, types of lists, members,
// versions, names and conversions. Objects that are refused afterwards, or stored in another way, prove a break.
func TestDefinitionMutations(t *testing.T) {
	tryEdits(t, func(seed uint64) randomEdit {
		if m := mutatedDefinition(seed); m != nil {
			return m
		}
		return nil
	})
}
