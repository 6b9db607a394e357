package document

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestTextEnd: textEnd stops where a loop over single bytes does, wherever the text begins.
func TestTextEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := []byte("ab \"\\\n\x00\x1f\x7f\x80\xa0\xff")
	for range 20_000 {
		b := bytes.Repeat([]byte("a"), random.IntN(24))
		for range random.IntN(3) {
			if len(b) > 0 {
				b[random.IntN(len(b))] = letters[random.IntN(len(letters))]
			}
		}
		i := random.IntN(len(b) + 1)
		for _, stop := range []uint64{0, highs} {
			want := i
			for want < len(b) && b[want] != '"' && b[want] != '\\' && b[want] >= ' ' && (stop == 0 || b[want] < 0x80) {
				want++
			}
			if got := textEnd(b, i, stop); got != want {
				t.Fatalf("%q from %d, stopping at %x, ends at %d, want %d", b, i, stop, got, want)
			}
		}
	}
}
