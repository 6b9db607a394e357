package document

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyLookups: look-ups in a large object find its members, also while it changes.
func TestManyLookups(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"m":{"a\n":0`)
	for i := range 500 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	b.WriteString("}}")
	for _, open := range []func() (*Document, error){
		func() (*Document, error) { return DecodeAny([]byte(b.String()), Limits{}) },
		func() (*Document, error) { return ReadStored(nil, -1, []byte(b.String())) },
	} {
		d, err := open()
		if err != nil {
			t.Fatal(err)
		}
		m := d.Root().Get("m")
		want := map[string]int64{"a\n": 0}
		for i := range 500 {
			want[fmt.Sprintf("k%d", i)] = int64(i)
		}
		check := func() {
			t.Helper()
			for range 2 {
				for i := range 600 {
					name := fmt.Sprintf("k%d", i)
					got, ok := m.Get(name).Int()
					if n, there := want[name]; ok != there || got != n {
						t.Fatalf("%s is %d, %t, want %d, %t", name, got, ok, n, there)
					}
				}
			}
			if v := m.Get("a\n"); !v.Exists() {
				t.Fatal("the escaped name is not found")
			}
		}
		check()
		if dir := d.names[m.n]; dir == nil || dir.members == nil {
			t.Error("there is no directory")
		}
		m.Remove("k7")
		delete(want, "k7")
		check()
		m.SetInt("k550", 1)
		want["k550"] = 1
		check()
		m.SetInt("k550", 2)
		want["k550"] = 2
		check()
		d.Release()
	}
}

func BenchmarkLookups(b *testing.B) {
	for _, n := range []int{8, 64, 8000} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `,"k%d":%d`, i, i)
		}
		d, err := DecodeAny([]byte("{"+text.String()[1:]+"}"), Limits{})
		if err != nil {
			b.Fatal(err)
		}
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("k%d", i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				for _, name := range names {
					d.Root().Get(name)
				}
			}
		})
		d.Release()
	}
}
