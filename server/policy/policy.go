// Package policy holds the rules of single kinds that a schema cannot say:
// defaults that depend on other fields, what the server sets on a new object,
// rules across fields, and table cells that are computed.
//
// The documents name each rule; the generator turns the names into the Hooks
// interfaces of gen/, which Policy has to satisfy.
package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Policy satisfies the Hooks of every group version. It holds no state.
type Policy struct{}

// New returns the rules of all kinds.
func New() Policy { return Policy{} }

// causes gathers what is wrong with an object.
type causes []schema.Cause

func (c *causes) add(reason, field, message string) {
	*c = append(*c, schema.Cause{Reason: reason, Field: field, Message: message})
}

func (c *causes) required(field, why string) {
	message := "Required value"
	if why != "" {
		message += ": " + why
	}
	c.add(schema.CauseRequired, field, message)
}

func (c *causes) invalid(field string, value document.Value, why string) {
	c.add(schema.CauseInvalid, field, "Invalid value: "+show(value)+": "+why)
}

func (c *causes) forbidden(field, why string) {
	c.add(schema.CauseForbidden, field, "Forbidden: "+why)
}

func (c *causes) notSupported(field string, value document.Value, supported ...string) {
	for i, s := range supported {
		supported[i] = strconv.Quote(s)
	}
	c.add(schema.CauseNotSupported, field, "Unsupported value: "+show(value)+": supported values: "+strings.Join(supported, ", "))
}

// shownLength bounds how much of a value an error repeats, in bytes.
const shownLength = 200

// show writes a value for an error message.
func show(v document.Value) string {
	if !v.Exists() {
		return "null"
	}
	text := v.AppendJSON(nil)
	if len(text) > shownLength {
		return string(text[:shownLength]) + "…"
	}
	return string(text)
}

// same reports whether two values are equal, absent ones included.
func same(a, b document.Value) bool {
	if !a.Exists() || !b.Exists() {
		return a.Exists() == b.Exists()
	}
	return document.Equal(a, b)
}

// keep gives obj the member that old has, or none.
func keep(obj, old document.Value, name string) {
	if v := old.Get(name); v.Exists() {
		obj.Put(name, v)
	} else {
		obj.Remove(name)
	}
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
