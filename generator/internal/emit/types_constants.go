package emit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// goEnum holds the constants of one enum.
type goEnum struct {
	Of     string // "PodSpec.restartPolicy"
	Values []goConstant
}

type goConstant struct{ Name, Text string }

// enum collects the constants of a schema with an enum, or of a list of such: their names are
// the type, the field and the value. prefix is that of the names, of the field in documents.
func (p *goTypes) enum(prefix, of string, s *schema.Schema) error {
	if s.Items != nil && len(s.Items.Enum) > 0 {
		s = s.Items
	}
	e := goEnum{Of: of}
	for _, text := range s.Enum {
		if text == "" {
			continue // is the zero value
		}
		c := goConstant{prefix + constantWord(text), text}
		if p.gv.Imported && p.clashes(c) { // the words of others stay; clients write texts
			for _, c := range e.Values {
				delete(p.constants, c.Name)
			}
			return nil
		}
		if other, taken := p.constants[c.Name]; taken {
			return &schema.Error{Pos: s.Pos, What: fmt.Sprintf("the constant %s in Go would be %q and %q", c.Name, other, text),
				Fix: "rename one of the values, or write a pattern in place of the enum"}
		}
		if p.clashes(c) {
			return &schema.Error{Pos: s.Pos, What: fmt.Sprintf("the value %q is the constant %s in Go, which is a type too", text, c.Name),
				Fix: "rename the type, or give it an x-cluster-go-name"}
		}
		p.constants[c.Name] = text
		e.Values = append(e.Values, c)
	}
	if len(e.Values) > 0 {
		p.enums = append(p.enums, e)
	}
	return nil
}

// clashes reports whether a constant has the name of another one, or of a type.
func (p *goTypes) clashes(c goConstant) bool {
	_, taken := p.constants[c.Name]
	return taken || slices.ContainsFunc(p.gv.Types, func(t *model.Type) bool { return goTypeName(t.Name, t.Schema.Goname) == c.Name })
}

// constantWord is a value as the end of a Go name: "client auth" is ClientAuth.
func constantWord(text string) string {
	if text == "*" {
		return "All"
	}
	var b strings.Builder
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		b.WriteString(upperFirst(word))
	}
	return b.String()
}
