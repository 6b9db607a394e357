package emit

import (
	"strconv"
	"strings"
)

// fields are those of a Go literal that are not zero: "Name: value".
type fields []string

// is adds a field whose value is Go source, "" for zero.
func (f fields) is(name, source string) fields {
	if source == "" {
		return f
	}
	return append(f, name+": "+source)
}

// quoted adds a field with a text.
func (f fields) quoted(name, text string) fields {
	if text == "" {
		return f
	}
	return f.is(name, strconv.Quote(text))
}

// yes adds a field that is true.
func (f fields) yes(name string, value bool) fields {
	if !value {
		return f
	}
	return f.is(name, "true")
}

func (f fields) text() string { return strings.Join(f, ", ") }
