package house

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// mostSteps bounds the steps of the loops of a rule that nobody is warned of.
const mostSteps = 100_000

// ruled is a rule across the members of a type.
type ruled struct {
	*schema.Demand
	pos      schema.Position
	table    *schema.Table
	of, self schema.Ref // the type that has the rule, and that of self: the same, or the elements of a list
	asked    expression.Asked
}

// rules checks the rules across the members of a type.
func (c *checker) rules(t *model.Type) {
	if t.GV.Table == nil || len(t.Schema.Rules) == 0 {
		return
	}
	of := t.GV.Table.Root(t.Name)
	finder := expression.NewFinder(t.GV.Table)
	all := make([]ruled, len(t.Schema.Rules))
	for i := range all {
		d := &t.Schema.Rules[i]
		self, _ := t.GV.Table.Element(of, d.Each)
		r := ruled{d, t.Rules[i], t.GV.Table, of, self, expression.Asked{Plain: true}}
		if d.Finds != "" {
			r.asked = finder.Asked(of, d)
		}
		all[i] = r
		c.ruleAt(&r)
		c.ruleValues(&r)
		c.ruleCost(&r)
	}
	c.try(t, all, finder)
}

// ruleAt finds paths of causes that lead nowhere.
func (c *checker) ruleAt(r *ruled) {
	for _, at := range append(slices.Clone(r.asked.At), r.At, r.Hides) {
		if at != "" && at != "." && !r.leads(r.self, schema.Steps(at)) {
			c.misplaced(r, at)
		}
	}
}

// misplaced reports a rule that sends the authors of objects to a member that there is not.
func (c *checker) misplaced(r *ruled, at string) {
	c.add(r.pos, "rule-at", false, "name a member, with dots between: the authors of objects look there",
		"has a rule that reports its mistake at %s, which is not a member", at)
}

// leads reports whether a path from a type leads to a member.
func (r *ruled) leads(ref schema.Ref, path []string) bool {
	_, ok := r.member(ref, path)
	return ok
}

// member finds the type at a path, where steps into lists are numbers or expression.Elements.
func (r *ruled) member(ref schema.Ref, path []string) (at schema.Ref, ok bool) {
	for _, step := range path {
		if ref < 0 {
			return ref, true
		}
		t := &r.table.Types[ref]
		switch t.Kind {
		case schema.Map:
			ref = t.Elem
		case schema.Any:
			return schema.None, true
		case schema.List:
			if step != expression.Elements && strings.Trim(step, "0123456789") != "" {
				return ref, false
			}
			ref = t.Elem
		default:
			i := t.Field(step)
			if i < 0 {
				return ref, false
			}
			ref = t.Fields[i].Type
		}
	}
	return ref, true
}

// ruleValues finds comparisons with texts that a member never has.
func (c *checker) ruleValues(r *ruled) {
	check := func(ref schema.Ref, path []string, text string) {
		at, ok := r.member(ref, path)
		if !ok || at < 0 || text == "" {
			return
		}
		if why := r.refused(at, text); why != "" {
			c.add(r.pos, "rule-value", false, "write a value that it may have", "has a rule that asks whether %s is %q, which its %s refuses",
				strings.ReplaceAll(strings.Join(path, "."), "."+expression.Elements, expression.Elements), text, why)
		}
	}
	for _, t := range slices.Concat(r.If, r.Was, r.Then) {
		path := t.Path
		switch t.Is {
		case schema.Contains, schema.Lacks, schema.Only:
			path = append(slices.Clone(path), expression.Elements)
		case schema.In, schema.NotIn:
		default:
			continue
		}
		for _, text := range t.Values {
			check(r.self, path, text)
		}
	}
	for _, compared := range r.asked.Compared {
		of := r.self
		if compared.Path[0] == "parent" {
			of = r.of
		}
		check(of, compared.Path[1:], compared.Text)
	}
}

// refused names the keyword of a type that refuses a text; "" for none.
func (r *ruled) refused(at schema.Ref, text string) string {
	t := &r.table.Types[at]
	switch {
	case t.Kind == schema.Boolean && text != "true" && text != "false":
		return "type"
	case t.Kind != schema.String || t.Rules == nil:
		return ""
	}
	re, err := regexp.Compile(t.Rules.Pattern)
	switch n := utf8.RuneCountInString(text); {
	case len(t.Rules.Enum) > 0 && !slices.Contains(t.Rules.Enum, text):
		return "enum"
	case err == nil && !re.MatchString(text):
		return "pattern"
	case t.Rules.MaxLength > 0 && n > int(t.Rules.MaxLength):
		return "maxLength"
	case n < int(t.Rules.MinLength):
		return "minLength"
	}
	return ""
}

// ruleCost estimates the loops in each other.
func (c *checker) ruleCost(r *ruled) {
	if len(r.asked.Nest) < 2 {
		return
	}
	steps, free := 1.0, []string{}
	for _, path := range r.asked.Nest {
		name := strings.TrimPrefix(strings.ReplaceAll(strings.Join(path, "."), "."+expression.Elements, expression.Elements), "self.")
		most := 0
		if len(path) > 0 {
			of := r.self
			if path[0] == "parent" {
				of = r.of
			}
			if at, ok := r.member(of, path[1:]); ok && at >= 0 && r.table.Types[at].Rules != nil {
				most = int(r.table.Types[at].Rules.MaxItems)
			}
		}
		if most == 0 {
			most = 1000
			if name != "" && !slices.Contains(free, name) {
				free = append(free, name)
			}
		}
		steps *= float64(most)
	}
	switch {
	case len(free) > 0:
		c.add(r.pos, "rule-cost", true, fmt.Sprintf("bound them: maxItems of %s, of 100 or less; or write a rule for each element", strings.Join(free, " and ")),
			"has a rule with %d loops in each other over lists without a bound: with 1000 elements in each it takes %.0f steps, and is ended", len(r.asked.Nest), steps)
	case steps > mostSteps:
		c.add(r.pos, "rule-cost", true, "lower maxItems of the lists, or write a rule for each element",
			"has a rule with %d loops in each other: it takes up to %.0f steps", len(r.asked.Nest), steps)
	}
}
