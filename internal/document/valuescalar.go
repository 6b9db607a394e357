package document

import (
	"math"
	"strconv"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/capstan-dev/capstan/internal/schema"
)

// text checks a string; the first broken rule is reported.
func (w *values) text(r *verdict, n int32, v *schema.Values) {
	value := Value{w.d, n}
	if v.MaxLength != nil || v.MinLength != nil || v.Pattern != "" {
		text := value.Text()
		size := int64(utf8.RuneCountInString(text))
		switch re := pattern(v.Pattern); {
		case v.MaxLength != nil && size > *v.MaxLength:
			w.fail(r, n, schema.CauseTooLong, func(string) string { return "Too long: may not be longer than " + strconv.FormatInt(*v.MaxLength, 10) })
		case v.MinLength != nil && size < *v.MinLength:
			w.invalid(r, n, strconv.Quote(text), "should be at least "+strconv.FormatInt(*v.MinLength, 10)+" chars long")
		case v.Pattern != "" && re != nil && !re.MatchString(text):
			w.invalid(r, n, strconv.Quote(text), "should match '"+v.Pattern+"'")
		}
	}
	r.matched++
	if v.Format == "" {
		return
	}
	if !strfmt.Default.Validates(v.Format, value.Text()) {
		w.wrongType(r, n, v.Format, value.Text())
	}
	r.matched++
}

// number checks a number; bounds of whole numbers are whole, as in 1.25.
func (w *values) number(r *verdict, n int32, v *schema.Values) {
	r.matched += 2
	if v.MultipleOf == nil && v.Maximum == nil && v.Minimum == nil {
		return
	}
	value := Value{w.d, n}
	f, _ := value.Float()
	whole, isWhole := value.Int()
	bound := func(limit float64) (order int) {
		if isWhole && limit > -1<<63 && limit < 1<<63 {
			return compareInts(whole, int64(limit))
		}
		switch {
		case f < limit:
			return -1
		case f > limit:
			return 1
		}
		return 0
	}
	shown := string(value.AppendJSON(nil))
	if step := v.MultipleOf; step != nil && !multiple(f, whole, isWhole, *step) {
		w.invalid(r, n, shown, "should be a multiple of "+strconv.FormatFloat(*step, 'g', -1, 64))
	}
	if most := v.Maximum; most != nil {
		switch order := bound(*most); {
		case v.ExclusiveMaximum && order >= 0:
			w.invalid(r, n, shown, "should be less than "+strconv.FormatFloat(*most, 'g', -1, 64))
		case order > 0:
			w.invalid(r, n, shown, "should be less than or equal to "+strconv.FormatFloat(*most, 'g', -1, 64))
		}
	}
	if least := v.Minimum; least != nil {
		switch order := bound(*least); {
		case v.ExclusiveMinimum && order <= 0:
			w.invalid(r, n, shown, "should be greater than "+strconv.FormatFloat(*least, 'g', -1, 64))
		case order < 0:
			w.invalid(r, n, shown, "should be greater than or equal to "+strconv.FormatFloat(*least, 'g', -1, 64))
		}
	}
}

func compareInts(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func multiple(f float64, whole int64, isWhole bool, step float64) bool {
	switch {
	case step <= 0:
		return true
	case isWhole && step >= 1 && step < 1<<63:
		return whole%int64(step) == 0
	case step < 1:
		return wholeNumber(1 / step * f)
	}
	return wholeNumber(f / step)
}

// wholeNumber reports whether a number counts as an integer, with a small tolerance.
func wholeNumber(f float64) bool {
	if math.IsNaN(f) || math.IsInf(f, 0) || f < -1<<53+1 || f > 1<<53-1 {
		return false
	}
	whole := math.Trunc(f)
	diff := math.Abs(f - whole)
	sum := math.Abs(f) + math.Abs(whole)
	switch {
	case f == whole:
		return true
	case f == 0 || whole == 0 || diff < math.SmallestNonzeroFloat64:
		return diff < 1e-9*math.SmallestNonzeroFloat64
	}
	return diff/math.Min(sum, math.MaxFloat64) < 1e-9
}
