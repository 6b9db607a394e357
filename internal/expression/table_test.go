package expression

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// orders is a table with a type that holds itself.
var orders = schema.Table{Types: []schema.Type{
	0: {Name: "shop/v1.Order", Kind: schema.Object, Fields: []schema.Field{{Name: "spec", Type: 1}, {Name: "namespace", Type: 2}, {Name: "parts", Type: 4}, {Name: "open", Type: 6}}},
	1: {Kind: schema.Object, Fields: []schema.Field{{Name: "copies", Type: 3}, {Name: "price", Type: 5}, {Name: "labels", Type: 7}, {Name: "port", Type: 8}}},
	2: {Kind: schema.String},
	3: {Kind: schema.Integer},
	4: {Kind: schema.List, Elem: 0},
	5: {Kind: schema.Quantity},
	6: {Kind: schema.Boolean},
	7: {Kind: schema.Map, Elem: 2},
	8: {Kind: schema.IntOrString},
}}

func TestCells(t *testing.T) {
	const order = `{"spec":{"copies":2,"price":"3","labels":{"b":"2","a":"1"},"port":"http"},"parts":[{"namespace":"y"},{"namespace":"x","spec":{"copies":4}},{"namespace":"y"}]}`
	for _, c := range []struct {
		object, text string
		want         any
	}{
		{order, `self.spec.copies`, int64(2)},
		{`{}`, `self.spec.copies`, int64(0)},
		{`{}`, `has(self.spec.copies) ? "set" : "not set"`, "not set"},
		{`{"spec":null}`, `self.spec.price + self.namespace`, ""},
		{`{}`, `self.open`, false},
		{`{}`, `size(self.parts) + size(self.spec.labels)`, int64(0)},
		{order, `string(self.spec.port)`, "http"},
		{order, `self.parts.map(p, p.namespace).sort().distinct().join(",")`, "x,y"},
		{order, `self.parts.map(p, p.spec.copies).max()`, int64(4)},
		{order, `self.parts[?1].?spec.?copies.orValue(7)`, int64(4)},
		{order, `self.parts[?0].?spec.?copies.orValue(7)`, int64(7)},
		{order, `self.spec.labels.transformList(k, v, k + "=" + v).join(",")`, "b=2,a=1"},
		{order, `cel.bind(n, self.spec.copies, n > 1 ? string(n) + "x" : "")`, "2x"},
		{order, `self.parts[9].namespace`, nil}, // fails
		{order, `self.parts[1].parts[0].namespace`, nil},
	} {
		if got := NewCell(&orders, 0, c.text).Show(tree(t, c.object)); got != c.want {
			t.Errorf("%s of %s: got %#v, want %#v", c.text, c.object, got, c.want)
		}
	}
	for _, text := range []string{`self.specs`, `self.spec`, `self.parts`, `self.spec.copies + self.namespace`, `me.spec`, `"`} {
		if err := NewCell(&orders, 0, text).Compile(); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
