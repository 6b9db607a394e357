package delta

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestRoundTrip: what Make writes, Apply makes, for texts drawn at random.
func TestRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	draw := func() Texts {
		all := Texts{}
		for _, name := range []string{"a", "b c", "d"}[:r.IntN(4)] {
			lines := []string{}
			for range r.IntN(12) {
				lines = append(lines, []string{"", "x", "y", "@ 1 1", "+z", "= a", "- d"}[r.IntN(7)])
			}
			all[name] = lines
		}
		return all
	}
	for range 5000 {
		from, to := draw(), draw()
		changes := Make(from, to)
		got, err := Apply(from, changes)
		if err != nil || !reflect.DeepEqual(got, to) {
			t.Fatalf("seed %d: %v becomes %v (%v) by\n%s", seed, from, got, err, changes)
		}
	}
}

// TestSmall: a changed line is one line of the changes, wherever it is.
func TestSmall(t *testing.T) {
	var before, after []string
	for i := range 3000 {
		before = append(before, fmt.Sprint("line ", i))
	}
	after = append(after, before...)
	after[7], after[2500] = "one", "two"
	if got := Make(Texts{"t": before}, Texts{"t": after}); got != "= t\n@ 7 1\n+one\n@ 2500 1\n+two\n" {
		t.Errorf("the changes are\n%s", got)
	}
	if got := Make(Texts{"t": before}, Texts{"t": before}); got != "" {
		t.Errorf("equal texts have the changes\n%s", got)
	}
}

// TestWrongChanges: changes that do not fit are refused with their line.
func TestWrongChanges(t *testing.T) {
	for _, wrong := range []string{"x", "+a", "@ 1 1", "= t\n@ 3 1", "= t\n@ 1 9", "= t\n@ -1 0", "= t\n@ 2 0\n@ 1 0", "- u", "=", "= t\n@ a b"} {
		if got, err := Apply(Texts{"t": {"1", "2"}}, wrong); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q makes %v: %v", wrong, got, err)
		}
	}
}

// FuzzApply: changes of any kind make texts or an error.
func FuzzApply(f *testing.F) {
	f.Add("= t\n@ 1 1\n+x\n- u\n")
	f.Fuzz(func(t *testing.T, changes string) {
		from := Texts{"t": {"1", "2"}, "u": {}}
		if got, err := Apply(from, changes); err == nil {
			if again, err := Apply(from, Make(from, got)); err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%v becomes %v: %v", got, again, err)
			}
		}
	})
}
