// Package house has the house rules of documents: what the compiler accepts, and designers
// of other APIs have come to regret.
package house

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Rules are the names of the house rules.
func Rules() []string {
	return []string{"boolean", "boolean-name", "bounds", "branch-twice", "builtin-name", "conditions", "description", "enum", "enum-refused", "enum-value",
		"field-name", "float", "list-type", "no-number", "no-value", "optional-zero", "outlives", "plural", "reference", "required-read-only", "rule-at",
		"rule-contradiction", "rule-cost", "rule-idle", "rule-message", "rule-value", "schema-dead", "schema-idle", "singular-kind", "status-endpoint",
		"text-format", "two-groups", "unit", "version-priority", compat.VersionValues}
}

// Check lists the findings in documents that the surface of the release has no say in, in
// the order of files and lines.
func Check(m *model.Model) []compat.Finding {
	c := &checker{usable: compat.NewUsable(m), types: model.TypesByID(m.GroupVersions)}
	if m.Module != "" {
		c.builtin = builtInNames()
	}
	c.groups(m)
	for _, gv := range m.GroupVersions {
		if gv.BuiltIn || released(m, gv) {
			continue
		}
		c.imported = gv.Imported
		for _, r := range gv.Resources {
			c.element = gv.Dir + " " + r.Plural
			c.resource(r)
			c.names(r)
			c.readOnly(r)
			c.versions(r)
			c.relations(m, r)
		}
		for _, t := range gv.Types {
			c.in = t
			of := schema.None
			if gv.Table != nil {
				of = gv.Table.Root(t.Name)
			}
			c.object(gv.Dir+"."+t.Name, t.Schema, strings.HasSuffix(t.Name, "Status"), of)
			c.element = gv.Dir + "." + t.Name
			c.sorts(t.Schema.Pos, t.Schema, of)
			c.rules(t)
		}
	}
	return c.sorted()
}

// sorted are the findings in the order of files and lines, each once.
func (c *checker) sorted() []compat.Finding {
	slices.SortStableFunc(c.found, func(a, b compat.Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
	})
	return slices.CompactFunc(c.found, func(a, b compat.Finding) bool { // a type of two versions may have one document
		a.Element = b.Element
		return a == b
	})
}

// released reports whether a group is one of the release, whose names and types are given.
func released(m *model.Model, gv *model.GroupVersion) bool {
	return m.Module == "" && (!strings.Contains(gv.Group, ".") || strings.HasSuffix(gv.Group, "."+m.Profile.GroupSuffix))
}

type checker struct {
	found    []compat.Finding
	element  string // the place in the API that is checked
	imported bool   // names and types are promises of another API: nothing is an error
	in       *model.Type
	types    map[string]*model.Type // by ID
	usable   *compat.Usable
	builtin  map[string]string // the names of built-in resources, with the resource and its group
}

// add notes a finding. A warning may be right in its place.
func (c *checker) add(pos schema.Position, rule string, warning bool, mend, what string, args ...any) {
	level := map[bool]compat.Level{true: compat.Warning, false: compat.Error}[warning || c.imported]
	c.found = append(c.found, compat.Finding{Rule: rule, Level: level, File: pos.File, Line: pos.Line, Element: c.element,
		What: fmt.Sprintf(what, args...), Mend: mend})
}

// resource checks the names of a resource and its status.
func (c *checker) resource(r *model.Resource) {
	if lower := strings.ToLower(r.Kind); r.Plural == lower {
		c.add(r.Pos, "plural", false, "write the plural", "has the name of its kind")
	} else if strings.HasSuffix(lower, "s") && !strings.HasSuffix(lower, "ss") && !strings.HasSuffix(lower, "us") && !strings.HasSuffix(lower, "is") {
		c.add(r.Pos, "singular-kind", true, "name one object", "has the kind %s, which looks like a plural", r.Kind)
	}
	if r.Stored && !r.HasStatus && member(r.Type.Schema, "status") != nil {
		c.add(r.Pos, "status-endpoint", false, "add subresources: {status: {}}", "has a status that authors of objects can write")
	}
}

func member(s *schema.Schema, name string) *schema.Schema {
	for _, p := range s.Properties {
		if p.Name == name {
			return p.Schema
		}
	}
	return nil
}

var (
	camelCase  = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
	upperCase  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	sentence   = regexp.MustCompile(`^[A-Z0-9"].*[.:!?)]$`)
	unitless   = regexp.MustCompile(`(?i)(timeout|delay|period|interval|duration|ttl|deadline|backoff)$`)
	sizes      = regexp.MustCompile(`(?i)(memory|storage|capacity|cpu)$`)
	closedWord = regexp.MustCompile(`(?:^|[a-z])(?:[Tt]ype|[Pp]olicy|[Mm]ode|[Ss]trategy|[Pp]hase|[Ll]evel)$`)
	asked      = regexp.MustCompile(`^(is|has|should|can)[A-Z]`)
)

// object checks the members of an object of a type of the table.
func (c *checker) object(at string, s *schema.Schema, status bool, of schema.Ref) {
	for _, p := range s.Properties {
		c.element = at + "." + p.Name
		c.name(p)
		c.value(s, p, status)
		ref := c.below(of, p.Name)
		c.unusable(p, ref)
		if !c.imported {
			c.later(s, p, status)
		}
		for _, below := range []*schema.Schema{p.Schema, p.Schema.Items, p.Schema.Additional} {
			if below == nil || len(below.Properties) == 0 {
				continue
			}
			inner := ref
			if below != p.Schema {
				inner = c.below(ref, expression.Elements)
			}
			c.object(at+"."+p.Name, below, status, inner)
		}
	}
}

// name checks the name and the description of a field.
func (c *checker) name(p schema.Property) {
	if !camelCase.MatchString(p.Name) && !strings.HasPrefix(p.Name, "$") {
		c.add(p.Pos, "field-name", false, "begin with a small letter and join words by capitals: maxUnavailable", "has an unusual name")
	}
	if text := strings.TrimSpace(p.Schema.Description); (text != "" || c.imported) && !sentence.MatchString(strings.ReplaceAll(text, "\n", " ")) {
		c.add(p.Pos, "description", true, "write a sentence, with a capital and a full stop", "has a description that is not a sentence")
	}
	for _, value := range p.Schema.Enum {
		if !upperCase.MatchString(value) && value != "" {
			c.add(p.Pos, "enum-value", false, "write "+strings.ToUpper(value[:1])+value[1:]+" in CamelCase", "has the value %q, an unusual name", value)
		}
	}
}

// value checks the type of a field.
func (c *checker) value(in *schema.Schema, p schema.Property, status bool) {
	s := p.Schema
	required := slices.Contains(in.Required, p.Name)
	switch {
	case p.Name == "conditions" && (s.ListType != "map" || !slices.Equal(s.ListMapKeys, []string{"type"}) || s.Items == nil ||
		!strings.HasSuffix(s.Items.Ref, "/Condition")):
		c.add(p.Pos, "conditions", false, "write items: {$ref: /meta/v1/Condition}, x-cluster-list-type: map, x-cluster-list-map-keys: [type]",
			"is not a list of conditions by type, so writers of different ones would overwrite each other")
	case s.Type == "number" && !status:
		c.add(p.Pos, "float", false, "use an integer of a smaller unit, or format: quantity", "is a floating-point number, which changes on its way through clients")
	case s.Type == "boolean" && asked.MatchString(p.Name):
		c.add(p.Pos, "boolean-name", false, "name the state: enabled, paused", "asks a question")
	case s.Type == "boolean" && !status:
		c.add(p.Pos, "boolean", true, "use an enum if a third state can come", "can never have more than two states")
	case integer(s) && unitless.MatchString(p.Name):
		c.add(p.Pos, "unit", false, "name the unit: "+p.Name+"Seconds", "does not say its unit")
	case integer(s) && sizes.MatchString(p.Name):
		c.add(p.Pos, "unit", false, "use format: quantity, or name the unit: "+p.Name+"Bytes", "does not say its unit")
	case s.Type == "string" && s.Format == "" && len(s.Enum) == 0 && closedWord.MatchString(p.Name) && s.Ref == "":
		c.add(p.Pos, "enum", true, "list the values in enum if they are known", "accepts every text")
	case s.Type == "string" && strings.HasSuffix(p.Name, "Ref"):
		c.add(p.Pos, "reference", false, "make it an object with a name, so that more can be said later; or call it "+strings.TrimSuffix(p.Name, "Ref")+"Name",
			"is a reference as a text")
	case integer(s) && !required && !status && s.Default == nil && s.Presence == "" && allowsZero(s):
		c.add(p.Pos, "optional-zero", true, "say x-cluster-presence: explicit, or minimum: 1", "is optional and loses a 0 that its author sends")
	}
}

func integer(s *schema.Schema) bool {
	return s.Type == "integer" || s.Type == "" && (s.Format == "int32" || s.Format == "int64")
}

// allowsZero reports whether 0 is within the bounds of a number.
func allowsZero(s *schema.Schema) bool {
	return (s.Minimum == nil || *s.Minimum <= 0) && (s.Maximum == nil || *s.Maximum >= 0) && (s.ExclusiveMinimum == nil || *s.ExclusiveMinimum < 0) &&
		(s.ExclusiveMaximum == nil || *s.ExclusiveMaximum > 0)
}
