package quantity

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

var (
	errForm   = errors.New("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
	errNumber = errors.New("unable to parse numeric part of quantity")
	errSuffix = errors.New("unable to parse quantity's suffix")
)

const (
	// mostDigits always fit into 64 bits.
	mostDigits = 18
	// mostExponent bounds the time and memory of computing with a quantity; 1.25 has no bound.
	mostExponent = 10_000

	decimals = "numkMGTPE" // n, u, m, none, k, …: 10^-9 and on, by thousands
	binaries = "KMGTPE"    // Ki, Mi, …: 2^10 and on
)

// Parse reads a quantity. What is finer than 10^-9 is rounded up, away from zero.
func Parse(text string) (Quantity, error) {
	if text == "0" {
		return Quantity{family: Decimal, text: text}, nil
	}
	if text == "" {
		return Quantity{}, errForm
	}
	rest := text
	if text[0] == '-' || text[0] == '+' {
		rest = text[1:]
	}
	number := rest
	whole, rest := leading(rest)
	fraction := ""
	if after, ok := strings.CutPrefix(rest, "."); ok {
		fraction, rest = leading(after)
	}
	number = number[:len(number)-len(rest)]
	exponent, family, err := suffix(rest)
	if err != nil {
		return Quantity{}, err
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	q := Quantity{scale: -int32(len(fraction)), family: family}
	small := fraction == "" && len(whole)+int(exponent)*3/10 < 15
	if family != Binary {
		q.scale += exponent
		small = len(whole)+len(fraction) <= mostDigits && q.scale >= nano
	}
	negative := text[0] == '-'
	if !small {
		if strings.Trim(number, ".") == "" {
			return Quantity{}, errNumber
		}
		return q.parseWide(whole+fraction, negative, exponent), nil
	}
	q.n, _ = strconv.ParseInt(whole+fraction, 10, 64)
	if q.isSpelled(whole + fraction) {
		q.text = text
	}
	if family == Binary {
		q.n <<= exponent
	}
	if negative {
		q.n = -q.n
	}
	return q, nil
}

// isSpelled reports whether a new quantity with these digits stays as it is spelled, like
// 1.25 keeps spellings: they may have a sign, zeros in front, a point and a big E.
func (q Quantity) isSpelled(digits string) bool {
	if q.family == Binary {
		return q.n%8 != 0
	}
	return q.scale%3 == 0 && !strings.HasSuffix(digits, "000") && digits[0] != '0'
}

// parseWide is the quantity with digits of any number, which is rounded, and not above 64
// bits if it is binary.
func (q Quantity) parseWide(digits string, negative bool, exponent int32) Quantity {
	q.wide, _ = new(big.Int).SetString(digits, 10)
	if q.family == Binary {
		q.wide.Lsh(q.wide, uint(exponent))
	}
	if q.wide.Sign() == 0 {
		return q
	}
	q.wide, _ = rescale(q.wide, q.scale, nano)
	q.scale = nano
	if q.family == Binary {
		if most := New(math.MaxInt64, Binary); q.Compare(most) > 0 {
			q.wide, q.scale = big.NewInt(most.n), 0
		} else if q.Compare(New(1, Binary)) < 0 {
			q.family = Decimal
		}
	}
	if negative {
		q.wide.Neg(q.wide)
	}
	return q
}

// leading are the digits that a text begins with.
func leading(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// suffix reads a suffix: its exponent, of two in the binary family, else of ten.
func suffix(text string) (exponent int32, family Family, err error) {
	if text == "" {
		return 0, Decimal, nil
	}
	tail := strings.TrimLeft(text, "eEinumkKMGTP")
	if tail != "" && (tail[0] == '-' || tail[0] == '+') {
		tail = tail[1:]
	}
	if strings.Trim(tail, "0123456789") != "" {
		return 0, 0, errForm
	}
	if at := strings.Index(decimals, text); at >= 0 && len(text) == 1 {
		if exponent = int32(at)*3 + nano; exponent >= 0 {
			exponent += 3
		}
		return exponent, Decimal, nil
	}
	if at := strings.IndexByte(binaries, text[0]); at >= 0 && text[1:] == "i" {
		return int32(at)*10 + 10, Binary, nil
	}
	n, err := strconv.Atoi(text[1:])
	if text[0] != 'e' && text[0] != 'E' || err != nil || max(n, -n) > mostExponent {
		return 0, 0, errSuffix
	}
	return int32(n), Exponent, nil
}

// String spells the quantity without a fraction, with the largest possible suffix.
func (q Quantity) String() string {
	if q.text != "" {
		return q.text
	}
	if q.Sign() == 0 {
		return "0"
	}
	if q.family == Binary {
		if text := q.binary(); text != "" {
			return text
		}
		q.family = Decimal
	}
	var all string
	if q.wide != nil {
		all = q.wide.String()
	} else {
		all = strconv.FormatInt(q.n, 10)
	}
	text := strings.TrimRight(all, "0")
	exponent := int(q.scale) + len(all) - len(text)
	for ; exponent%3 != 0; exponent-- {
		text += "0"
	}
	if exponent == 0 {
		return text
	}
	if q.family == Exponent {
		return text + "e" + strconv.Itoa(exponent)
	}
	if exponent > 0 {
		exponent -= 3
	}
	if at := (exponent - nano) / 3; at < len(decimals) {
		text += decimals[at : at+1]
	}
	return text
}

// binary spells a whole amount from 1024 on with a suffix of its family, any other not at
// all.
func (q Quantity) binary() string {
	if q.Compare(New(1024, Binary)) < 0 && q.Compare(New(-1024, Binary)) > 0 {
		return ""
	}
	whole, exact := q.RoundUp(0)
	if !exact {
		return ""
	}
	var text string
	var times uint
	if whole.wide != nil {
		times = whole.wide.TrailingZeroBits() / 10
		text = new(big.Int).Rsh(whole.wide, times*10).String()
	} else {
		times = uint(bits.TrailingZeros64(uint64(whole.n)) / 10)
		text = strconv.FormatInt(whole.n>>(times*10), 10)
	}
	if times > 0 && times <= uint(len(binaries)) {
		text += binaries[times-1:times] + "i"
	}
	return text
}
