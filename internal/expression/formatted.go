package expression

import (
	"strings"

	"github.com/google/cel-go/common/types/ref"
)

// priceFormat prices the formatting of values: each is written once, and numbers with as
// many digits as its clause demands, like %.9f.
func priceFormat(b *Bindings, args []ref.Val) demand {
	text := textAt(args, 0)
	all := b.weigh(args[1:]...)
	clauses := float64(strings.Count(text, "%"))
	return demand{listBytes + float64(len(text)) + 8*all.bytes + 8*all.nodes + 32*clauses + digits(text), all.nodes + float64(len(text))/runeBytes}
}

// digits is the sum of the numbers in a text.
func digits(text string) (sum float64) {
	n := 0.0
	for i := range len(text) {
		if c := text[i]; '0' <= c && c <= '9' {
			n = 10*n + float64(c-'0')
			continue
		}
		sum, n = sum+n, 0
	}
	return sum + n
}
