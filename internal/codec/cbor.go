package codec

import (
	"errors"
	"fmt"
	"math"

	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/fxamacker/cbor/v2"
)

// CBORCodec writes and reads CBOR (RFC 8949) of the types of one table, as releases from
// 1.32 have it. It holds no state between calls and is safe for concurrent use.
//
// CBOR is JSON text in another spelling, with two differences that need the table: a field
// of bytes is a byte string with the tag 22 instead of a text in base64, and a field of type
// number is a floating-point number although its value is whole. Strings and the names of
// members are byte strings too, without a tag: unlike text strings, nobody has to check them
// for UTF-8. Custom objects have no fields of their own, so their strings in base64 stay text.
//
// Clients read members in any order. They are written in that of the JSON text.
type CBORCodec struct {
	table *schema.Table
	// differs is set for the types whose values the table is needed for, by schema.Ref.
	differs []bool
}

// untyped is the type of values whose table does not matter.
const untyped = schema.Ref(-1)

// NewCBOR prepares the CBOR of a table's types: keep the result.
func NewCBOR(t *schema.Table) *CBORCodec {
	c := &CBORCodec{table: t, differs: make([]bool, len(t.Types))}
	if t.Custom {
		return c
	}
	for again := true; again; { // types may contain themselves
		again = false
		for i := range t.Types {
			if !c.differs[i] && c.reaches(&t.Types[i]) {
				c.differs[i], again = true, true
			}
		}
	}
	return c
}

func (c *CBORCodec) reaches(t *schema.Type) bool {
	switch t.Kind {
	case schema.Bytes, schema.Number:
		return true
	case schema.Object:
		for i := range t.Fields {
			if c.needs(t.Fields[i].Type) {
				return true
			}
		}
		return false
	}
	return c.needs(t.Elem)
}

// needs reports whether values of a type cannot be written without the table.
func (c *CBORCodec) needs(ref schema.Ref) bool {
	return ref >= 0 && int(ref) < len(c.differs) && c.differs[ref]
}

// typeOf is the type of a value that is read, nil for any value.
func (c *CBORCodec) typeOf(ref schema.Ref) *schema.Type {
	if c == nil || ref < 0 || c.table.Custom || int(ref) >= len(c.table.Types) {
		return nil
	}
	return &c.table.Types[ref]
}

// CBORTag begins every object in CBOR: the head of the tag 55799, by which it is recognized.
const CBORTag = "\xd9\xd9\xf7"

// The major types of CBOR, in the upper three bits of a head.
const (
	cborUnsigned = 0 << 5
	cborNegative = 1 << 5
	cborBytes    = 2 << 5
	cborText     = 3 << 5
	cborArray    = 4 << 5
	cborMap      = 5 << 5
	cborTagged   = 6 << 5
	cborOther    = 7 << 5
)

// Heads of values without contents.
const (
	cborFalse     = cborOther | 20
	cborTrue      = cborOther | 21
	cborNull      = cborOther | 22
	cborFloat16   = cborOther | 25
	cborFloat64   = cborOther | 27
	cborBreak     = cborOther | 31
	cborUnbounded = 31 // in the lower bits: the length is not known
)

// The tags that have a meaning for a reader.
const (
	tagTime        = 0
	tagEpoch       = 1
	tagBignum      = 2
	tagNegative    = 3
	tagBase64URL   = 21
	tagBase64      = 22
	tagBase16      = 23
	tagSelf        = 55799
	bytesInBase64  = cborTagged | tagBase64
	cborShortest   = 24 // arguments below are in the head itself
	cborMostLevels = 10000
)

// The library checks that data are well-formed, and knows numbers and times. The limits are
// those of the releases that have CBOR.
var (
	cborReading = mode(cbor.DecOptions{
		MaxNestedLevels: cborMostLevels, MaxArrayElements: math.MaxInt32, MaxMapPairs: 2 << 20,
		TimeTag: cbor.DecTagOptional, TimeTagToAny: cbor.TimeTagToRFC3339Nano, NaN: cbor.NaNDecodeForbidden, Inf: cbor.InfDecodeForbidden,
	}.DecMode())
	cborWriting = mode(cbor.EncOptions{ShortestFloat: cbor.ShortestFloat16, NaNConvert: cbor.NaNConvertReject, InfConvert: cbor.InfConvertReject}.EncMode())
)

// mode is a mode of the library whose options are constant.
func mode[M any](m M, err error) M {
	if err != nil {
		panic(fmt.Sprintf("options of CBOR: %v", err))
	}
	return m
}

var errNotCanonical = errors.New("the stored text is not canonical JSON and has no form in CBOR; the store may be damaged")

// appendCBORHead appends a head in its shortest form.
func appendCBORHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < cborShortest:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return append(dst, major|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(dst, major|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// closeCBOR writes the head of everything appended since its place, a byte at mark, was left
// free. Longer heads move the contents, which costs less than counting beforehand.
func closeCBOR(dst []byte, mark int, major byte, n int) []byte {
	if n < cborShortest {
		dst[mark] = major | byte(n)
		return dst
	}
	var space [9]byte
	head := appendCBORHead(space[:0], major, uint64(n))
	extra := len(head) - 1
	end := len(dst)
	dst = append(dst, space[:extra]...)
	copy(dst[mark+1+extra:], dst[mark+1:end])
	copy(dst[mark:], head)
	return dst
}
