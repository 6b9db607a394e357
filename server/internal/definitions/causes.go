package definitions

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// causes gathers the causes of a definition, up to document.MaxCauses: a definition may
// have as many mistakes as bytes, and each repeats a value.
type causes []schema.Cause

func (c *causes) add(reason, field, message string) {
	if !c.full() {
		*c = append(*c, schema.Cause{Reason: reason, Field: field, Message: message})
	}
}

func (c *causes) full() bool { return len(*c) >= document.MaxCauses }

// required adds a cause for a field that has to be set; why may be empty.
func (c *causes) required(field, why string) {
	message := "Required value"
	if why != "" {
		message += ": " + why
	}
	c.add(schema.CauseRequired, field, message)
}

// invalid adds a cause for a wrong value.
func (c *causes) invalid(v document.Value, why string) { c.invalidAt(v.Path(), v, why) }

// invalidAt is invalid for a value that is reported at another field.
func (c *causes) invalidAt(field string, v document.Value, why string) {
	if !c.full() {
		c.add(schema.CauseInvalid, field, "Invalid value: "+document.Shown(v)+": "+why)
	}
}

// invalidText is invalid for text that is not the value of the field.
func (c *causes) invalidText(field, text, why string) {
	c.add(schema.CauseInvalid, field, "Invalid value: "+strconv.Quote(text)+": "+why)
}

func (c *causes) forbidden(field, why string) {
	c.add(schema.CauseForbidden, field, "Forbidden: "+why)
}

func (c *causes) notSupported(v document.Value, supported ...string) {
	c.notSupportedAt(v.Path(), v, supported...)
}

func (c *causes) notSupportedAt(field string, v document.Value, supported ...string) {
	if c.full() {
		return
	}
	quoted := make([]string, len(supported))
	for i, s := range supported {
		quoted[i] = strconv.Quote(s)
	}
	c.add(schema.CauseNotSupported, field, "Unsupported value: "+document.Shown(v)+": supported values: "+strings.Join(quoted, ", "))
}

// names finds repeated names.
type names map[string]struct{}

// add reports whether the name is new.
func (n *names) add(name string) bool {
	if *n == nil {
		*n = names{}
	}
	if n.has(name) {
		return false
	}
	(*n)[name] = struct{}{}
	return true
}

func (n names) has(name string) bool {
	_, ok := n[name]
	return ok
}

// namesIn are the texts of a list.
func namesIn(list document.Value) names {
	var n names
	for _, v := range list.Elements() {
		n.add(v.Text())
	}
	return n
}

// isSet reports whether a member has a value other than null.
func isSet(v document.Value) bool { return v.Exists() && !v.IsNull() }

// isEmpty reports whether a value is empty: absent, null, "", [] or {}.
func isEmpty(v document.Value) bool {
	return !isSet(v) || v.Equals("") || (v.Kind() == document.Array || v.Kind() == document.Object) && v.Len() == 0
}

// same reports whether two values are equal. Two absent values are.
func same(a, b document.Value) bool {
	if !a.Exists() || !b.Exists() {
		return a.Exists() == b.Exists()
	}
	return document.Equal(a, b)
}
