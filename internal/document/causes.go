package document

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Causes gathers the causes of an object in hand-written rules. A field is named by its
// value if it is present (its path is only written for a cause), and by text otherwise.
//
// Only the first MaxCauses are kept: an object may have as many mistakes as bytes, and
// each repeats a value.
type Causes []schema.Cause

// Add adds a cause.
func (c *Causes) Add(reason, field, message string) {
	if !c.Full() {
		*c = append(*c, schema.Cause{Reason: reason, Field: field, Message: message})
	}
}

// PlaceAt moves the causes from the i-th on to the position of a path.
func (c *Causes) PlaceAt(i int, place string) {
	for ; i < len(*c); i++ {
		(*c)[i].Place = place
	}
}

// Full reports whether no more causes are kept.
func (c *Causes) Full() bool { return len(*c) >= MaxCauses }

// Hide makes the last cause stand for all mistakes at and below a path.
func (c *Causes) Hide(path string) { (*c)[len(*c)-1].Hides = path }

// Required adds a cause for a field that has to be set; why may be empty.
func (c *Causes) Required(field, why string) {
	message := "Required value"
	if why != "" {
		message += ": " + why
	}
	c.Add(schema.CauseRequired, field, message)
}

// Invalid adds a cause for a wrong value.
func (c *Causes) Invalid(v Value, why string) { c.InvalidAt(v.Path(), v, why) }

// InvalidAt is invalid for a value that is reported at another field, or is missing.
func (c *Causes) InvalidAt(field string, v Value, why string) {
	if !c.Full() {
		c.Add(schema.CauseInvalid, field, "Invalid value: "+Shown(v)+": "+why)
	}
}

// InvalidText is invalid for text that has no value of its own (keys, hidden
// values).
func (c *Causes) InvalidText(field, text, why string) {
	c.Add(schema.CauseInvalid, field, "Invalid value: "+strconv.Quote(text)+": "+why)
}

// Format applies a named check of the document package to a string.
func (c *Causes) Format(v Value, check string) {
	for _, problem := range CheckFormat(check, v.Text()) {
		c.Invalid(v, problem)
	}
}

// FormatText applies a named check to text that has no value of its own.
func (c *Causes) FormatText(field, text, check string) {
	for _, problem := range CheckFormat(check, text) {
		c.InvalidText(field, text, problem)
	}
}

// Forbidden adds a cause for a field that may not be set, or changed.
func (c *Causes) Forbidden(field, why string) {
	c.Add(schema.CauseForbidden, field, "Forbidden: "+why)
}

// Duplicate adds a cause for a value that another one equals.
func (c *Causes) Duplicate(v Value) {
	if !c.Full() {
		c.Add(schema.CauseDuplicate, v.Path(), "Duplicate value: "+Shown(v))
	}
}

// NotFound adds a cause for the name of something that does not exist.
func (c *Causes) NotFound(v Value) {
	if !c.Full() {
		c.Add(schema.CauseNotFound, v.Path(), "Not found: "+Shown(v))
	}
}

// NotSupported adds a cause for a value that is not one of some.
func (c *Causes) NotSupported(v Value, supported ...string) {
	c.NotSupportedAt(v.Path(), v, supported...)
}

// NotSupportedAt is NotSupported for a value that is reported at another field.
func (c *Causes) NotSupportedAt(field string, v Value, supported ...string) {
	if c.Full() {
		return
	}
	c.addNotSupported(field, Shown(v), supported)
}

// NotSupportedText is NotSupportedAt for a text that is not a value of the object, such as a name.
func (c *Causes) NotSupportedText(field, text string, supported ...string) {
	c.addNotSupported(field, strconv.Quote(text), supported)
}

func (c *Causes) addNotSupported(field, shown string, supported []string) {
	c.Add(schema.CauseNotSupported, field, "Unsupported value: "+shown+": supported values: "+quoted(supported))
}

// TooLong adds a cause for a value of more bytes than the limit.
func (c *Causes) TooLong(field string, limit int) {
	c.Add(schema.CauseTooLong, field, "Too long: must have at most "+strconv.Itoa(limit)+" bytes")
}

// Texts is a set of texts, such as the names in a list.
type Texts map[string]struct{}

// Add adds a text and reports whether it is new.
func (n *Texts) Add(text string) bool {
	if *n == nil {
		*n = Texts{}
	}
	if _, ok := (*n)[text]; ok {
		return false
	}
	(*n)[text] = struct{}{}
	return true
}

// TextsIn are the texts of a list.
func TextsIn(list Value) Texts {
	var n Texts
	for _, v := range list.Elements() {
		n.Add(v.Text())
	}
	return n
}

// Has reports whether the set has a text.
func (n Texts) Has(text string) bool {
	_, ok := n[text]
	return ok
}
