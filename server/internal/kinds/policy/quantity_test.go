package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capstan-dev/capstan/internal/document"
)

// Amounts compare as in the library, also those that are compared without it.
func TestAmounts(t *testing.T) {
	texts := []string{"0", "1", "2", "10", "0m", "1m", "999m", "1000m", "1Ki", "1k", "2Ki", "1Mi", "1E", "1Ei", "1e3", "2e3", "-1", "-1m", "1.5", "1.5Gi", "1n", "2u",
		"999999999999999", "1000000000000000", "9999999999999999Mi", "", "x"}
	doc, err := document.DecodeAny([]byte(`["`+strings.Join(texts, `","`)+`"]`), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) resource.Quantity {
		q, _ := resource.ParseQuantity(text)
		return q
	}
	for i, a := range texts {
		x, v := parse(a), doc.Root().Index(i)
		if isZero(v) != x.IsZero() || isNegative(v) != (x.Sign() < 0) {
			t.Errorf("%q: zero %v, negative %v", a, isZero(v), isNegative(v))
		}
		for j, b := range texts {
			if got, want := compare(v, doc.Root().Index(j)), x.Cmp(parse(b)); got != want {
				t.Errorf("%q to %q: %d, want %d", a, b, got, want)
			}
		}
	}
	if !isZero(document.Value{}) {
		t.Error("nothing is not zero")
	}
}
