package document

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd returns the first position from i on whose byte is a quote, a backslash, a
// control character or not ASCII; len(b) if there is none.
func plainEnd(b []byte, i int) int { return textEnd(b, i, highs) }

// textEnd returns the first position from i on whose byte is a quote, a backslash or a control
// character, or has a bit of stop; len(b) if there is none. stop has the same bits for each byte.
//
// It takes eight bytes at a time. The mask may mark a byte wrongly, but only above a
// correctly marked one, and the lowest counts.
func textEnd(b []byte, i int, stop uint64) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		q, s := w^ones*'"', w^ones*'\\'
		if m := ((q-ones)&^q | (s-ones)&^s | (w-ones*' ')&^w | w&stop) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' || c&byte(stop) != 0 {
			break
		}
	}
	return i
}

// plainEndText is plainEnd from the beginning of a text.
func plainEndText[T string | []byte](s T) int {
	i := 0
	for ; i < len(s); i++ {
		if c := s[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

const hexDigits = "0123456789abcdef"

// appendEscaped is AppendEscaped for a text that needs escapes.
func appendEscaped(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		end := plainEnd(s, i)
		dst = append(dst, s[i:end]...)
		if i = end; i == len(s) {
			break
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

// AppendEscaped appends s as the inside of a JSON string with the shortest escapes.
// Invalid UTF-8 becomes U+FFFD.
func AppendEscaped[T string | []byte](dst []byte, s T) []byte {
	if plainEndText(s) == len(s) {
		return append(dst, s...)
	}
	return appendEscaped(dst, []byte(s))
}

// AppendQuoted appends s as a JSON string, as AppendEscaped does its inside.
func AppendQuoted[T string | []byte](dst []byte, s T) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

// AppendUnescaped appends the text of raw, the inside of a JSON string. Invalid UTF-8,
// lone surrogates and wrong escapes become U+FFFD.
func AppendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		if c != '\\' || i+1 == len(raw) {
			dst = append(dst, c)
			i++
			continue
		}
		c = raw[i+1]
		i += 2
		switch c {
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
			r := hex4(raw[i:])
			if r < 0 {
				dst = utf8.AppendRune(dst, utf8.RuneError)
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+1 < len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					low = hex4(raw[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// hex4 reads four hexadecimal digits, -1 for anything else.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	r := rune(0)
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// rawKey is the key of a member without a field, in canonical escapes.
func (d *Document) rawKey(n *node) []byte { return d.text(n.key, n.keySize) }

// keyIs reports whether a member without a field has that name.
func (d *Document) keyIs(n *node, name string) bool {
	raw := d.rawKey(n)
	if n.flags&keyEscaped == 0 {
		return string(raw) == name
	}
	var space [64]byte
	return string(AppendUnescaped(space[:0], raw)) == name
}

// compareName orders the key of a member and a name by their bytes.
func (d *Document) compareName(m int32, name string) int {
	n := &d.nodes[m]
	key := d.rawKey(n)
	if n.flags&keyEscaped != 0 {
		var space [64]byte
		key = AppendUnescaped(space[:0], key)
	}
	switch {
	case string(key) < name:
		return -1
	case string(key) > name:
		return 1
	}
	return 0
}

// compareKeys orders two keys by their unescaped bytes.
func (d *Document) compareKeys(a, b *node) int {
	x, y := d.rawKey(a), d.rawKey(b)
	if (a.flags|b.flags)&keyEscaped == 0 {
		return bytes.Compare(x, y)
	}
	var spaceX, spaceY [64]byte
	if a.flags&keyEscaped != 0 {
		x = AppendUnescaped(spaceX[:0], x)
	}
	if b.flags&keyEscaped != 0 {
		y = AppendUnescaped(spaceY[:0], y)
	}
	return bytes.Compare(x, y)
}

// addSide appends text to the side buffer and returns its position.
func (d *Document) addSide(text []byte) (off, size uint32) {
	off = uint32(len(d.side)) | sideBit
	d.side = append(d.side, text...)
	return off, uint32(len(text))
}

// setKey gives a member without a field its name.
func (d *Document) setKey(n int32, name string) {
	off := len(d.side)
	d.side = AppendEscaped(d.side, name)
	nd := &d.nodes[n]
	nd.key, nd.keySize = uint32(off)|sideBit, uint32(len(d.side)-off)
	if bytes.IndexByte(d.side[off:], '\\') >= 0 {
		nd.flags |= keyEscaped
	}
}
