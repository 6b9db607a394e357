package document

import "math/bits"

const evens = 0x5555555555555555

// containerEnd returns the position behind the container whose bracket is at i,
// -1 when it has no end. It counts brackets that are in no string; whether they
// match in kind, and what is between them, it does not look at.
//
// It takes 64 bytes at a time, a bit of a word for each (as simdjson does), since
// most of what is read of a store is skipped like this (BenchmarkContainerEnd).
func containerEnd(b []byte, i int) int {
	depth := 0
	inString, isEscaped := uint64(0), uint64(0) // carried over: all ones in a string; 1 behind a backslash
	var rest [64]byte
	for block := b[i:]; len(block) > 0; i += 64 {
		if len(block) < 64 {
			copy(rest[:], block)
			block = rest[:]
		}
		quotes, slashes, opens, closes := classify((*[64]byte)(block))
		if slashes|isEscaped != 0 {
			quotes &^= escapedBytes(slashes, &isEscaped)
		}
		inside := running(quotes) ^ inString
		inString = uint64(int64(inside) >> 63)
		opens &^= inside
		closes &^= inside
		if n := bits.OnesCount64(closes); n >= depth {
			for ; closes != 0; closes &= closes - 1 {
				at := bits.TrailingZeros64(closes)
				if depth+bits.OnesCount64(opens&(1<<at-1)) == 1 {
					return i + at + 1
				}
				depth--
			}
		} else {
			depth -= n
		}
		depth += bits.OnesCount64(opens)
		if len(block) == 64 && &block[0] == &rest[0] {
			return -1
		}
		block = block[64:]
	}
	return -1
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

// escapedBytes has a bit for every byte that a backslash escapes: those behind a
// row of backslashes of odd length. carry is 1 when the byte before the first was
// such a backslash, and is set for the next word.
func escapedBytes(slashes uint64, carry *uint64) uint64 {
	slashes &^= *carry
	follow := slashes<<1 | *carry
	odd := slashes &^ evens &^ follow // rows that begin at an odd place
	sum, overflow := bits.Add64(odd, slashes, 0)
	*carry = overflow
	return (evens ^ sum<<1) & follow
}
