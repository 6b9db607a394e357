package quota

import (
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
	out := make(amounts, v.Len())
	for name, q := range v.Members() {
		out[name] = quantity(q)
	}
	return out
}
