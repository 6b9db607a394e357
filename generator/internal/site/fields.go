package site

import (
	"fmt"
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
	return typeRow{Name: t.Name, Description: t.Schema.Description, Rules: rulesOf(t.Schema),
		Fields: w.fields(page, t, t.Schema, "")}
}

// fields are the fields of an object on a page, those of objects without a name in place.
func (w *writer) fields(page string, t *model.Type, s *schema.Schema, prefix string) (rows []fieldRow) {
	for _, p := range s.Properties {
		row := fieldRow{Name: prefix + p.Name, Description: p.Schema.Description, Required: s.Enforces(p.Name) || s.Publishes(p.Name),
			Deprecated: p.Schema.Deprecated, Default: string(p.Schema.Default), Type: w.typeName(page, t, p.Schema), Rules: rulesOf(p.Schema)}
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
