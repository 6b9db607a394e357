package codec

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The wire types of the binary form.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var (
	errTruncated = errors.New("the binary data ends in the middle of a field; send the whole message")
	errWire      = errors.New("the binary data holds a field with an unknown wire type; send a valid message")
	errTag       = errors.New("the binary data holds a field number out of range; send a valid message")
	errLong      = errors.New("the binary data holds a number of more than 64 bits; send a valid message")
)

// appendTag appends the tag of a field; wireType is its lower three bits.
func appendTag(dst []byte, number uint32, wireType uint64) []byte {
	return binary.AppendUvarint(dst, uint64(number)<<3|wireType)
}

// varintLen is the number of bytes that v takes.
func varintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// openLength reserves room for the length of the text appended next. The returned mark
// goes to closeLength.
func openLength(dst []byte) ([]byte, int) { return append(dst, 0), len(dst) }

// closeLength writes the length of everything appended since the mark. One byte is
// reserved; longer contents are moved, which costs less than computing every length
// beforehand.
func closeLength(dst []byte, mark int) []byte {
	n := len(dst) - mark - 1
	if n < 0x80 {
		dst[mark] = byte(n)
		return dst
	}
	extra := varintLen(uint64(n)) - 1
	dst = append(dst, "          "[:extra]...)
	copy(dst[mark+1+extra:], dst[mark+1:mark+1+n])
	binary.PutUvarint(dst[mark:], uint64(n))
	return dst
}

// wireField is one encoded field.
type wireField struct {
	number uint32
	wire   uint8
	value  uint64 // varint and fixed64
	start  int    // of the contents of a length-delimited field
	end    int
}

// nextField reads the field at data[i:] and returns the offset after it.
func nextField(data []byte, i int) (f wireField, next int, err error) {
	tag, i, err := readVarint(data, i)
	if err != nil {
		return f, i, err
	}
	if n := tag >> 3; n == 0 || n > 1<<29-1 {
		return f, i, errTag
	}
	f.number, f.wire = uint32(tag>>3), uint8(tag&7)
	switch f.wire {
	case wireVarint:
		f.value, i, err = readVarint(data, i)
		return f, i, err
	case wireFixed64:
		if len(data)-i < 8 {
			return f, i, errTruncated
		}
		f.value = binary.LittleEndian.Uint64(data[i:])
		return f, i + 8, nil
	case wireFixed32:
		if len(data)-i < 4 {
			return f, i, errTruncated
		}
		f.value = uint64(binary.LittleEndian.Uint32(data[i:]))
		return f, i + 4, nil
	case wireBytes:
		var n uint64
		if n, i, err = readVarint(data, i); err != nil {
			return f, i, err
		}
		if n > uint64(len(data)-i) {
			return f, i, errTruncated
		}
		f.start, f.end = i, i+int(n)
		return f, f.end, nil
	}
	return f, i, errWire
}

func readVarint(data []byte, i int) (uint64, int, error) {
	v, n := binary.Uvarint(data[i:])
	switch {
	case n > 0:
		return v, i + n, nil
	case n == 0:
		return 0, i, errTruncated
	}
	return 0, i, errLong
}
