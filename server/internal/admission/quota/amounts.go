package quota

import (
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/quantity"
)

// amounts are quantities of resources, by the resource's name.
type amounts map[string]quantity.Quantity

// amount reads an amount, 0 for an absent one.
func amount(v document.Value) quantity.Quantity {
	q, _ := quantity.Parse(v.Text())
	return q
}

// readAmounts reads a map of quantities.
func readAmounts(v document.Value) amounts {
	out := amounts{}
	for name, q := range v.Members() {
		out[name] = amount(q)
	}
	return out
}

// add adds the other amounts to these.
func (a amounts) add(other amounts) {
	for name, q := range other {
		a[name] = a[name].Plus(q)
	}
}

// less are the amounts of a by which they differ from the other ones.
func (a amounts) less(other amounts) amounts {
	out := amounts{}
	for name, q := range a {
		if rest := q.Minus(other[name]); rest.Sign() != 0 {
			out[name] = rest
		}
	}
	return out
}

// above are the amounts by which a is more than the other ones.
func (a amounts) above(other amounts) amounts {
	out := a.less(other)
	maps.DeleteFunc(out, func(_ string, q quantity.Quantity) bool { return q.Sign() < 0 })
	return out
}

// only are the amounts with some names.
func (a amounts) only(names []string) amounts {
	out := amounts{}
	for _, name := range names {
		if q, ok := a[name]; ok {
			out[name] = q
		}
	}
	return out
}

func (a amounts) names() []string { return slices.Sorted(maps.Keys(a)) }

// String lists the amounts as refusals do.
func (a amounts) String() string {
	var all []string
	for _, name := range a.names() {
		all = append(all, name+"="+a[name].String())
	}
	return strings.Join(all, ",")
}
