package policy

import (
	"cmp"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/quantity"
)

// amount is a quantity, 0 for an absent one.
func amount(v document.Value) quantity.Quantity {
	q, _ := quantity.Parse(v.Text())
	return q
}

// compare orders two quantities: -1, 0 or 1.
func compare(a, b document.Value) int {
	if document.Equal(a, b) {
		return 0
	}
	if n, unit := plain(a); n >= 0 {
		if m, other := plain(b); m >= 0 && unit == other {
			return cmp.Compare(n, m)
		}
	}
	return amount(a).Compare(amount(b))
}

// plain reads the most frequent quantities: digits and then a unit of letters, 0 without
// one. Others are -1.
func plain(v document.Value) (n int64, unit uint16) {
	var space [24]byte
	text := v.AppendText(space[:0])
	digits := 0
	for ; digits < len(text) && '0' <= text[digits] && text[digits] <= '9'; digits++ {
		n = n*10 + int64(text[digits]-'0')
	}
	if digits == 0 || digits > 15 || len(text) > digits+2 {
		return -1, 0
	}
	for _, c := range text[digits:] {
		if c < 'A' {
			return -1, 0
		}
		unit = unit<<8 | uint16(c)
	}
	return n, unit
}

// isNegative reports whether a quantity is less than zero.
func isNegative(v document.Value) bool {
	var space [24]byte
	text := v.AppendText(space[:0])
	return len(text) > 0 && text[0] == '-'
}

// isZero reports whether a quantity is absent or zero.
func isZero(v document.Value) bool {
	if v.Equals("0") || !v.Exists() {
		return true
	}
	if n, _ := plain(v); n > 0 {
		return false
	}
	return amount(v).Sign() == 0
}

// isWhole reports whether a quantity has no fraction.
func isWhole(v document.Value) bool {
	return amount(v).Milli()%1000 == 0
}

// isMultiple reports whether a quantity is a positive multiple of a size.
func isMultiple(v document.Value, size string) bool {
	page, err := quantity.Parse(size)
	q := amount(v)
	return err == nil && page.Sign() > 0 && q.Sign() > 0 && page.Milli()%1000 == 0 && q.Value()%page.Value() == 0
}

// isFine reports whether canonical text may be finer than a thousandth.
func isFine(text string) bool {
	return strings.HasSuffix(text, "n") || strings.HasSuffix(text, "u") || strings.Contains(text, "e-")
}

// positive checks that an amount is more than zero.
func (c *causes) positive(field string, v document.Value) {
	if amount(v).Sign() <= 0 {
		c.InvalidAt(field, v, "must be greater than zero")
	}
}
