package document

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/schema"
)

// scalar reads a value of a scalar kind, not null.
func (p *parser) scalar(n int32, t *schema.Type) error {
	if err := p.token(n); err != nil {
		return err
	}
	d := p.d
	nd := &d.nodes[n]
	switch t.Kind {
	case schema.String:
		if nd.kind == String {
			return nil
		}
	case schema.Boolean:
		if nd.kind == Bool {
			return nil
		}
	case schema.Integer:
		if nd.kind == Number {
			return p.integer(n, t, t.Bits)
		}
	case schema.IntOrString:
		switch nd.kind {
		case String:
			return nil
		case Number:
			return p.integer(n, t, 32)
		}
	case schema.Number:
		if nd.kind == Number {
			return p.float(n, t)
		}
	case schema.Quantity:
		if nd.kind == Number {
			nd.kind = String
			number := append([]byte(nil), d.text(nd.off, nd.size)...)
			nd.off, nd.size = p.addQuoted(number)
		}
		if nd.kind == String {
			rule := canonicalQuantity
			if t.RoundUp && p.fill {
				rule = roundedQuantity
			}
			return p.spelling(n, t, rule)
		}
	case schema.Bytes:
		if nd.kind == Array && p.numberedBytes(nd) {
			return nil
		}
		if nd.kind == String {
			return p.spelling(n, t, spellingOf(t.Kind))
		}
	default:
		if nd.kind == String {
			return p.spelling(n, t, spellingOf(t.Kind))
		}
	}
	return p.mismatch(n, t)
}

// numberedBytes reads bytes that are sent as a list of numbers, as Go's decoder does, and
// reports whether they are one; pos is at the bracket.
func (p *parser) numberedBytes(nd *node) bool {
	var numbers []byte
	end := bytes.IndexByte(p.buf[p.pos:], ']') + 1
	if end == 0 || json.Unmarshal(p.buf[p.pos:p.pos+end], &numbers) != nil {
		return false
	}
	p.pos += end
	nd.kind = String
	nd.off, nd.size = p.addQuoted(base64.StdEncoding.AppendEncode(nil, numbers))
	return true
}

// addQuoted adds text that needs no escapes, in quotes.
func (p *parser) addQuoted(text []byte) (off, size uint32) {
	d := p.d
	d.dirt++
	off = uint32(len(d.side)) | sideBit
	d.side = append(d.side, '"')
	d.side = append(d.side, text...)
	d.side = append(d.side, '"')
	return off, uint32(len(text) + 2)
}

// spell returns the canonical spelling of a text, text itself if it is canonical. An
// empty result without an error stands for null.
type spell func(text []byte) ([]byte, error)

// spellingOf returns the rule of a kind, nil if any text is canonical.
func spellingOf(k schema.Kind) spell {
	switch k {
	case schema.Quantity:
		return canonicalQuantity
	case schema.Time:
		return canonicalTime
	case schema.MicroTime:
		return canonicalMicroTime
	case schema.Duration:
		return canonicalDuration
	case schema.Bytes:
		return canonicalBytes
	}
	return nil
}

// spelling gives a string the canonical spelling of its type.
func (p *parser) spelling(n int32, t *schema.Type, rule spell) error {
	d := p.d
	nd := &d.nodes[n]
	text := d.text(nd.off+1, nd.size-2)
	rewrite := nd.flags&escaped != 0
	if rewrite {
		text = AppendUnescaped(nil, text)
		nd.flags &^= escaped
	}
	if rule == nil {
		return p.mismatch(n, t)
	}
	out, err := rule(text)
	if err != nil {
		wrong := p.wrong(n, t, "string "+clip(text), err.Error())
		wrong.Mistake = Malformed
		return wrong
	}
	if len(out) == 0 && t.Kind != schema.Bytes {
		nd.kind, nd.off, nd.size = Null, constNull.off, constNull.size
		d.dirt++
		return nil
	}
	if rewrite || string(out) != string(text) {
		nd.off, nd.size = p.addQuoted(out)
	}
	return nil
}

// clip quotes text for a message, shortened.
func clip(text []byte) string {
	if len(text) > 64 {
		return strconv.Quote(string(text[:64])) + "…"
	}
	return strconv.Quote(string(text))
}

// integer checks an integer literal. Its spelling is unique but for -0.
func (p *parser) integer(n int32, t *schema.Type, bits uint8) error {
	nd := &p.d.nodes[n]
	text := p.d.text(nd.off, nd.size)
	value, ok := parseInt(text, bits)
	if !ok {
		err := p.wrong(n, t, "number "+string(text[:min(len(text), 64)]), "want a whole number in its range, without fraction or exponent")
		err.Mistake = OutOfRange
		if value, _ := strconv.ParseFloat(string(text), 64); value != math.Trunc(value) {
			err.Mistake = NotInteger
		}
		return err
	}
	if value == 0 && len(text) > 1 {
		nd.off, nd.size = constZero.off, constZero.size
		p.d.dirt++
	}
	return nil
}

// float gives a number the spelling of encoding/json.
func (p *parser) float(n int32, t *schema.Type) error {
	nd := &p.d.nodes[n]
	text := p.d.text(nd.off, nd.size)
	if value, ok := parseInt(text, 64); ok && len(text) < 16 && (value != 0 || len(text) == 1) {
		return nil // a short integer
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return p.wrong(n, t, "number "+string(text[:min(len(text), 64)]), "it is too large")
	}
	if value == 0 {
		value = 0 // -0 is 0
	}
	var space [32]byte
	written := appendFloat(space[:0], value)
	if string(written) != string(text) {
		nd.off, nd.size = p.d.addSide(written)
		p.d.dirt++
	}
	return nil
}

// appendFloat writes a number as encoding/json does: plain digits, an exponent only for
// very small and very large numbers.
func appendFloat(dst []byte, value float64) []byte {
	format := byte('f')
	if abs := math.Abs(value); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, value, format, -1, 64)
	if end := len(dst); format == 'e' && end-start >= 4 && dst[end-4] == 'e' && dst[end-3] == '-' && dst[end-2] == '0' {
		dst[end-2] = dst[end-1] // e-09 is written e-9
		dst = dst[:end-1]
	}
	return dst
}

func canonicalDuration(text []byte) ([]byte, error) {
	value, err := time.ParseDuration(string(text))
	if err != nil {
		return nil, errDuration
	}
	if written := value.String(); written != string(text) {
		return []byte(written), nil
	}
	return text, nil
}

// canonicalBytes checks standard base64. Line ends inside are allowed and removed, as are
// surplus bits of the last character.
func canonicalBytes(text []byte) ([]byte, error) {
	if isCanonicalBase64(text) {
		return text, nil
	}
	plain := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	size, err := base64.StdEncoding.Decode(plain, text)
	if err != nil {
		return nil, errBase64
	}
	return base64.StdEncoding.AppendEncode(nil, plain[:size]), nil
}

// base64Value is 1 + the value of a character of base64, 0 for others.
var base64Value = func() (table [256]uint8) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range alphabet {
		table[alphabet[i]] = uint8(i) + 1
	}
	return table
}()

func isCanonicalBase64(text []byte) bool {
	if len(text)%4 != 0 {
		return false
	}
	if len(text) == 0 {
		return true
	}
	spare := uint8(0)
	switch {
	case text[len(text)-2] == '=' && text[len(text)-1] == '=':
		text, spare = text[:len(text)-2], 15
	case text[len(text)-1] == '=':
		text, spare = text[:len(text)-1], 3
	}
	for _, c := range text {
		if base64Value[c] == 0 {
			return false
		}
	}
	return (base64Value[text[len(text)-1]]-1)&spare == 0
}
