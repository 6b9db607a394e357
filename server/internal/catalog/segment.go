package catalog

import (
	"strings"
	"unicode/utf8"
)

// BadSegment reports whether s cannot be an object's name or namespace in a path: it is
// "." or "..", holds a slash, a percent sign or control characters, or is not UTF-8.
func BadSegment(s string) bool {
	return s == "." || s == ".." || !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == '/' || c == '%' || c == 0x7f })
}
