package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capstan-dev/capstan/internal/document"
)

// amount is a quantity, 0 when there is none.
func amount(v document.Value) resource.Quantity {
	text := v.Text()
	if text == "" {
		return resource.Quantity{}
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

// compare orders two quantities: -1, 0 or 1.
func compare(a, b document.Value) int {
	if document.Equal(a, b) {
		return 0
	}
	x, y := amount(a), amount(b)
	return x.Cmp(y)
}

// isZero reports whether a quantity is absent or zero.
func isZero(v document.Value) bool {
	if v.Equals("0") || !v.Exists() {
		return true
	}
	q := amount(v)
	return q.IsZero()
}

// quantityText is a quantity for people: "0" when there is none.
func quantityText(v document.Value) string {
	if text := v.Text(); text != "" {
		return text
	}
	return "0"
}

// isWhole reports whether a quantity has no fraction.
func isWhole(v document.Value) bool {
	q := amount(v)
	return q.MilliValue()%1000 == 0
}

// isMultiple reports whether a quantity is a positive multiple of a size that is
// one itself.
func isMultiple(v document.Value, size string) bool {
	page, err := resource.ParseQuantity(size)
	q := amount(v)
	return err == nil && page.Sign() > 0 && q.Sign() > 0 && page.MilliValue()%1000 == 0 && q.Value()%page.Value() == 0
}

// roundUp raises the amounts of a map that are finer than a thousandth to the
// next thousandth: nothing smaller is ever accounted.
func roundUp(amounts document.Value) {
	for name, v := range amounts.Members() {
		text := v.Text()
		if !isFine(text) {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil || q.RoundUp(resource.Milli) {
			continue
		}
		amounts.SetString(name, q.String())
	}
}

// isFine reports whether canonical text may be finer than a thousandth.
func isFine(text string) bool {
	return strings.HasSuffix(text, "n") || strings.HasSuffix(text, "u") || strings.Contains(text, "e-")
}

// notNegative checks that an amount is nothing or more.
func (c *causes) notNegative(field string, v document.Value) {
	if q := amount(v); q.Value() < 0 {
		c.invalidAt(field, v, "must be a valid resource quantity")
	}
}

// positive checks that an amount is more than nothing.
func (c *causes) positive(field string, v document.Value) {
	if q := amount(v); q.Sign() <= 0 {
		c.invalidAt(field, v, "must be greater than zero")
	}
}
