package document

import "encoding/binary"

const (
	lows    = 0x7f7f7f7f7f7f7f7f
	blanks  = ones * ' '
	opening = ones * '{' // { and [ with the bit of a blank set
	closing = ones * '}'
)

// marks has the highest bit of every byte of w that equals the one that pattern
// repeats.
func marks(w, pattern uint64) uint64 {
	x := w ^ pattern
	return ^((x&lows + lows) | x | lows)
}

// transposed mirrors a matrix of 8 by 8 bits: bit 8*i+k goes to 8*k+i.
func transposed(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}

// classifyWords has a bit for each of 64 bytes that is a quote, a backslash, an
// opening or a closing bracket; the lowest is that of the first byte.
func classifyWords(b *[64]byte) (quotes, slashes, opens, closes uint64) {
	for k := 0; k < 64; k += 8 { // bit i of byte k is of byte k of word i
		w := binary.LittleEndian.Uint64(b[k : k+8])
		quotes = quotes>>1 | marks(w, ones*'"')
		slashes = slashes>>1 | marks(w, ones*'\\')
		w |= blanks
		opens = opens>>1 | marks(w, opening)
		closes = closes>>1 | marks(w, closing)
	}
	return transposed(quotes), transposed(slashes), transposed(opens), transposed(closes)
}
