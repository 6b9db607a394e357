package policy

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Amounts of pods that are a number or a share of all: 3 or "25%".

var percent = regexp.MustCompile(`^[0-9]+%$`)

// intOrPercent checks such an amount.
func (c *causes) intOrPercent(v document.Value) {
	switch v.Kind() {
	case document.String:
		if !percent.MatchString(v.Text()) {
			c.Invalid(v, "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', or '93%')")
		}
	case document.Number:
		if number(v) < 0 {
			c.Invalid(v, "must be greater than or equal to 0")
		}
	}
}

// atMostAll checks that a share is not more than everything.
func (c *causes) atMostAll(v document.Value) {
	if v.Kind() == document.String && percent.MatchString(v.Text()) && intOrPercent(v) > 100 {
		c.Invalid(v, "must not be greater than 100%")
	}
}

// intOrPercent is the number of such an amount; shares too large to count are large.
// Other texts are the number that they hold, if any, though they are refused.
func intOrPercent(v document.Value) int64 {
	if v.Kind() != document.String {
		return number(v)
	}
	if !percent.MatchString(v.Text()) {
		n, _ := strconv.ParseInt(v.Text(), 10, 64)
		return n
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(v.Text(), "%"), 10, 32)
	if err != nil {
		return 1 << 31
	}
	return n
}
