package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// causes gathers the causes of an object. A field is named by its value if it is present
// (its path is only written for a cause), and by text (member, key) otherwise.
//
// Only the first document.MaxCauses are kept: an object may have as many mistakes as
// bytes, and each repeats a value.
type causes []schema.Cause

func (c *causes) add(reason, field, message string) {
	if !c.full() {
		*c = append(*c, schema.Cause{Reason: reason, Field: field, Message: message})
	}
}

// tellAt moves the causes from the i-th on to the position of a path.
func (c *causes) tellAt(i int, place string) {
	for ; i < len(*c); i++ {
		(*c)[i].Place = place
	}
}

func (c *causes) full() bool { return len(*c) >= document.MaxCauses }

// hide makes the last cause stand for all mistakes at and below a path.
func (c *causes) hide(path string) { (*c)[len(*c)-1].Hides = path }

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

// invalidAt is invalid for a value that is reported at another field, or is missing.
func (c *causes) invalidAt(field string, v document.Value, why string) {
	if c.full() {
		return
	}
	c.add(schema.CauseInvalid, field, "Invalid value: "+document.Shown(v)+": "+why)
}

// invalidText is invalid for text that has no value of its own (keys, hidden
// values).
func (c *causes) invalidText(field, text, why string) {
	c.add(schema.CauseInvalid, field, "Invalid value: "+strconv.Quote(text)+": "+why)
}

// format applies a named check of the document package to a string.
func (c *causes) format(v document.Value, check string) {
	for _, problem := range document.CheckFormat(check, v.Text()) {
		c.invalid(v, problem)
	}
}

// formatText applies a named check to text that has no value of its own.
func (c *causes) formatText(field, text, check string) {
	for _, problem := range document.CheckFormat(check, text) {
		c.invalidText(field, text, problem)
	}
}

func (c *causes) forbidden(field, why string) {
	c.add(schema.CauseForbidden, field, "Forbidden: "+why)
}

func (c *causes) duplicate(v document.Value) {
	if c.full() {
		return
	}
	c.add(schema.CauseDuplicate, v.Path(), "Duplicate value: "+document.Shown(v))
}

func (c *causes) notFound(v document.Value) {
	if c.full() {
		return
	}
	c.add(schema.CauseNotFound, v.Path(), "Not found: "+document.Shown(v))
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

func (c *causes) tooLong(field string, limit int) {
	c.add(schema.CauseTooLong, field, "Too long: must have at most "+strconv.Itoa(limit)+" bytes")
}

// member is the path of a member, which may be missing.
func member(v document.Value, names ...string) string {
	path := v.Path()
	for _, name := range names {
		if path != "" {
			path += "."
		}
		path += name
	}
	return path
}

// element is the path of an element of a list.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// key is the path of an entry of a map.
func key(v document.Value, name string) string { return v.Path() + "[" + name + "]" }

// names finds repeated names.
type names map[string]struct{}

// add reports whether the name is new.
func (n *names) add(name string) bool {
	if *n == nil {
		*n = names{}
	}
	if _, ok := (*n)[name]; ok {
		return false
	}
	(*n)[name] = struct{}{}
	return true
}

// namesIn are the texts of a list.
func namesIn(list document.Value) names {
	var n names
	for _, v := range list.Elements() {
		n.add(v.Text())
	}
	return n
}

func (n names) has(name string) bool {
	_, ok := n[name]
	return ok
}
