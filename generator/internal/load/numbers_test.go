package load

import (
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// A field without a number has the one after the highest before it in its message.
func TestNumbersOfFields(t *testing.T) {
	type field struct{ outer, number int } // as said: 0 for nothing
	for _, c := range []struct {
		name   string
		object int
		fields []field
		want   string
	}{
		{"in order", 0, []field{{}, {}, {}}, "[1 2 3]"},
		{"after one that is said", 0, []field{{}, {0, 5}, {}}, "[1 5 6]"},
		{"not into a gap", 0, []field{{}, {0, 7}, {0, 3}, {}}, "[1 7 3 8]"},
		{"not in the binary form", 0, []field{{}, {0, noNumber}, {}}, "[1 0 2]"},
		{"no field in the binary form", noNumber, []field{{}, {}}, "[0 0]"},
		{"an inner message takes a number of the own", 0, []field{{2, 0}, {2, 0}, {}}, "[1 2 3]"},
		{"two messages", 0, []field{{}, {2, 0}, {2, 4}, {2, 0}, {3, 0}}, "[1 1 4 5 1]"},
		{"past the reserved numbers", 0, []field{{0, firstReserved - 1}, {}}, "[18999 20000]"},
	} {
		s := &schema.Schema{Binary: c.object}
		for _, f := range c.fields {
			s.Properties = append(s.Properties, schema.Property{Schema: &schema.Schema{Binary: f.number, BinaryOuter: f.outer}})
		}
		numberFields(s)
		var got []int
		for _, p := range s.Properties {
			got = append(got, p.Schema.Binary)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}
