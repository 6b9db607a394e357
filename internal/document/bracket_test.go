package document

import (
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// slowEnd is containerEnd, a byte at a time. Both treat a backslash outside of strings as
// an escape too, where JSON has none.
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

// TestSkip: after skipped blocks the state is the one of a walk a byte at a time, and a
// block in which the container may end is not skipped.
func TestSkip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	skipped := 0
	for range 20000 {
		text := make([]byte, 64*(1+random.IntN(4))+random.IntN(64))
		rare := 3 + random.IntN(60)
		for k := range text {
			if text[k] = 'a' + byte(random.IntN(26)); random.IntN(rare) == 0 {
				text[k] = `""\{}[][[]`[random.IntN(10)]
			}
		}
		before := bracketState{depth: 1 + random.IntN(9)}
		if random.IntN(3) == 0 {
			before.inString = ^uint64(0)
		}
		before.isEscaped = uint64(random.IntN(2))
		got, want := before, before
		for k := 0; k < len(text); k += 64 {
			part := text[k:min(k+64, len(text))]
			o, c := got.block(part)
			if wo, wc := want.walk(part); o != wo || c != wc || len(part) == 64 && got != want {
				t.Fatalf("%q: the block at %d has %x %x and %+v, want %x %x and %+v", text, k, o, c, got, wo, wc, want)
			}
		}
		got, want = before, before
		n, opens, closes, ok := got.skip(text)
		if n > 0 {
			skipped++
		}
		for k := 0; k < n; k += 64 {
			depth := want.depth
			if o, c := want.walk(text[k : k+64]); bits.OnesCount64(c) >= depth {
				t.Fatalf("%q: skipped at %d, where the brackets %x close and %d are open", text, k, c, depth)
			} else {
				want.depth += bits.OnesCount64(o) - bits.OnesCount64(c)
			}
		}
		if ok {
			o, c := want.walk(text[n : n+64])
			if o != opens || c != closes || bits.OnesCount64(c) < want.depth {
				t.Fatalf("%q: stopped at %d with %x %x and %d open, want %x %x", text, n, opens, closes, want.depth, o, c)
			}
		} else if skips && n != len(text)/64*64 {
			t.Fatalf("%q: went by %d bytes", text, n)
		}
		if got != want {
			t.Fatalf("%q after %d bytes from %+v: %+v, want %+v", text, n, before, got, want)
		}
	}
	if skips && skipped < 1000 {
		t.Errorf("something was skipped %d times only", skipped)
	}
}

// walk is block, a byte at a time. A backslash outside of strings escapes too.
func (o *bracketState) walk(text []byte) (opens, closes uint64) {
	for k, c := range text {
		escaped := o.isEscaped != 0
		o.isEscaped = 0
		switch {
		case c == '\\' && !escaped:
			o.isEscaped = 1
		case c == '"' && !escaped:
			o.inString = ^o.inString
		case o.inString != 0:
		case c == '{' || c == '[':
			opens |= 1 << k
		case c == '}' || c == ']':
			closes |= 1 << k
		}
	}
	return opens, closes
}

func BenchmarkContainerEnd(b *testing.B) {
	pod := readPod(b)
	for name, end := range map[string]func([]byte, int) int{"blocks": containerEnd, "bytes": slowEnd} {
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

func TestClassify(t *testing.T) {
	var b [64]byte
	for i := range 4096 {
		for k := range b {
			b[k] = "\"\\{}[]x ;\x02\xa2\xdb\xfb"[(i*31+k*k+i*k/7)%13]
		}
		q, s, o, c := classify(&b)
		wq, ws, wo, wc := classifyWords(&b)
		if q != wq || s != ws || o != wo || c != wc {
			t.Fatalf("%q: %x %x %x %x, want %x %x %x %x", b, q, s, o, c, wq, ws, wo, wc)
		}
		for k, x := range b {
			bit := uint64(1) << k
			if (q&bit != 0) != (x == '"') || (s&bit != 0) != (x == '\\') || (o&bit != 0) != (x == '{' || x == '[') || (c&bit != 0) != (x == '}' || x == ']') {
				t.Fatalf("%q: byte %d is classified as %x %x %x %x", b, k, q&bit, s&bit, o&bit, c&bit)
			}
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	pod := readPod(b)
	for name, f := range map[string]func(*[64]byte) (_, _, _, _ uint64){"here": classify, "words": classifyWords} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(64)
			for b.Loop() {
				f((*[64]byte)(pod))
			}
		})
	}
}
