package document

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Positions are right in whatever order they are requested, while elements come and go,
// also in lists inside of lists.
func TestPathsOfElements(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d, err := DecodeAny([]byte(`{"a":[]}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	list := d.Root().Get("a")
	for step := range 3000 {
		n := list.Len()
		switch {
		case n < 20 || n < 60 && r.IntN(3) == 0:
			inner := list.AppendObject().SetArray("b")
			for range 5 {
				inner.AppendString("x")
			}
		case r.IntN(3) == 0:
			list.RemoveIndex(r.IntN(n))
		case r.IntN(4) == 0:
			list.Index(r.IntN(n)).Get("b").RemoveIndex(0)
		}
		i := r.IntN(list.Len())
		b := list.Index(i).Get("b")
		if k := b.Len(); k > 0 {
			k = r.IntN(k)
			if got, want := b.Index(k).Path(), fmt.Sprintf("a[%d].b[%d]", i, k); got != want {
				t.Fatalf("step %d: %s, want %s", step, got, want)
			}
		}
		if got, want := b.Path(), fmt.Sprintf("a[%d].b", i); got != want {
			t.Fatalf("step %d: %s, want %s", step, got, want)
		}
	}
}

// The paths of a long list's elements, and of lists in them, take linear time; with
// quadratic time this test would take minutes.
func TestPathsOfManyElements(t *testing.T) {
	const n = 300000
	d, err := DecodeAny([]byte(`{"a":[`+strings.TrimSuffix(strings.Repeat(`{"b":[0,0]},`, n), ",")+`]}`), Limits{MaxNodes: 5 * n})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	start, i := time.Now(), 0
	for _, v := range d.Root().Get("a").Elements() {
		if i++; i%100 == 0 {
			if got, want := v.Get("b").Index(1).Path(), fmt.Sprintf("a[%d].b[1]", i-1); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		} else {
			_ = v.Get("b").Index(0).Path()
		}
	}
	if took := time.Since(start); i != n || took > 20*time.Second {
		t.Errorf("%d paths took %v", i, took)
	}
}
