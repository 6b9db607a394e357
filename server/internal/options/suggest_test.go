package options

import (
	"testing"
)

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		limit, d int
	}{
		{"", "", 3, 0}, {"abc", "abc", 3, 0}, {"abc", "abd", 3, 1}, {"abc", "ab", 3, 1}, {"ab", "abc", 3, 1},
		{"kitten", "sitting", 9, 3}, {"kitten", "sitting", 2, 2}, {"", "abcdef", 3, 3}, {"flaw", "lawn", 9, 2},
	} {
		if d := EditDistance(c.a, c.b, c.limit); d != c.d {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, d, c.d)
		}
	}
}
