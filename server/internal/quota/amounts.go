package quota

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capstan-dev/capstan/internal/document"
)

// amounts are quantities of resources, by the resource's name.
type amounts map[string]resource.Quantity

// quantity reads an amount, 0 for an absent one.
func quantity(v document.Value) (q resource.Quantity) {
	if text := v.Text(); text != "" {
		q, _ = resource.ParseQuantity(text)
	}
	return q
}

// readAmounts reads a map of quantities.
func readAmounts(v document.Value) amounts {
	out := amounts{}
	for name, q := range v.Members() {
		out[name] = quantity(q)
	}
	return out
}

// add adds the other amounts to these.
func (a amounts) add(other amounts) {
	for name, q := range other {
		sum := a[name].DeepCopy()
		sum.Add(q)
		a[name] = sum
	}
}

// less are the amounts of a by which they differ from the other ones.
func (a amounts) less(other amounts) amounts {
	out := amounts{}
	for name, q := range a {
		rest := q.DeepCopy()
		rest.Sub(other[name])
		if !rest.IsZero() {
			out[name] = rest
		}
	}
	return out
}

// above are the amounts by which a is more than the other ones.
func (a amounts) above(other amounts) amounts {
	out := a.less(other)
	maps.DeleteFunc(out, func(_ string, q resource.Quantity) bool { return q.Sign() < 0 })
	return out
}

// atLeast raises the amounts to the other ones.
func (a amounts) atLeast(other amounts) {
	for name, q := range other {
		if own, ok := a[name]; !ok || q.Cmp(own) > 0 {
			a[name] = q
		}
	}
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
		q := a[name]
		all = append(all, name+"="+q.String())
	}
	return strings.Join(all, ",")
}
