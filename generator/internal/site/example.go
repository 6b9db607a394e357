package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/drawing"
	"github.com/capstan-dev/capstan/internal/schema"
)

// examplesFolder has objects of each kind, which tests send to a server.
const examplesFolder = "schemas/examples/valid"

// example is an object of a kind in YAML: the shortest example that the project has, or one that is
// made of the required fields.
func (w *writer) example(t *model.Type, r *model.Resource) (text string, made bool) {
	found, _ := filepath.Glob(filepath.Join(w.root, filepath.FromSlash(examplesFolder), filepath.FromSlash(t.GV.Dir), t.Name+"-*.yaml"))
	for _, name := range found {
		content, err := os.ReadFile(name)
		if err == nil && (text == "" || len(content) < len(text)) {
			text = string(content)
		}
	}
	if text != "" {
		return withoutComments(text), false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: example\n", apiVersion(t.GV), t.Name)
	if r.Namespaced {
		b.WriteString("  namespace: default\n")
	}
	w.required(&b, t, t.Schema, "", 0)
	return b.String(), true
}

// withoutComments drops the lines that say what an example is for.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// deepest bounds the nesting of an example that is made.
const deepest = 6

// required writes the members that an object needs. The specification is there even if all of it
// may be left out.
func (w *writer) required(b *strings.Builder, t *model.Type, s *schema.Schema, indent string, depth int) {
	for _, p := range s.Properties {
		if p.Name == "metadata" || p.Name == "status" || !s.Enforces(p.Name) && (depth > 0 || p.Name != "spec") {
			continue
		}
		b.WriteString(indent + p.Name + ":")
		w.value(b, t, p.Schema, indent, depth)
	}
}

// value writes the value of a member, after its colon.
func (w *writer) value(b *strings.Builder, t *model.Type, s *schema.Schema, indent string, depth int) {
	for s.Ref != "" {
		target := w.types[targetID(t, s.Ref)]
		if target == nil {
			break
		}
		t, s = target, target.Schema
	}
	switch {
	case len(s.Examples) > 0:
		fmt.Fprintf(b, " %s\n", s.Examples[0])
	case len(s.Default) > 0:
		fmt.Fprintf(b, " %s\n", s.Default)
	case len(s.Enum) > 0:
		fmt.Fprintf(b, " %s\n", s.Enum[0])
	case s.Type == "integer" || s.Type == "number":
		least := 1.0
		if s.Minimum != nil {
			least = *s.Minimum
		}
		fmt.Fprintf(b, " %v\n", least)
	case s.Type == "boolean":
		b.WriteString(" true\n")
	case s.Items != nil && depth < deepest:
		var item strings.Builder
		w.value(&item, t, s.Items, indent, depth+1)
		if text := item.String(); strings.HasPrefix(text, "\n") {
			b.WriteString("\n" + indent + "- " + strings.TrimLeft(text, "\n "))
		} else {
			b.WriteString("\n" + indent + "-" + text)
		}
	case len(s.Properties) > 0 && depth < deepest:
		var inner strings.Builder
		if w.required(&inner, t, s, indent+"  ", depth+1); inner.Len() == 0 {
			b.WriteString(" {}\n")
		} else {
			b.WriteString("\n" + inner.String())
		}
	case s.Items != nil:
		b.WriteString(" []\n")
	case s.Additional != nil || s.Type == "object":
		b.WriteString(" {}\n")
	default:
		fmt.Fprintf(b, " %q\n", textOf(s))
	}
}

// textOf is a text that a schema allows: one of its pattern, or a sign for a text of the reader's.
func textOf(s *schema.Schema) string {
	fits := func(text string) bool {
		n := utf8.RuneCountInString(text)
		return n > 0 && (s.MinLength == nil || n >= *s.MinLength) && (s.MaxLength == nil || *s.MaxLength == 0 || n <= *s.MaxLength)
	}
	if s.Pattern != "" {
		if text := drawing.Matching(s.Pattern, fits); text != "" {
			return text
		}
	}
	return "…"
}
