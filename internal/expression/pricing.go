package expression

import (
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// bytesOf is the size of a value, without those of its parts.
func bytesOf(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return 16 + uint64(len(v))
	case types.Bytes:
		return 24 + uint64(len(v))
	case traits.MutableLister, traits.MutableMapper:
		return entryBytes // what a step of a loop adds
	case *types.Err:
		return listBytes + uint64(len(v.Error()))
	case traits.Lister:
		return listBytes + elemBytes*actualSize(v)
	case traits.Mapper:
		return listBytes + entryBytes*actualSize(v)
	}
	return listBytes
}

// lengthOf is the number of bytes of a text; 0 for another value.
func lengthOf(v ref.Val) float64 {
	switch v := v.(type) {
	case types.String:
		return float64(len(v))
	case types.Bytes:
		return float64(len(v))
	case traits.Lister, traits.Mapper:
		return 0
	}
	if _, ok := v.(traits.Sizer); ok { // of a text, like a URL
		return float64(actualSize(v))
	}
	return 0
}

func textAt(args []ref.Val, i int) string {
	if i < len(args) {
		s, _ := args[i].(types.String)
		return string(s)
	}
	return ""
}

func countOf(v ref.Val) float64 {
	if l, ok := v.(traits.Lister); ok {
		return float64(actualSize(l))
	}
	return 0
}

// priceText prices a function whose result is at most so many times as long as its
// operands.
func priceText(times float64) pricer {
	return func(_ *Bindings, args []ref.Val) (d demand) {
		for _, v := range args {
			d.bytes += lengthOf(v)
		}
		return demand{listBytes + times*d.bytes, d.bytes / runeBytes}
	}
}

func priceSize(_ *Bindings, args []ref.Val) demand {
	return demand{steps: lengthOf(args[0]) / runeBytes}
}

func priceEach(_ *Bindings, args []ref.Val) demand { return demand{steps: countOf(args[0])} }

// priceMoment prices a part of a time: a time zone is read from a file.
func priceMoment(_ *Bindings, args []ref.Val) demand {
	if len(args) > 1 {
		return demand{listBytes + 4*lengthOf(args[1]), 20}
	}
	return demand{}
}

func priceQuantity(_ *Bindings, args []ref.Val) demand {
	n := lengthOf(args[0])
	return demand{listBytes + 4*n, n * n / 60_000} // digits become a number in quadratic time
}

// priceAdd prices sums. A loop that adds an element to its list needs as much as this one.
func priceAdd(b *Bindings, args []ref.Val) demand {
	switch v := args[0].(type) {
	case types.String, types.Bytes:
		return demand{bytes: 24 + lengthOf(v) + lengthOf(args[1])}
	case traits.MutableLister:
		n := countOf(args[1])
		return demand{elemBytes * (n + 1), n}
	case *list:
		if !v.ordered() { // both are written to be compared
			all := b.weigh(args...)
			return demand{listBytes + all.bytes + elemBytes*(countOf(v)+countOf(args[1])), all.nodes}
		}
	case traits.Lister:
	default:
		return demand{}
	}
	n := countOf(args[0]) + countOf(args[1])
	return demand{listBytes + elemBytes*n, n / 8}
}

func priceInsert(_ *Bindings, args []ref.Val) demand {
	n := 1.0
	for _, v := range args {
		if _, grows := v.(traits.MutableMapper); grows {
			continue
		}
		if m, ok := v.(traits.Mapper); ok {
			n += float64(actualSize(m))
		}
	}
	return demand{entryBytes * n, n}
}

// priceEqual prices the comparison of two values with parts. Two trees are not larger than
// their objects.
func priceEqual(b *Bindings, args []ref.Val) demand {
	if isTree(args[0]) && isTree(args[1]) || actualSize(args[0]) != actualSize(args[1]) {
		return demand{steps: 1}
	}
	return demand{steps: min(b.weigh(args[0]).nodes, b.weigh(args[1]).nodes)}
}

func priceIn(b *Bindings, args []ref.Val) demand {
	l, ok := args[1].(traits.Lister)
	if !ok {
		return demand{steps: 1}
	}
	n := countOf(l)
	if hasParts(args[0]) {
		n += min(n*b.weigh(args[0]).nodes, b.weigh(l).nodes)
	}
	return demand{steps: n}
}

// priceSearch prices indexOf and lastIndexOf, which look for a text at each place of
// another, or compare each element of a list.
func priceSearch(b *Bindings, args []ref.Val) demand {
	if _, ok := args[0].(traits.Lister); ok {
		return priceIn(b, []ref.Val{args[1], args[0]})
	}
	text, part := lengthOf(args[0]), lengthOf(args[1])
	return demand{listBytes, text/runeBytes + text*part/128}
}

func priceReplace(_ *Bindings, args []ref.Val) demand {
	text, part, with := textAt(args, 0), textAt(args, 1), textAt(args, 2)
	times := strings.Count(text, part)
	if len(args) > 3 {
		if most, ok := args[3].(types.Int); ok && most >= 0 {
			times = min(times, int(min(most, types.Int(times))))
		}
	}
	n := float64(len(text))
	return demand{16 + max(n, n+float64(times)*float64(len(with)-len(part))), n / runeBytes}
}

func priceSplit(_ *Bindings, args []ref.Val) demand {
	text := textAt(args, 0)
	parts := strings.Count(text, textAt(args, 1)) + 1
	if len(args) > 2 {
		if most, ok := args[2].(types.Int); ok && most >= 0 {
			parts = min(parts, int(min(most, types.Int(parts))))
		}
	}
	return demand{listBytes + partBytes*float64(parts), float64(len(text)) / runeBytes}
}

func priceJoin(b *Bindings, args []ref.Val) demand {
	n := countOf(args[0])
	all := b.weigh(args[0])
	return demand{all.bytes + n*float64(len(textAt(args, 1))), all.nodes}
}

func priceRange(_ *Bindings, args []ref.Val) demand {
	n, _ := args[0].(types.Int)
	return demand{listBytes + 2*elemBytes*max(0, float64(n)), max(0, float64(n))}
}

func priceElements(_ *Bindings, args []ref.Val) demand {
	n := countOf(args[0])
	return demand{listBytes + 2*elemBytes*n, n}
}

// priceSort prices a sort, whose comparisons have the logarithm of the length as a factor.
func priceSort(_ *Bindings, args []ref.Val) demand {
	n := countOf(args[0])
	return demand{listBytes + 3*elemBytes*n, 8 * n}
}

func priceFlatten(b *Bindings, args []ref.Val) demand {
	all := b.weigh(args[0])
	return demand{listBytes + 4*elemBytes*all.nodes, 4 * all.nodes}
}

// priceDistinct prices the comparison of each element with all others.
func priceDistinct(b *Bindings, args []ref.Val) demand {
	n := countOf(args[0])
	return demand{listBytes + 2*elemBytes*n, n * b.weigh(args[0]).nodes / 2}
}

// priceSets prices the comparison of all elements of a list with those of another.
func priceSets(b *Bindings, args []ref.Val) demand {
	n, m := countOf(args[0]), countOf(args[1])
	return demand{steps: min(n*b.weigh(args[1]).nodes, m*b.weigh(args[0]).nodes)}
}
