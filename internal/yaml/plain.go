package yaml

import "unicode/utf8"

// Bounds of JSON that YAML certainly reads in the same meaning.
const (
	maxPlainKey    = 512
	maxPlainDepth  = 100
	maxPlainDigits = 18
)

// plainJSON reports whether text is a JSON object that means the same in YAML and needs
// no rewriting, as most bodies sent as YAML.
func plainJSON(text []byte) bool {
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	i := plainValue(text, 0, 0)
	return i >= 0 && plainSpace(text, i) == len(text)
}

// plainSpace is the position after spaces and line feeds.
func plainSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n') {
		i++
	}
	return i
}

// plainValue is the position after the value at i, -1 for one that is not JSON or not
// plain.
func plainValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return plainString(b, i+1)
	case c == '{' || c == '[':
		if depth == maxPlainDepth {
			return -1
		}
		return plainCollection(b, i, depth+1)
	case c == '-' || '0' <= c && c <= '9':
		return plainInt(b, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return -1
}

func plainCollection(b []byte, i, depth int) int {
	end := b[i] + 2 // of { and [ alike
	i = plainSpace(b, i+1)
	if i < len(b) && b[i] == end {
		return i + 1
	}
	for i < len(b) {
		if end == '}' {
			start := i
			if b[i] != '"' {
				return -1
			}
			// YAML permits no white space between a key's name and its colon.
			if i = plainString(b, i+1); i < 0 || i-start > maxPlainKey || i >= len(b) || b[i] != ':' {
				return -1
			}
			i = plainSpace(b, i+1)
		}
		if i = plainValue(b, i, depth); i < 0 {
			return -1
		}
		i = plainSpace(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = plainSpace(b, i+1)
		case i < len(b) && b[i] == end:
			return i + 1
		default:
			return -1
		}
	}
	return -1
}

// plainInt is the position after an integer of few digits.
func plainInt(b []byte, i int) int {
	start := i
	if b[i] == '-' {
		i++
	}
	first := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == first || i-first > maxPlainDigits || b[first] == '0' && i-start > 1 {
		return -1
	}
	return i
}

// plainString is the position after the string whose inside begins at i.
func plainString(b []byte, i int) int {
	for i < len(b) {
		c := b[i]
		switch {
		case classes[c]&quotedJSON == 0:
			i++
		case c == '"':
			return i + 1
		case c == '\\' && i+1 < len(b):
			switch b[i+1] {
			case '"', '\\', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				r := rune(0)
				for k := i + 2; k < i+6; k++ {
					if k >= len(b) || hexValue(b[k]) < 0 {
						return -1
					}
					r = r<<4 | hexValue(b[k])
				}
				if !utf8.ValidRune(r) {
					return -1
				}
				i += 6
			default:
				return -1
			}
		case c >= utf8.RuneSelf:
			size := printable(b[i:])
			if r, _ := utf8.DecodeRune(b[i:]); size == 0 || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
				return -1
			}
			i += size
		default:
			return -1
		}
	}
	return -1
}
