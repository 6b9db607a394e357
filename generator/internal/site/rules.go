package site

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// rulesOf describes the rules of a value, and of its elements where these have no type of their own.
func rulesOf(s *schema.Schema) []string {
	rules := bounds(s)
	if text := namesWords(s); text != "" {
		rules = append(rules, text)
	}
	return slices.Concat(rules, treatment(s), demands(s), elements(s))
}

// elements describes the rules of elements and of values without a type of their own.
func elements(s *schema.Schema) (rules []string) {
	for _, part := range []struct {
		word string
		of   *schema.Schema
	}{{"each element: ", s.Items}, {"each value: ", s.Additional}} {
		if part.of == nil || part.of.Ref != "" {
			continue
		}
		for _, rule := range slices.Concat(bounds(part.of), treatment(part.of), demands(part.of), elements(part.of)) {
			rules = append(rules, part.word+rule)
		}
	}
	return rules
}

// bounds describes the values that are allowed.
func bounds(s *schema.Schema) (rules []string) {
	say := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		say("one of %s", quoted(s.Enum))
	}
	number := func(words string, n *float64) {
		if n != nil {
			say("%s %s", words, strconv.FormatFloat(*n, 'f', -1, 64))
		}
	}
	number("at least", s.Minimum)
	number("at most", s.Maximum)
	number("more than", s.ExclusiveMinimum)
	number("less than", s.ExclusiveMaximum)
	count := func(words, of string, n *int) {
		if n != nil {
			say("%s %d %s", words, *n, of)
		}
	}
	count("at least", "characters", s.MinLength)
	count("at most", "characters", s.MaxLength)
	count("at least", "elements", s.MinItems)
	count("at most", "elements", s.MaxItems)
	count("at most", "bytes", s.MaxBytes)
	text := func(words, value string) {
		if value != "" {
			say("%s %s", words, value)
		}
	}
	text("matches", s.Pattern)
	text("is checked as", s.FormatCheck)
	text("keys are checked as", s.KeyCheck)
	text("only with the feature gate", s.FeatureGate)
	text("there from release", s.Lifecycle.Since)
	text("gone in release", s.Lifecycle.Until)
	return append(rules, keywords(s.Further)...)
}

// keywords describes the keywords that few schemas have.
func keywords(f *schema.Further) (rules []string) {
	if f == nil {
		return nil
	}
	say := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	if f.Const != "" {
		say("is %s", f.Const)
	}
	if len(f.Enum) > 0 {
		say("one of %s", strings.Join(f.Enum, ", "))
	}
	if f.MultipleOf != nil {
		say("a multiple of %s", strconv.FormatFloat(*f.MultipleOf, 'f', -1, 64))
	}
	if f.MinProperties != nil {
		say("at least %d members", *f.MinProperties)
	}
	if f.MaxProperties != nil {
		say("at most %d members", *f.MaxProperties)
	}
	if f.PropertyNames != nil {
		for _, rule := range bounds(f.PropertyNames) {
			say("each name: %s", rule)
		}
	}
	for _, needs := range f.DependentRequired {
		say("with %s, also %s", needs.Name, strings.Join(needs.Members, ", "))
	}
	for _, part := range f.AllOf {
		rules = append(rules, bounds(part)...)
	}
	return rules
}

// treatment describes how values are changed, and merged.
func treatment(s *schema.Schema) (rules []string) {
	say := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	if len(s.Unique) > 0 {
		say("elements differ in %s", strings.ReplaceAll(strings.Join(s.Unique, ", "), ".", "their value"))
	}
	if s.Immutable {
		say("cannot change after creation")
	}
	if len(s.ListMapKeys) > 0 {
		say("elements are merged by %s", strings.Join(s.ListMapKeys, ", "))
	} else if s.ListType != "" {
		say("is applied as %s", s.ListType)
	}
	if s.MapType == "atomic" {
		say("is applied as a whole")
	}
	return rules
}

// demands are the rules across the members of an object.
func demands(s *schema.Schema) (rules []string) {
	if len(s.OneOf) > 0 {
		some := "at most"
		if s.OneNeeded {
			some = "exactly"
		}
		rules = append(rules, some+" one of "+strings.Join(s.OneOf, ", "))
	}
	for _, d := range s.Rules {
		switch {
		case d.Why != "":
			rules = append(rules, subject(d)+d.Why)
		case d.Finds != "":
			rules = append(rules, d.Finds)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// subject names the member that a rule is about, before its words.
func subject(d schema.Demand) string {
	path := d.At
	if path == "" && len(d.Then) > 0 {
		path = strings.Join(d.Then[0].Path, ".")
	}
	if len(d.Each) > 0 {
		path = strings.Join(d.Each, ".") + "[]." + path
	}
	if path = strings.Trim(path, "."); path == "" {
		return ""
	}
	return path + ": "
}

func quoted(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strconv.Quote(v)
	}
	return strings.Join(out, ", ")
}

// spanOf names the releases of the documents that have a part; "" for all.
func spanOf(l schema.Lifecycle) string {
	switch {
	case l.Since != "" && l.Until != "":
		return "From release " + l.Since + ", gone in " + l.Until
	case l.Since != "":
		return "From release " + l.Since
	case l.Until != "":
		return "Gone in release " + l.Until
	}
	return ""
}

// releasesOf names the releases that have a resource.
func releasesOf(r *model.Resource) string {
	span := r.Lifecycle
	span.Since, span.Until = cmp.Or(span.Since, r.GV.Lifecycle.Since), cmp.Or(span.Until, r.GV.Lifecycle.Until)
	return spanOf(span)
}
