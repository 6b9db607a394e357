// Package quantity computes with amounts like "100m", "1.5" and "2Gi", and spells them as
// Kubernetes does.
package quantity

import (
	"cmp"
	"math"
	"math/big"
)

// Family is the kind of suffixes that a quantity is spelled with. A sum has that of its
// first number which is not 0.
type Family uint8

const (
	Exponent Family = iota // 12e6
	Decimal                // 12M
	Binary                 // 12Mi
)

// MaxMilli is the largest whole amount whose thousandths fit into 64 bits.
const MaxMilli = math.MaxInt64 / 1000

const (
	milli = -3
	nano  = -9 // nothing is finer
)

// Quantity is an amount. It does not change. The zero value is 0.
type Quantity struct {
	n      int64    // the amount is n × 10^scale,
	wide   *big.Int // or this × 10^scale, unless it is nil
	scale  int32
	family Family
	text   string // the spelling, where it is known
}

// New makes a whole quantity.
func New(n int64, family Family) Quantity { return Quantity{n: n, family: family} }

// NewMilli makes a quantity of thousandths.
func NewMilli(n int64) Quantity { return Quantity{n: n, scale: milli, family: Decimal} }

// Sign is -1, 0 or 1.
func (q Quantity) Sign() int {
	if q.wide != nil {
		return q.wide.Sign()
	}
	return cmp.Compare(q.n, 0)
}

// Compare orders two quantities: -1, 0 or 1.
func (q Quantity) Compare(other Quantity) int {
	if q.wide == nil && other.wide == nil {
		least := min(q.scale, other.scale)
		a, fits := grow(q.n, q.scale-least)
		b, fitsToo := grow(other.n, other.scale-least)
		if fits && fitsToo {
			return cmp.Compare(a, b)
		}
	}
	a, b, _ := aligned(q, other)
	return a.Cmp(b)
}

// Plus is the sum of two quantities.
func (q Quantity) Plus(other Quantity) Quantity {
	sum := Quantity{family: q.family}
	if q.Sign() == 0 {
		sum.family = other.family
	}
	switch {
	case q.wide != nil || other.wide != nil:
	case other.n == 0:
		sum.n, sum.scale = q.n, q.scale
		return sum
	case q.n == 0:
		sum.n, sum.scale = other.n, other.scale
		return sum
	default:
		sum.scale = min(q.scale, other.scale)
		a, fits := grow(q.n, q.scale-sum.scale)
		b, fitsToo := grow(other.n, other.scale-sum.scale)
		if sum.n = a + b; fits && fitsToo && (a < 0) == (sum.n < b) {
			return sum
		}
	}
	sum.n = 0
	sum.wide, other.wide, sum.scale = aligned(q, other)
	sum.wide = new(big.Int).Add(sum.wide, other.wide)
	return sum
}

// Minus is the difference of two quantities.
func (q Quantity) Minus(other Quantity) Quantity {
	if other.wide != nil {
		other.wide = new(big.Int).Neg(other.wide)
	}
	other.n = -other.n
	return q.Plus(other)
}

// RoundUp makes a quantity with at most so many decimals, away from zero. It reports
// whether it is the same amount.
func (q Quantity) RoundUp(decimals int32) (rounded Quantity, same bool) {
	switch scale := -decimals; {
	case q.wide != nil:
		wide, exact := rescale(q.wide, q.scale, scale)
		return Quantity{wide: wide, scale: scale, family: q.family}, exact
	case q.scale < scale:
		n, exact := shrink(q.n, scale-q.scale)
		return Quantity{n: n, scale: scale, family: q.family}, exact
	}
	return q, true
}

// Int is the amount as an integer, unless it has decimals or does not fit. That of many
// digits never fits.
func (q Quantity) Int() (n int64, fits bool) {
	if q.wide != nil || q.scale < 0 {
		return 0, false
	}
	return grow(q.n, q.scale)
}

// Value is the amount as an integer, rounded up. It is meaningless if it does not fit.
func (q Quantity) Value() int64 { return q.units(0) }

// Milli is the amount in thousandths, rounded up. It is meaningless where Value is above
// MaxMilli.
func (q Quantity) Milli() int64 { return q.units(milli) }

// units is the amount in units of 10^scale. What does not fit is the number that it is in
// 1.25, where limits are compared with it: some wrap around.
func (q Quantity) units(scale int32) int64 {
	switch {
	case q.wide == nil && q.scale < scale:
		n, _ := shrink(q.n, scale-q.scale)
		return n
	case q.wide == nil:
		n, fits := grow(q.n, q.scale-scale)
		if by := q.scale - scale; !fits && (by <= 3 || by == 6 || by == 9) {
			return q.n * power(by).Int64()
		}
		return n
	case q.scale >= scale:
		return q.wide.Int64() * int64(math.Pow10(int(q.scale-scale)))
	}
	divide := new(big.Int).QuoRem
	if scale-q.scale > mostDigits {
		divide = new(big.Int).DivMod
	}
	n, rest := divide(q.wide, power(scale-q.scale), new(big.Int))
	if rest.Sign() != 0 {
		return n.Int64() + 1
	}
	return n.Int64()
}

// Float is about the amount.
func (q Quantity) Float() float64 {
	f := float64(q.n)
	if q.wide != nil {
		f, _ = q.wide.Float64()
	}
	if q.scale == 0 {
		return f
	}
	return f * math.Pow10(int(q.scale))
}

// big are the digits of the amount, whatever their number.
func (q Quantity) big() *big.Int {
	if q.wide != nil {
		return q.wide
	}
	return big.NewInt(q.n)
}

// aligned are the digits of two amounts at the lesser of their scales.
func aligned(q, other Quantity) (a, b *big.Int, scale int32) {
	scale = min(q.scale, other.scale)
	a, _ = rescale(q.big(), q.scale, scale)
	b, _ = rescale(other.big(), other.scale, scale)
	return a, b, scale
}

// rescale are the digits of an amount at another scale, rounded away from zero.
func rescale(n *big.Int, from, to int32) (scaled *big.Int, exact bool) {
	switch {
	case from == to:
		return n, true
	case from > to:
		return new(big.Int).Mul(n, power(from-to)), true
	}
	scaled, rest := new(big.Int).QuoRem(n, power(to-from), new(big.Int))
	if rest.Sign() == 0 {
		return scaled, true
	}
	return scaled.Add(scaled, big.NewInt(int64(n.Sign()))), false
}

func power(of int32) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(of)), nil) }

// grow is n × 10^by, unless that does not fit; then it is 0.
func grow(n int64, by int32) (grown int64, fits bool) {
	for ; by > 0 && n != 0; by-- {
		if n > math.MaxInt64/10 || n < math.MinInt64/10 {
			return 0, false
		}
		n *= 10
	}
	return n, true
}

// shrink is n ÷ 10^by, rounded away from zero.
func shrink(n int64, by int32) (shrunk int64, exact bool) {
	exact = true
	sign := int64(cmp.Compare(n, 0))
	for ; by > 0 && n != 0; by-- {
		exact = exact && n%10 == 0
		n /= 10
	}
	if !exact {
		n += sign
	}
	return n, exact
}
