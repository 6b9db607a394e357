package document

import (
	"bytes"
	"errors"

	"github.com/capstan-dev/capstan/internal/quantity"
)

var (
	errQuantity = errors.New(`want a number with an optional suffix, like "100m", "1.5" or "2Gi"`)
	errDuration = errors.New(`want a duration like "90s" or "1h30m"`)
	errBase64   = errors.New("want standard base64 with padding")
)

// Longer quantities, and those with larger exponents, are refused: they are meaningless
// and expensive to compute with.
const (
	maxQuantity = 64
	maxExponent = 64
)

// canonicalQuantity is the spelling of a quantity in stored objects.
func canonicalQuantity(text []byte) ([]byte, error) {
	if isCanonicalQuantity(text) {
		return text, nil
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 || len(text) > maxQuantity || exponent(text) > maxExponent {
		return nil, errQuantity
	}
	q, err := quantity.Parse(string(text))
	if err != nil {
		return nil, errQuantity
	}
	return []byte(q.String()), nil
}

// roundedQuantity is canonicalQuantity, and rounds an amount that is finer than a thousandth
// away from zero to the next thousandth.
func roundedQuantity(text []byte) ([]byte, error) {
	text, err := canonicalQuantity(text)
	if err != nil || !bytes.HasSuffix(text, []byte("n")) && !bytes.HasSuffix(text, []byte("u")) && !bytes.Contains(text, []byte("e-")) {
		return text, err
	}
	q, err := quantity.Parse(string(text))
	rounded, same := q.RoundUp(3)
	if err != nil || same {
		return text, nil
	}
	return []byte(rounded.String()), nil
}

// exponent is the size of the decimal exponent, up to a bound.
func exponent(text []byte) int {
	i := bytes.IndexAny(text, "eE")
	if i < 0 {
		return 0
	}
	size := 0
	for _, c := range text[i+1:] {
		if '0' <= c && c <= '9' && size <= maxExponent {
			size = size*10 + int(c-'0')
		}
	}
	return size
}

// isCanonicalQuantity recognises the common canonical spellings without computing: a
// positive whole number of at most nine digits with the largest possible suffix.
func isCanonicalQuantity(text []byte) bool {
	digits, value := 0, 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		if digits == 9 {
			return false
		}
		value = value*10 + int(text[digits]-'0')
		digits++
	}
	if digits == 0 || text[0] == '0' {
		return len(text) == 1 && digits == 1
	}
	switch suffix := text[digits:]; len(suffix) {
	case 0:
		return value%1000 != 0
	case 1:
		switch suffix[0] {
		case 'm', 'k', 'M', 'G':
			return value%1000 != 0
		}
	case 2:
		if suffix[1] == 'i' {
			switch suffix[0] {
			case 'K', 'M', 'G':
				return value%1024 != 0
			}
		}
	}
	return false
}
