package compat

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// pair is two shapes that stand for each other. They are compared once, however many
// members have them.
type pair struct{ old, now *shape }

// types compares two shapes with all that they reach. path names them in findings.
func (c *comparison) types(old, now *usage, path string) {
	if !c.differ() && (old.kind == "object" || old.kind == "map") && old.kind == now.kind && old.atomic != now.atomic {
		c.find(old.use, "map-semantics-changed", now.pos, path, "changes between atomic and granular")
	}
	c.shapes(old.shape, now.shape, path)
}

func (c *comparison) shapes(old, now *shape, path string) {
	if c.compared[pair{old, now}] {
		return
	}
	c.compared[pair{old, now}], c.seen[old] = true, true
	u := old.use
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	if c.differ() {
		if c.alike(old, now); coarse(old) != coarse(now) && coarse(old) != "any" && coarse(now) != "any" {
			find("field-type-changed", "was %s and is %s", kindName(old), kindName(now))
			c.pass(old)
			return
		}
	} else if old.kind != now.kind {
		find("field-type-changed", "was %s and is %s", kindName(old), kindName(now))
		c.pass(old)
		return
	}
	c.names(u, old, now, path)
	if c.both(facetWire) {
		c.wire(u, old, now, path)
	}
	if (old.list != now.list || !slices.Equal(old.keys, now.keys)) && !c.differ() {
		find("list-semantics-changed", "was a list of type %s and is of type %s", listName(old), listName(now))
	}
	if c.differ() {
		c.reached(u, old, now, path)
		return
	}
	if old.open && !now.open {
		find("field-removed", "drops members without a schema")
	}
	c.values(u, old, now, path)
	c.reached(u, old, now, path)
}

// alike compares the allowed words where one side describes less than the other.
func (c *comparison) alike(old, now *shape) {
	for _, v := range old.enum {
		if len(now.enum) > 0 && !now.openEnum && !old.openEnum && !slices.Contains(now.enum, v) {
			c.find(old.use, "enum-value-removed", now.pos, old.name, "no longer takes %q", v)
		}
	}
}

// coarse is the type of a shape in JSON, "any" where several are possible.
func coarse(t *shape) string {
	switch t.kind {
	case "int32", "int64":
		return "integer"
	case "quantity", "int-or-string", "any", "":
		return "any"
	case "date-time", "micro-time", "duration", "byte":
		return "string"
	case "object":
		if len(t.members) == 0 {
			return "any"
		}
	}
	return t.kind
}

// reached compares the members and elements of two shapes.
func (c *comparison) reached(u use, old, now *shape, path string) {
	for _, m := range old.members {
		c.member(u, m, now, path)
	}
	c.newMembers(u, old, now, path)
	switch {
	case old.elem == nil && now.elem == nil:
	case old.elem == nil || now.elem == nil:
		if c.differ() {
			return
		}
		c.find(u, "field-type-changed", now.pos, path, "was %s and is %s", kindName(old), kindName(now))
	case old.kind == "map":
		c.types(old.elem, now.elem, path+"[*]")
	case old.kind == "any":
		c.types(old.elem, now.elem, path)
	default:
		c.types(old.elem, now.elem, path+"[]")
	}
}

// wire compares the properties of a shape that only documents describe.
func (c *comparison) wire(u use, old, now *shape, path string) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	if old.form != now.form {
		find("field-binary-form-changed", "had the binary form %s and has %s", cmp.Or(old.form, "of its type"), cmp.Or(now.form, "of its type"))
	}
	if old.roundUp != now.roundUp {
		find("field-default-changed", "rounds amounts differently")
	}
	if old.hook != now.hook || old.hookRev != now.hookRev {
		find("default-hook-changed", "has other hand-written defaults")
	}
	if now.check && !old.check {
		find("validation-hook-added", "is validated by hand-written rules")
	}
	if old.skip && !now.skip {
		find("validation-hook-added", "is validated in full")
	}
	c.oneOf(u, old, now, path)
	for _, n := range old.reserved {
		if !slices.Contains(now.reserved, n) && !numbered(now, n) {
			find("binary-number-released", "no longer reserves the binary number %s", n)
		}
	}
	for _, m := range now.members {
		n := schema.WireNumber{Outer: m.outer, Number: m.number}
		if was := old.property(m.name); slices.Contains(old.reserved, n) && (was == nil || was.number != m.number) {
			c.find(u, "field-binary-number-reused", m.pos, path+"."+m.name, "takes the binary number %s, which is reserved", n)
		}
	}
}

func numbered(t *shape, n schema.WireNumber) bool {
	return slices.ContainsFunc(t.members, func(m *member) bool { return m.number == n.Number && m.outer == n.Outer })
}

// oneOf compares the members of which one may be set.
func (c *comparison) oneOf(u use, old, now *shape, path string) {
	if now.oneNeed && !old.oneNeed {
		c.find(u, "rule-added", now.pos, path, "needs one of %s", list(now.oneOf))
	}
	if len(now.oneOf) < 2 {
		return
	}
	for _, name := range now.oneOf {
		bare := strings.TrimSuffix(name, ":")
		if !slices.Contains(old.oneOf, name) && old.property(bare) != nil && (bare == name || !slices.Contains(old.oneOf, bare)) {
			c.find(u, "rule-added", now.pos, path, "may have only one of %s, %s among them", list(now.oneOf), bare)
		}
	}
}

// names compares the names of types in generated Go and in published documents.
func (c *comparison) names(u use, old, now *shape, path string) {
	if !c.both(facetGo) || old.name == "" || now.name == "" {
		return
	}
	if baseName(old.name) != baseName(now.name) {
		c.find(u, "type-renamed", now.pos, path, "had the type %s and has %s", old.name, now.name)
	} else if was, is := cmp.Or(old.goName, baseName(old.name)), cmp.Or(now.goName, baseName(now.name)); was != is {
		c.find(u, "type-renamed", now.pos, path, "was called %s in Go and is called %s", was, is)
	}
}

func baseName(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }

// member compares one member of an object.
func (c *comparison) member(u use, old *member, in *shape, path string) {
	path += "." + old.name
	now := in.property(old.name)
	if now == nil {
		c.pass(old.shape)
		if in.open || c.differ() && (old.name == "kind" || old.name == "apiVersion") { // implied in documents
			return
		}
		c.findOld(u, "field-removed", old.pos, path, "is gone")
		n := schema.WireNumber{Outer: old.outer, Number: old.number}
		if c.both(facetWire) && n.Number > 0 && !slices.Contains(in.reserved, n) {
			c.find(u, "binary-number-released", in.pos, path, "leaves the binary number %s free", n)
		}
		return
	}
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	needed, need := old.required, now.required
	if c.differ() {
		needed, need = old.published, now.published
	}
	switch {
	case need && !needed && !now.defaulted:
		find("field-required", "becomes required")
	case now.required && now.nonzero && !old.nonzero && !c.differ():
		find("field-required", "may no longer be 0")
	}
	if old.published && !now.published && !c.both(facetWire) && !c.differ() {
		find("field-optional", "may be absent")
	}
	if (old.def != now.def || old.when != now.when) && (!c.differ() || old.def != "" && now.def != "" && now.def != "{}" && old.def != "{}") {
		find("field-default-changed", "had the default %s and has %s", defaultOf(old), defaultOf(now))
	}
	if now.readOnly && !old.readOnly {
		find("field-read-only", "is set by the server alone")
	}
	if now.writeOnly && !old.writeOnly {
		find("field-write-only", "is no longer shown")
	}
	switch {
	case c.differ():
	case now.more.keepsNull && !old.more.keepsNull && now.def != "":
		find("field-default-changed", "keeps null where it had the default %s", now.def)
	case now.more.nullable && !old.more.nullable:
		find("field-nullable", "may be null")
	}
	if c.both(facetWire) {
		c.renames(u, old, now, path)
	}
	if now.immutable && !old.immutable && !c.differ() {
		find("field-immutable", "can no longer change")
	}
	if c.both(facetWire) {
		c.wireMember(u, old, now, path)
	} else if !c.differ() && (old.mergeKey != now.mergeKey || len(old.patch) > 0 && len(now.patch) > 0 && unlike(old.patch, now.patch)) {
		find("patch-semantics-changed", "is treated differently by strategic merge patches")
	}
	c.types(&old.usage, &now.usage, path)
}

// wireMember compares the properties of a member that only documents describe.
func (c *comparison) wireMember(u use, old, now *member, path string) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.pos, path, format, args...) }
	was, is := schema.WireNumber{Outer: old.outer, Number: old.number}, schema.WireNumber{Outer: now.outer, Number: now.number}
	if was.Number != 0 && was != is {
		find("field-binary-number-changed", "had the binary number %s and has %s", was, is)
	}
	if old.presence != now.presence || old.null != now.null {
		rule := "field-presence-changed"
		if u.ways&(Request|Stored) == 0 && now.presence == "always" && !now.null {
			rule = "field-always-written"
		}
		find(rule, "was %s and is %s", presenceName(old), presenceName(now))
	}
	switch {
	case now.gate == old.gate:
	case now.gate == "":
	case !c.now.promises.on(now.gate) && (old.gate == "" || c.old.promises.on(old.gate)):
		find("field-gated-off", "is dropped, since the feature gate %s is off by default", now.gate)
	default:
		find("field-gated", "is dropped unless the feature gate %s is on", now.gate)
	}
	if now.gate != "" && old.gateValue != now.gateValue {
		find("field-gated", "has another value without the feature gate %s", now.gate)
	}
	if now.gate != "" && now.gateHolder && !old.gateHolder {
		find("field-gated", "takes an object that holds nothing else with it without the feature gate %s", now.gate)
	}
	if old.ungated && !now.ungated {
		find("field-gated", "loses what is behind gates")
	}
	if old.unchecked && !now.unchecked {
		find("rule-added", "is validated")
	}
	if unlike(old.patch, now.patch) || old.mergeKey != now.mergeKey {
		find("patch-semantics-changed", "is treated differently by strategic merge patches")
	}
}

// newMembers checks the members that the old type did not have.
func (c *comparison) newMembers(u use, old, now *shape, path string) {
	for _, m := range now.members {
		if old.property(m.name) != nil {
			continue
		}
		if !m.defaulted && (m.required && !c.differ() || m.published && c.differ()) {
			c.find(u, "field-required", m.pos, path+"."+m.name, "is new and required")
		}
		for _, p := range old.members {
			if p.number != 0 && p.number == m.number && p.outer == m.outer && now.property(p.name) == nil {
				c.find(u, "field-binary-number-reused", m.pos, path+"."+m.name, "takes the binary number %d, which was that of %s", m.number, p.name)
			}
		}
	}
}

func kindName(t *shape) string {
	switch t.kind {
	case "any":
		return "any JSON"
	case "map", "list", "object":
		return strings.Replace("a "+t.kind, "a o", "an o", 1)
	}
	return t.kind
}

func listName(t *shape) string {
	if len(t.keys) == 0 {
		return t.list
	}
	return t.list + " by " + list(t.keys)
}

func presenceName(m *member) string {
	if m.null {
		return m.presence + ", null without a value"
	}
	return m.presence
}

func defaultOf(m *member) string {
	switch {
	case m.def == "":
		return "none"
	case m.when != "":
		return m.def + " where " + m.when
	}
	return m.def
}
