package quantity

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// drawn is the number of texts that are drawn, CAPSTAN_OBJECTS or some.
func drawn() int {
	if n, err := strconv.Atoi(os.Getenv("CAPSTAN_OBJECTS")); err == nil {
		return n
	}
	return 20_000
}

var families = map[Family]resource.Format{Exponent: resource.DecimalExponent, Decimal: resource.DecimalSI, Binary: resource.BinarySI}

// TestReference draws quantities, sums and differences, and compares all that is known of
// them with the library of Kubernetes.
func TestReference(t *testing.T) {
	rnd := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	sum, want := New(0, Decimal), *resource.NewQuantity(0, resource.DecimalSI)
	for range drawn() {
		text := draw(rnd)
		q, r, ok := parseBoth(t, text)
		if !ok {
			continue
		}
		switch rnd.IntN(8) {
		case 0, 1, 2:
			sum = sum.Plus(q)
			want.Add(r)
		case 3:
			sum = sum.Minus(q)
			want.Sub(r)
		default:
			if got, want := q.Compare(sum), compared(r, want); got != want {
				t.Fatalf("%q and %v: %d, want %d", text, sum, got, want)
			}
			sum, want = q, r
			continue
		}
		same(t, "a sum with "+text, sum, want)
	}
}

func FuzzReference(f *testing.F) {
	for _, text := range texts {
		f.Add(text, "1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		q, r, ok := parseBoth(t, a)
		s, u, okToo := parseBoth(t, b)
		if !ok || !okToo {
			return
		}
		if got, want := q.Compare(s), compared(r, u); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
		more := r.DeepCopy()
		more.Add(u)
		same(t, a+" and "+b, q.Plus(s), more)
		r.Sub(u)
		same(t, a+" less "+b, q.Minus(s), r)
	})
}

var texts = []string{"", "0", "-0", "+", "-", ".", "m", "Ki", "Ei", "0Ei", "+Ei", ".Ki", ".Ei", "+5", "+-5", "--5", "5.", ".5", "007", "1.500", "1E3", "1e03", "1e", "e3", "1e+3", "1e-3",
	"1000m", "1500m", "0.5", "1024Ki", "1.5Gi", "+1Ki", "1.0Ki", "8Ki", "1000E", "1e21", "1E21", "0.1n", "-0.1n", "1.0000000001", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
	"7Ei", "8Ei", "-8Ei", "16Ei", "0.9Ki", "0.0001Ki", "-0.0001Ki", "-1.5Ki", "999999999999999999", "99999999999999999E", "1 ", " 1", "1Ki5", "1i", "1ki", "1K", "1e5m", "1ee5", "1_000", "1e-40", "1e-9999", "1,5", "0x1", "1..2", "１"}

func TestSpellings(t *testing.T) {
	for _, text := range texts {
		parseBoth(t, text)
	}
	for _, text := range []string{"1e10001", "-1e-10001", "1e999999999", "1e4294967297", "1e99999999999999999999"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// parseBoth reads a text here and there.
func parseBoth(t *testing.T, text string) (q Quantity, r resource.Quantity, ok bool) {
	t.Helper()
	q, err := Parse(text)
	if _, exponent, found := strings.Cut(strings.ToLower(text), "e"); found && err == errSuffix && len(exponent) > 3 {
		return q, r, false // the library may compute with it for hours
	}
	r, wrong := resource.ParseQuantity(text)
	if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
		t.Fatalf("%q: %v, want %v", text, err, wrong)
	}
	if err == nil {
		same(t, text, q, r)
	}
	return q, r, err == nil
}

func compared(a, b resource.Quantity) int {
	a = a.DeepCopy()
	return a.Cmp(b.DeepCopy())
}

// same compares all of two quantities.
func same(t *testing.T, from string, q Quantity, r resource.Quantity) {
	t.Helper()
	type facts struct {
		text, spelled  string
		family         resource.Format
		sign           int
		float          float64
		integer        int64
		fits           bool
		value, milli   int64
		up, upToMilli  string
		whole, inMilli bool
	}
	got := facts{text: q.String(), family: families[q.family], sign: q.Sign(), float: q.Float(), value: q.Value(), milli: q.Milli()}
	got.spelled = q.Plus(Quantity{}).String()
	got.integer, got.fits = q.Int()
	up, whole := q.RoundUp(0)
	upToMilli, inMilli := q.RoundUp(3)
	got.up, got.whole, got.upToMilli, got.inMilli = up.String(), whole, upToMilli.String(), inMilli

	want := facts{text: r.String(), family: r.Format, sign: r.Sign(), float: r.AsApproximateFloat64(), value: r.Value(), milli: r.MilliValue()}
	respelled := r.DeepCopy()
	respelled.Add(resource.Quantity{})
	want.spelled = respelled.String()
	want.integer, want.fits = r.AsInt64()
	if !want.fits {
		want.integer = 0
	}
	a, b := r.DeepCopy(), r.DeepCopy()
	want.whole, want.inMilli = a.RoundUp(0), b.RoundUp(resource.Milli)
	want.up, want.upToMilli = a.String(), b.String()

	if q.wide != nil && (!q.wide.IsInt64() && q.Sign() < 0 || q.scale > 0) {
		got.value, got.milli, want.value, want.milli = 0, 0, 0, 0 // the library's do not mean anything
	}
	if q.Sign() == 0 && want.family == "" {
		want.family = got.family
	}
	if math.IsInf(got.float, 0) && math.IsInf(want.float, 0) || got.float != got.float && want.float != want.float {
		got.float, want.float = 0, 0
	}
	if got != want {
		t.Fatalf("%s:\ngot  %+v\nwant %+v", from, got, want)
	}
}

// draw draws a text that is a quantity more often than not.
func draw(rnd *rand.Rand) string {
	if rnd.IntN(50) == 0 {
		return texts[rnd.IntN(len(texts))]
	}
	var b strings.Builder
	pick := func(all ...string) { b.WriteString(all[rnd.IntN(len(all))]) }
	digits := func(most int) {
		for range rnd.IntN(most) {
			pick("0", "0", "0", "1", "2", "4", "5", "8", "9")
		}
	}
	pick("", "", "", "", "-", "+")
	switch rnd.IntN(6) {
	case 0:
		b.WriteString(strconv.FormatInt(int64(rnd.Uint64()>>rnd.IntN(64))&math.MaxInt64, 10))
	case 1:
		b.WriteString(strconv.FormatUint(1<<rnd.IntN(64), 10))
	default:
		digits(12)
		digits(12)
	}
	if rnd.IntN(3) == 0 {
		b.WriteByte('.')
		digits(14)
	}
	switch rnd.IntN(3) {
	case 0:
		pick("", "n", "u", "m", "", "k", "M", "G", "T", "P", "E")
	case 1:
		pick("Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "i", "K")
	default:
		pick("e", "E")
		pick("", "-", "+")
		b.WriteString(strconv.Itoa(rnd.IntN(30)))
	}
	return b.String()
}
