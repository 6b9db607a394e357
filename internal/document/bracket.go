package document

import "math/bits"

const evens = 0x5555555555555555

// bracketState is the state of a walk over JSON text: open brackets and strings.
type bracketState struct {
	depth     int    // brackets
	inString  uint64 // all ones in a string, else 0
	isEscaped uint64 // 1 after a backslash that escapes, else 0
}

// containerEnd returns the position after the container whose bracket is at i, -1 when it
// has no end. It counts brackets outside of strings, without checking their kinds or the
// text between them.
//
// It takes 64 bytes at a time, a bit of a word for each (as simdjson does), since most of
// the text read from a store is skipped like this (BenchmarkContainerEnd).
func containerEnd(b []byte, i int) int {
	o := bracketState{depth: 1}
	for i++; i < len(b); i += 64 {
		passed, opens, closes, ok := o.skip(b[i:])
		i += passed
		if !ok {
			opens, closes = o.block(b[i:])
		}
		if n := bits.OnesCount64(closes); n >= o.depth {
			for ; closes != 0; closes &= closes - 1 {
				at := bits.TrailingZeros64(closes)
				if o.depth+bits.OnesCount64(opens&(1<<at-1)) == 1 {
					return i + at + 1
				}
				o.depth--
			}
		} else {
			o.depth -= n
		}
		o.depth += bits.OnesCount64(opens)
	}
	return -1
}

// block scans the first 64 bytes, or fewer at the end, and returns the brackets in them
// that are outside of strings. It does not count them.
func (o *bracketState) block(b []byte) (opens, closes uint64) {
	var rest [64]byte
	if len(b) < 64 {
		copy(rest[:], b)
		b = rest[:]
	}
	quotes, slashes, opens, closes := classify((*[64]byte)(b))
	if slashes|o.isEscaped != 0 {
		quotes &^= escapedBytes(slashes, &o.isEscaped)
	}
	inside := running(quotes) ^ o.inString
	o.inString = uint64(int64(inside) >> 63)
	return opens &^ inside, closes &^ inside
}

// running has bit i set when an odd number of the bits up to i is set.
func running(x uint64) uint64 {
	x ^= x << 1
	x ^= x << 2
	x ^= x << 4
	x ^= x << 8
	x ^= x << 16
	return x ^ x<<32
}

// escapedBytes has a bit for every byte that a backslash escapes: the byte after an odd
// number of backslashes. carry is 1 when the byte before the first was such a backslash,
// and is set for the next word.
func escapedBytes(slashes uint64, carry *uint64) uint64 {
	slashes &^= *carry
	follow := slashes<<1 | *carry
	odd := slashes &^ evens &^ follow // rows that begin at an odd position
	sum, overflow := bits.Add64(odd, slashes, 0)
	*carry = overflow
	return (evens ^ sum<<1) & follow
}
