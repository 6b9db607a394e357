package document

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// maxPlainKey and maxPlainDepth are well below what YAML parsers stop at.
const (
	maxPlainKey   = 512
	maxPlainDepth = 100
)

// fromJSON is FromYAML for text that is JSON, as most clients send, and means
// the same as YAML. It is false for all other text, and where something in it is
// unusual enough to leave it to the parsers.
func fromJSON(data []byte) ([]byte, bool) {
	if !plainJSON(data) {
		return nil, false
	}
	d := open(nil, nil)
	defer d.Release()
	p := parser{d: d, limits: Limits{}.orDefault()}
	err := p.document(data)
	if _, large := err.(*LimitError); large {
		return data, true // whoever reads it next has limits, too
	}
	if err != nil || len(p.problems) > 0 {
		return nil, false
	}
	return d.appendSorted(make([]byte, 0, len(data)+len(data)/8), 1), true
}

// plainJSON reports whether JSON text, if it is such, is read in the same way by
// a YAML parser. Whether it is JSON it does not see.
func plainJSON(data []byte) bool {
	if len(data) == 0 || data[0] != '{' || bytes.IndexByte(data, 0x7f) >= 0 {
		return false
	}
	depth := 0
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			end := plainStringEnd(data, i+1)
			if end < 0 || end-i > maxPlainKey && end < len(data) && data[end] == ':' {
				return false
			}
			for j := end; j < len(data) && (data[j] == ' ' || data[j] == '\n'); j++ {
				if j+1 < len(data) && data[j+1] == ':' {
					return false // the name and the colon of a key in YAML belong together
				}
			}
			i = end
		case c == '-' || '0' <= c && c <= '9':
			end := digitsEnd(data, i+1)
			if end-i > 18 || c == '-' && end == i+2 && data[i+1] == '0' {
				return false
			}
			i = end
		case c == '{' || c == '[':
			if depth++; depth > maxPlainDepth {
				return false
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == ' ' || c == '\n' || c == ',' || c == ':' || 'a' <= c && c <= 'z':
			i++
		default:
			return false // a fraction, an exponent, a tab, or something else
		}
		// An exponent begins where a number ends.
		if i < len(data) && data[i] == 'e' && '0' <= data[i-1] && data[i-1] <= '9' {
			return false
		}
	}
	return true
}

// plainStringEnd is the position behind the string whose inside begins at i, -1
// for one that YAML reads in another way or not at all.
func plainStringEnd(b []byte, i int) int {
	for {
		i = plainEnd(b, i)
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError || r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0xfffe && r < 0x10000 {
				return -1
			}
			i += size
		case c == '\\' && i+1 < len(b):
			switch b[i+1] {
			case '"', '\\', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if r := hex4(b[i+2:]); r < ' ' || r >= 0xd800 {
					return -1
				}
				i += 6
			default:
				return -1
			}
		default:
			return -1
		}
	}
}

// appendSorted writes an untyped tree as Go's encoding/json writes maps: members
// ordered by name, and with the escapes of HTML.
func (d *Document) appendSorted(dst []byte, n int32) []byte {
	nd := &d.nodes[n]
	switch nd.kind {
	case Array:
		dst = append(dst, '[')
		for c := nd.first; c != 0; c = d.nodes[c].next {
			if c != nd.first {
				dst = append(dst, ',')
			}
			dst = d.appendSorted(dst, c)
		}
		return append(dst, ']')
	case Object:
		var space [few]int32
		order := space[:0]
		for c := nd.first; c != 0; c = d.nodes[c].next {
			order = append(order, c)
		}
		slices.SortFunc(order, func(a, b int32) int { return d.compareKeys(&d.nodes[a], &d.nodes[b]) })
		dst = append(dst, '{')
		for i, c := range order {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendHTML(append(dst, '"'), d.rawKey(&d.nodes[c])), '"', ':')
			dst = d.appendSorted(dst, c)
		}
		return append(dst, '}')
	}
	return appendHTML(dst, d.text(nd.off, nd.size))
}

// appendHTML appends the text of a scalar with the characters escaped that mean
// something in HTML and JavaScript.
func appendHTML(dst, text []byte) []byte {
	from := 0
	for i, c := range text {
		switch {
		case c == '<' || c == '>' || c == '&':
			dst = append(append(dst, text[from:i]...), '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			from = i + 1
		case c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2]&^1 == 0xa8:
			dst = append(append(dst, text[from:i]...), '\\', 'u', '2', '0', '2', hexDigits[text[i+2]&15])
			from = i + 3
		}
	}
	return append(dst, text[from:]...)
}
