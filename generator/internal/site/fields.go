package site

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// typeRow is a type on a page.
type typeRow struct {
	Name, Description string
	Rules             []string
	Fields            []fieldRow
	UsedBy            []typeName // of a type that several pages share
}

// fieldRow is a field, or a part of one that has no type of its own: "ports[].name".
type fieldRow struct {
	Name, Description string
	Type              typeName
	Required          bool
	Deprecated        bool
	Default           string
	Rules             []string
}

// typeName is the text of a type, with a link to where it is described: "list of <a>Container</a>".
type typeName struct{ Before, Name, Link string }

// String is the text without the link.
func (n typeName) String() string { return n.Before + n.Name }

// anchorOf is the place of a field on the page of its type: a link to it needs no escapes.
func anchorOf(typ, field string) string {
	return typ + "." + strings.NewReplacer("[]", "", "{}", "").Replace(field)
}

// typeRow describes a type on a page.
func (w *writer) typeRow(page string, t *model.Type) typeRow {
	return typeRow{Name: t.Name, Description: t.Schema.Description, Rules: append(w.rules(t.Schema), demands(t.Schema)...),
		Fields: w.fields(page, t, t.Schema, "")}
}

// fields are the fields of an object on a page, those of objects without a name in place.
func (w *writer) fields(page string, t *model.Type, s *schema.Schema, prefix string) (rows []fieldRow) {
	for _, p := range s.Properties {
		row := fieldRow{Name: prefix + p.Name, Description: p.Schema.Description, Required: s.Enforces(p.Name) || s.Publishes(p.Name),
			Deprecated: p.Schema.Deprecated, Default: string(p.Schema.Default), Type: w.typeName(page, t, p.Schema), Rules: w.rules(p.Schema)}
		if p.Schema.DefaultWhen != "" {
			row.Default += fmt.Sprintf(" if %s is %s", p.Schema.DefaultWhen, strings.Join(p.Schema.DefaultWhenIs, " or "))
		}
		rows = append(rows, row)
		name, inner := row.Name, p.Schema
		for inner.Items != nil || inner.Additional != nil {
			if inner.Items != nil {
				name, inner = name+"[]", inner.Items
			} else {
				name, inner = name+"{}", inner.Additional
			}
		}
		if inner.Ref == "" {
			rows = append(rows, w.fields(page, t, inner, name+".")...)
		}
	}
	return rows
}

// typeName names the type of a field, with the link from a page to a named one.
func (w *writer) typeName(page string, t *model.Type, s *schema.Schema) typeName {
	switch {
	case s.Ref != "":
		target := w.types[targetID(t, s.Ref)]
		if target == nil {
			return typeName{Name: s.Ref}
		}
		return w.linkTo(page, target)
	case s.Items != nil:
		inner := w.typeName(page, t, s.Items)
		inner.Before = "list of " + inner.Before
		return inner
	case s.Additional != nil:
		inner := w.typeName(page, t, s.Additional)
		inner.Before = "map to " + inner.Before
		return inner
	case s.Format != "" && s.Type != "" && s.Type != "string":
		return typeName{Name: s.Type + " (" + s.Format + ")"}
	case s.Format != "":
		return typeName{Name: s.Format}
	case s.Type == "":
		return typeName{Name: "any value"}
	}
	return typeName{Name: s.Type}
}

// linkTo is the name of a type, with the link from a page to its place.
func (w *writer) linkTo(page string, target *model.Type) typeName {
	if here := w.types[target.ID]; here != target { // of another release
		if here == nil {
			return typeName{Name: target.Name}
		}
		target = here
	}
	if w.homes[target] == page {
		return typeName{Name: target.Name, Link: "#" + target.Name}
	}
	return typeName{Name: target.Name, Link: strings.Repeat("../", strings.Count(page, "/")) + w.homes[target] + "#" + target.Name}
}

// targetID is the id of the type that a reference in a document of t names.
func targetID(t *model.Type, ref string) string {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return t.GV.Dir + "." + name
	}
	dir, name, _ := strings.Cut(strings.TrimPrefix(ref, "/"), "/")
	version, name, _ := strings.Cut(name, "/")
	return dir + "/" + version + "." + name
}

// rules describes the bounds of a value, and its treatment.
func (w *writer) rules(s *schema.Schema) (rules []string) {
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
	if len(s.Unique) > 0 {
		say("elements differ in %s", strings.ReplaceAll(strings.Join(s.Unique, ", "), ".", "their value"))
	}
	if s.Immutable {
		say("cannot change after creation")
	}
	if text := namesWords(s); text != "" {
		say("%s", text)
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
