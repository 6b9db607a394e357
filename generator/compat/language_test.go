package compat

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

// drawText draws a text of the letters that names are made of.
func drawText(r *rand.Rand) string {
	if r.IntN(30) == 0 {
		return strings.Repeat(pick(r, "a", "a.", "A"), r.IntN(260))
	}
	text := ""
	for range r.IntN(7) {
		text += pick(r, "a", "b", "z", "A", "0", "9", "-", ".", "_", "/", "..", "%", "é", "\n", "*", "80")
	}
	return text
}

// The patterns of named checks, and the list of wider ones, agree with the checks.
func TestNamedChecksAreTheirPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	patterns := map[string]*regexp.Regexp{}
	for name, as := range checkPatterns {
		patterns[name] = regexp.MustCompile(as.pattern)
	}
	for range 60_000 {
		text := drawText(r)
		right := map[string]bool{}
		for _, name := range document.Formats() {
			right[name] = len(document.CheckFormat(name, text)) == 0
		}
		for name, as := range checkPatterns {
			if got := patterns[name].MatchString(text) && len(text) <= as.most; got != right[name] {
				t.Fatalf("%s %q: the check says %v", name, text, right[name])
			}
		}
		for name, most := range checkLengths {
			if right[name] && len(text) > most {
				t.Fatalf("%s %q is longer than %d", name, text, most)
			}
		}
		for narrow, wider := range widerChecks {
			for _, wide := range wider {
				if right[narrow] && !right[wide] {
					t.Fatalf("%q is a %s and not a %s", text, narrow, wide)
				}
			}
		}
	}
}

// Inclusion of patterns is never claimed where a text shows the contrary.
func FuzzIncluded(f *testing.F) {
	for _, pair := range [][2]string{{"^a*$", "^[ab]*$"}, {"^[ab]*$", "^a*$"}, {"a", ""}, {"", "a"}, {"^(a|b)+$", "^[a-b]{1,}$"}, {"(?i)abc", "b"}, {"^.*$", "(?s)^.*$"}, {"x$", "x"}, {"^$", "^a?$"}, {`^\d{1,3}$`, `^\w+$`}} {
		f.Add(pair[0], pair[1], uint64(1))
	}
	f.Fuzz(func(t *testing.T, a, b string, seed uint64) {
		x, err := regexp.Compile(a)
		y, wrong := regexp.Compile(b)
		if err != nil || wrong != nil || len(a)+len(b) > 60 {
			return
		}
		if !included([]string{a}, math.MaxInt, b) {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for range 200 {
			if text := drawText(r); x.MatchString(text) && !y.MatchString(text) {
				t.Fatalf("%q matches %q and not %q", text, a, b)
			}
		}
	})
}
