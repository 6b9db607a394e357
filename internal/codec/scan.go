package codec

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
)

// The functions here read canonical JSON: no white space between tokens (only values of
// kind Any keep theirs). They trust the text to be well-formed and never read past its
// end when it is not.

var errSyntax = errors.New("the stored text is not canonical JSON; the store may be damaged")

// stringEnd returns the offset of the quote that closes the string whose contents begin
// at data[i], and whether it has no escapes. The offset is -1 when the string does not
// end.
func stringEnd(data []byte, i int) (end int, plain bool) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	plain = true
	for {
		var c byte
		for {
			if i+8 > len(data) {
				if i >= len(data) {
					return -1, false
				}
				if c = data[i]; c == '"' || c == '\\' {
					break
				}
				i++
				continue
			}
			// Eight bytes at a time: the lowest set top bit marks the
			// first quote or backslash.
			x := binary.LittleEndian.Uint64(data[i:])
			q, b := x^('"'*ones), x^('\\'*ones)
			if m := ((q-ones)&^q | (b-ones)&^b) & tops; m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				c = data[i]
				break
			}
			i += 8
		}
		if c == '"' {
			return i, plain
		}
		plain = false
		i += 2
	}
}

// skipValue returns the offset after the value at data[i], or -1.
func skipValue(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		end, _ := stringEnd(data, i+1)
		if end < 0 {
			return -1
		}
		return end + 1
	case '{', '[':
		return document.ContainerEnd(data, i)
	}
	start := i
	for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// appendUnescaped appends the contents of a JSON string, escapes resolved. It is not ok
// when an escape is wrong. Half a surrogate pair becomes U+FFFD, as everywhere in Go.
func appendUnescaped(dst, s []byte) (text []byte, ok bool) {
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if i+1 >= len(s) {
			return dst, false
		}
		c = s[i+1]
		i += 2
		switch c {
		case '"', '\\', '/':
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, ok := hex4(s, i)
			if !ok {
				return dst, false
			}
			i += 4
			if utf16.IsSurrogate(r) {
				var low rune
				if i+1 < len(s) && s[i] == '\\' && s[i+1] == 'u' {
					low, _ = hex4(s, i+2)
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		default:
			return dst, false
		}
		dst = append(dst, c)
	}
	return dst, true
}

// hex4 reads the four hexadecimal digits at s[i].
func hex4(s []byte, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range s[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
