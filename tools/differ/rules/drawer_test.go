package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// drawer draws schemas with rules, and objects that nearly fit them.
type drawer struct{ *rand.Rand }

type members = map[string]any

func (d drawer) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d drawer, of ...T) T { return of[d.IntN(len(of))] }

// names are those of properties, in their order.
var names = []string{"a", "b", "c", "namespace", "d-e", "f.g", "1h"}

// inRules are the names as expressions write them.
var inRules = map[string]string{"a": "a", "b": "b", "c": "c", "namespace": "__namespace__", "d-e": "d__dash__e", "f.g": "f__dot__g"}

func (d drawer) root() members {
	s := d.objectSchema(0)
	if d.chance(40) {
		d.rule(s, pick(d, `self.metadata.name != 'x'`, `self.kind == 'Widget' && self.apiVersion != ''`, `has(self.metadata.generateName) || self.metadata.name.size() < 9`))
	}
	return s
}

func (d drawer) objectSchema(depth int) members {
	properties := members{}
	for range 1 + d.IntN(4) {
		properties[pick(d, names...)] = d.schema(depth + 1)
	}
	s := members{"type": "object", "properties": properties}
	var required []any
	for _, name := range names {
		if _, ok := properties[name]; ok && d.chance(25) {
			required = append(required, name)
		}
	}
	if required != nil {
		s["required"] = required
	}
	if d.chance(60) {
		d.objectRules(s)
	}
	return s
}

// schema draws a schema with rules.
func (d drawer) schema(depth int) members {
	kinds := []string{"string", "integer", "number", "boolean", "either", "time", "array", "set", "map", "keyed", "object", "bytes", "wait", "date", "any", "open"}
	if depth > 3 {
		kinds = kinds[:6]
	}
	var s members
	switch kind := pick(d, kinds...); kind {
	case "string":
		s = members{"type": "string"}
		if d.chance(60) {
			s["maxLength"] = pick(d, 5, 20, 1000)
		}
		d.rules(s, `self != 'x'`, `self.startsWith('a')`, `self.matches('^[a-z]*$')`, `self.size() < 4`, `self == self.lowerAscii()`, `self.contains('b') || self.endsWith('c')`,
			`self.find('[0-9]+') == ''`, `self.findAll('[a-z]').size() < 3`, `self.split(',').size() < 3`, `self.replace('a', 'bb').size() < 5`, `isURL(self) || self < 'm'`,
			`self >= oldSelf`, `!isQuantity(self) || quantity(self).isLessThan(quantity('5'))`, `self.substring(0, 1) != 'z'`, `self.trim() == self`, `!isIP(self) || ip(self).family() == 4`,
			`!format.dns1123Label().validate(self).hasValue()`, `self in ['a', 'b', 'abc']`, `[self].join('-') == self`, `!isSemver(self) || semver(self).major() > 1`, `self.charAt(0) == 'a'`,
			`self.upperAscii().lastIndexOf('A') < 2`, `self.isSorted()`, `self + 1 == ''`, `self == '`, `string(self) == self && type(self) == string`)
	case "integer":
		s = members{"type": "integer"}
		d.rules(s, `self > 1`, `self % 2 == 0`, `10 / self > 1`, `self >= oldSelf`, `self == oldSelf || self < 3`, `string(self) != '5'`, `self in [1, 2, 3]`, `[self, 2].max() == 2`, `self > 1.5`,
			`self + 9223372036854775807 > 0`, `type(self) == int`, `self == 'a'`, `[1, 2].exists(x, x == self)`, `{'a': self}['a'] < 5`)
	case "number":
		s = members{"type": "number"}
		d.rules(s, `self > 1.5`, `self >= oldSelf`, `self < 3`, `int(self) < 4`, `double(string(self)) == self`, `[self, 2.5].sum() > 3.0`)
	case "boolean":
		s = members{"type": "boolean"}
		d.rules(s, `self`, `!self || oldSelf`, `self == true`)
	case "either":
		s = members{"x-kubernetes-int-or-string": true}
		d.rules(s, `type(self) == int ? self > 1 : self != 'x'`, `self > 1`, `self == 'a' || self == 2`, `string(self).size() < 4`)
	case "time":
		s = members{"type": "string", "format": "date-time"}
		d.rules(s, `self > timestamp('2020-01-01T00:00:00Z')`, `self.getFullYear() < 2022`, `self - duration('1h') < self`, `self >= oldSelf`)
	case "date":
		s = members{"type": "string", "format": "date"}
		d.rules(s, `self.getMonth() > 1`)
	case "wait":
		s = members{"type": "string", "format": "duration"}
		d.rules(s, `self > duration('1m')`, `self.getSeconds() < 100`)
	case "bytes":
		s = members{"type": "string", "format": "byte"}
		d.rules(s, `self.size() < 3`, `self == b'hi'`)
	case "any":
		s = members{"x-kubernetes-preserve-unknown-fields": true}
	case "open":
		s = members{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": members{"a": members{"type": "integer"}}}
		d.rules(s, `self == oldSelf`, `has(self.a)`, `self.a > 1`)
	case "map":
		s = members{"type": "object", "additionalProperties": d.schema(depth + 1)}
		d.bound(s, "maxProperties")
		d.rules(s, `self.size() < 2`, `self.all(k, k != 'x')`, `'a' in self`, `self.exists(k, k.startsWith('a'))`, `self == oldSelf`, `self.all(k, has(oldSelf.a) || k == 'b')`,
			`self.all(k, v, k != 'z')`, `self.map(k, k).size() < 3`, `self['a'] == self['a']`)
	case "object":
		return d.objectSchema(depth)
	default:
		s = d.listSchema(kind, depth)
	}
	return s
}

func (d drawer) listSchema(kind string, depth int) members {
	s := members{"type": "array"}
	d.bound(s, "maxItems")
	switch kind {
	case "set":
		s["items"], s["x-kubernetes-list-type"] = members{"type": "string", "maxLength": 5}, "set"
		d.rules(s, `self == ['a', 'b']`, `self + ['a'] == self`, `self == oldSelf`, `sets.contains(['a', 'b', 'c'], self)`, `self.isSorted()`, `self.join(',') != 'a,b'`, `self.max() == 'b'`)
	case "keyed":
		item := d.objectSchema(depth + 1)
		item["properties"].(members)["k"] = members{"type": "string", "maxLength": 5}
		item["required"] = []any{"k"}
		s["items"], s["x-kubernetes-list-type"], s["x-kubernetes-list-map-keys"] = item, "map", []any{"k"}
		d.rules(s, `self.all(x, x.k != 'x')`, `self.exists_one(x, x.k == 'a')`, `self == oldSelf`, `(self + oldSelf) == self`, `self.map(x, x.k) == ['a']`, `self.filter(x, x.k == 'a').size() < 2`,
			`self.all(i, x, i < 2)`, `self.all(x, oldSelf.exists(y, y.k == x.k))`)
	default:
		s["items"] = d.schema(depth + 1)
		d.rules(s, `self.size() < 2`, `self.all(x, self.exists(y, x == y))`, `self == oldSelf`, `self[0] == self[self.size() - 1]`, `self.all(x, x in self)`, `self.map(x, [x]).size() > 0`, `self + self == self`,
			`self.indexOf(self[0]) == 0`, `self.transformList(i, x, i).sum() < 3`)
	}
	return s
}

func (d drawer) bound(s members, name string) {
	if d.chance(60) {
		s[name] = pick(d, 2, 10, 1000)
	}
}

func (d drawer) rules(s members, from ...string) {
	for d.chance(35) {
		d.rule(s, pick(d, from...))
	}
	if d.chance(6) {
		d.rule(s, pick(d, ``, `self.`, `undefined`, `self == undefined`, `1`, `true`, `false`, `oldSelf == self`))
	}
}

// objectRules adds rules about the members of an object.
func (d drawer) objectRules(s members) {
	properties := s["properties"].(members)
	for range 1 + d.IntN(2) {
		name := pick(d, names[:6]...)
		if properties[name] == nil && d.chance(80) {
			continue
		}
		field := inRules[name]
		d.rule(s, strings.ReplaceAll(pick(d, `has(self.F)`, `!has(self.F) || self.F == self.F`, `self.F == oldSelf.F`, `has(oldSelf.F) ? has(self.F) : true`, `self == oldSelf`, `self.?F.hasValue()`,
			`dyn(self.F) != 5`, `self.F != null || true`, `self.F.size() < 3`, `self.F > 1`), "F", field))
	}
}

func (d drawer) rule(s members, text string) {
	r := members{"rule": text}
	if d.chance(30) {
		r["message"] = pick(d, "is wrong", " is wrong ", "", " ")
	}
	if d.chance(15) {
		r["messageExpression"] = pick(d, `'wrong: ' + 'so'`, `self`, `string(self)`, `''`, `type(self) == int ? 'int' : 'other'`)
	}
	if d.chance(10) {
		r["reason"] = pick(d, "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "FieldValueInvalid", "Other")
	}
	if d.chance(10) {
		r["fieldPath"] = pick(d, ".a", ".b", "['d-e']", ".a.b", "a", ".")
	}
	if d.chance(15) || strings.Contains(text, "oldSelf") && d.chance(15) {
		r["optionalOldSelf"] = true
	}
	list, _ := s["x-kubernetes-validations"].([]any)
	s["x-kubernetes-validations"] = append(list, r)
}

// object draws a whole object.
func (d drawer) object(s members) members {
	obj := d.value(s).(members)
	obj["apiVersion"], obj["kind"], obj["metadata"] = "example.com/v1", "Widget", members{"name": pick(d, "x", "y")}
	return obj
}

func (d drawer) value(s members) any {
	switch s["type"] {
	case "string":
		switch s["format"] {
		case "date-time":
			return pick(d, "2019-05-05T00:00:00Z", "2021-05-05T01:02:03.5+02:00", "2023-01-01T00:00:00Z")
		case "date":
			return pick(d, "2019-01-05", "2021-05-05")
		case "duration":
			return pick(d, "30s", "2h", "1d")
		case "byte":
			return pick(d, "aGk=", "aGVsbG8=", "")
		}
		return pick(d, "", "a", "b", "x", "abc", "Ab,c", "10.0.0.1", "3Gi", "/p", "1.2.3", "ä")
	case "integer":
		return d.IntN(7) - 1
	case "number":
		return pick[any](d, 1, 1.25, 2.5, 4)
	case "boolean":
		return d.chance(50)
	case "array":
		list := []any{}
		seen := map[string]bool{}
		for range d.IntN(4) {
			v := d.value(s["items"].(members))
			key := fmt.Sprint(v)
			if s["x-kubernetes-list-type"] == "map" {
				key = fmt.Sprint(v.(members)["k"])
			}
			if s["x-kubernetes-list-type"] == nil || !seen[key] {
				list = append(list, v)
			}
			seen[key] = true
		}
		return list
	case "object":
		m := members{}
		if below, ok := s["additionalProperties"].(members); ok {
			for range d.IntN(3) {
				m[pick(d, "a", "b", "x", "a/b.c")] = d.value(below)
			}
			return m
		}
		properties := s["properties"].(members)
		for _, name := range append(names, "k") {
			if below, ok := properties[name].(members); ok && (d.chance(75) || name == "k") {
				m[name] = d.value(below)
			}
		}
		if s["x-kubernetes-preserve-unknown-fields"] == true && d.chance(50) {
			m["more"] = pick[any](d, 1, "x", []any{1})
		}
		return m
	}
	if s["x-kubernetes-int-or-string"] == true {
		return pick[any](d, 1, 2, "a", "x", "abcdef")
	}
	return pick[any](d, 1, "x", []any{1, members{"y": 2}}, members{"z": nil})
}

// changed is an object of which some members are drawn again.
func (d drawer) changed(s members, v any) any {
	switch v := v.(type) {
	case members:
		m := members{}
		for _, name := range append(names, "k", "more", "x", "a/b.c", "apiVersion", "kind", "metadata") {
			old, ok := v[name]
			if !ok {
				continue
			}
			below, _ := s["additionalProperties"].(members)
			if properties, ok := s["properties"].(members); ok {
				below, _ = properties[name].(members)
			}
			if m[name] = old; below == nil || name == "k" {
				continue
			}
			switch n := d.IntN(10); {
			case n < 2:
				m[name] = d.value(below)
			case n < 7:
				m[name] = d.changed(below, old)
			}
		}
		return m
	case []any:
		list := append([]any{}, v...)
		for i := range list {
			if items, ok := s["items"].(members); ok && d.chance(40) {
				list[i] = d.changed(items, list[i])
			}
		}
		if d.chance(30) {
			d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		return list
	}
	return v
}
