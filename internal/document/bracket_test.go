package document

import (
	"strings"
	"testing"
)

// slowEnd is containerEnd, a byte at a time. Both take a backslash for an escape
// outside of strings too, where JSON has none.
func slowEnd(b []byte, i int) int {
	depth := 0
	for quoted := false; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\\' && i+1 < len(b) && (quoted || b[i+1] == '"' || b[i+1] == '\\'):
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func TestContainerEnd(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `{"a":[1,{"b":"]}"}]}`, `{`, `{"`, `{"a":"\"}"}`, `["\\"]`, `["\\\"]"]`, `[[[[[[[[[[]]]]]]]]]]`,
		`["` + strings.Repeat(`\\`, 40) + `"]`, `["` + strings.Repeat(`\`, 63) + `"]"]`, `["` + strings.Repeat(`\`, 64) + `"]"]`,
		`{"é":"{"}`,
	} {
		for pad := range 70 {
			whole := strings.Repeat("x", pad%5) + text[:1] + strings.Repeat(" ", pad) + text[1:]
			for _, tail := range []string{"", `,"}`, strings.Repeat("]", 80)} {
				b := []byte(whole + tail)
				if got, want := containerEnd(b, pad%5), slowEnd(b, pad%5); got != want {
					t.Fatalf("%q from %d: %d, want %d", b, pad%5, got, want)
				}
			}
		}
	}
}

func FuzzContainerEnd(f *testing.F) {
	f.Add(`{"a":["\\\"",{}]}`, 3)
	f.Add(strings.Repeat(`[`, 70)+strings.Repeat(`\`, 70)+`"`+strings.Repeat(`]`, 70), 60)
	f.Fuzz(func(t *testing.T, text string, pad int) {
		b := []byte("[" + strings.Repeat(" ", pad&127) + text)
		if got, want := containerEnd(b, 0), slowEnd(b, 0); got != want {
			t.Fatalf("%q: %d, want %d", b, got, want)
		}
	})
}

func BenchmarkContainerEnd(b *testing.B) {
	pod := readPod(b)
	for name, end := range map[string]func([]byte, int) int{"words": containerEnd, "bytes": slowEnd} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(pod)))
			for b.Loop() {
				if end(pod, 0) != len(pod) {
					b.Fatal("not the end")
				}
			}
		})
	}
}
