package yaml

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// AppendKey appends the name of a member, which is in the column indent, and its colon.
func AppendKey(dst []byte, name string, indent int) []byte {
	text := []byte(name)
	if len(text) > maxSimpleKey { // longer ones need a mark, since a colon would come too late
		dst = append(dst, "? "...)
		return append(AppendSpaces(append(AppendString(dst, text, -1), '\n'), indent), ':')
	}
	return append(AppendString(dst, text, -1), ':')
}

// maxSimpleKey bounds the bytes of a key without a mark.
const maxSimpleKey = 128

// AppendString appends a string in the simplest form that is read as one. Text of several
// lines is a block with indent spaces at the beginning of each line; with indent -1 it is
// in quotes.
func AppendString(dst, text []byte, indent int) []byte {
	switch {
	case bytes.IndexByte(text, '\n') >= 0:
		if indent < 0 || !isBlock(text) {
			return appendDouble(dst, text)
		}
		return appendBlock(dst, text, indent)
	case !isOneLine(text):
		return appendDouble(dst, text)
	case len(text) == 0 || string(text) == "<<" || resolve(text, isTime).meaning != isString || isMinutes(text):
		return appendDouble(dst, text)
	case isPlain(text):
		return append(dst, text...)
	}
	return append(append(append(dst, '\''), bytes.ReplaceAll(text, []byte("'"), []byte("''"))...), '\'')
}

// isOneLine reports whether a text needs no escapes.
func isOneLine(text []byte) bool {
	for i := 0; i < len(text); {
		size := shownAs(text[i:])
		if size == 0 {
			return false
		}
		i += size
	}
	return true
}

// shownAs is the length of the character at the beginning of b if it needs no escape,
// else 0.
func shownAs(b []byte) int {
	if c := b[0]; c < utf8.RuneSelf {
		if c < ' ' || c == 0x7f {
			return 0
		}
		return 1
	}
	r, size := utf8.DecodeRune(b)
	if r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
		return 0
	}
	return printable(b[:size])
}

// isPlain reports whether text without line breaks needs no quotes.
func isPlain(text []byte) bool {
	if text[0] == ' ' || text[len(text)-1] == ' ' || bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("...")) {
		return false
	}
	blank := len(text) == 1 || text[1] == ' '
	if strings.IndexByte("#,[]{}&*!|>'\"%@`", text[0]) >= 0 || (text[0] == '?' || text[0] == ':' || text[0] == '-') && blank {
		return false
	}
	return !bytes.Contains(text, []byte(": ")) && !bytes.HasSuffix(text, []byte(":")) && !bytes.Contains(text, []byte(" #"))
}

// isMinutes reports whether old readers take text for a number to the base 60, such as
// 1:30.
func isMinutes(text []byte) bool {
	if n := len(text); n > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	first, rest, found := bytes.Cut(text, []byte(":"))
	if !found || len(first) == 0 || first[0] == '_' || len(bytes.Trim(first, "0123456789_")) > 0 {
		return false
	}
	rest, fraction, _ := bytes.Cut(rest, []byte("."))
	if len(bytes.Trim(fraction, "0123456789_")) > 0 {
		return false
	}
	for part := range bytes.SplitSeq(rest, []byte(":")) {
		if len(part) == 0 || len(part) > 2 || !isDigits(part) || len(part) == 2 && part[0] > '5' {
			return false
		}
	}
	return true
}

// isBlock reports whether text of several lines can be a block as it is: leading spaces,
// which would change its indentation, and invisible spaces need quotes.
func isBlock(text []byte) bool {
	if text[0] == ' ' || text[0] == '\n' || text[len(text)-1] == ' ' || bytes.Contains(text, []byte(" \n")) {
		return false
	}
	for i := 0; i < len(text); {
		if text[i] == '\n' {
			i++
			continue
		}
		size := shownAs(text[i:])
		if size == 0 {
			return false
		}
		i += size
	}
	return true
}

// appendBlock appends text after |, without the line break of its last line.
func appendBlock(dst, text []byte, indent int) []byte {
	dst = append(dst, '|')
	body := bytes.TrimRight(text, "\n")
	switch len(text) - len(body) {
	case 0:
		dst = append(dst, '-')
	case 1:
	default:
		dst = append(dst, '+')
		body = text[:len(text)-1]
	}
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		dst = append(dst, '\n')
		if len(line) > 0 {
			dst = append(AppendSpaces(dst, indent), line...)
		}
	}
	return dst
}

// AppendSpaces appends so many spaces.
func AppendSpaces(dst []byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, ' ')
	}
	return dst
}

// appendDouble appends text in double quotes.
func appendDouble(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		size := shownAs(text[i:])
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case size > 0:
			dst = append(dst, text[i:i+size]...)
		case c == '\n':
			dst, size = append(dst, '\\', 'n'), 1
		case c == '\t':
			dst, size = append(dst, '\\', 't'), 1
		default:
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += size
	}
	return append(dst, '"')
}
