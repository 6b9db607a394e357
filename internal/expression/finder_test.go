package expression

import (
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

func TestFinder(t *testing.T) {
	for _, c := range []struct {
		object, old, finds, each, want string
	}{
		{`{"spec":{"copies":3}}`, ``, `self.spec.copies > 2 ? "too many" : ""`, "", "[{too many     }]"},
		{`{"spec":{"copies":2}}`, ``, `self.spec.copies > 2 ? "too many" : ""`, "", "[]"},
		{`{"spec":{"copies":2}}`, `{"spec":{"copies":3}}`, `self.spec.copies < oldSelf.spec.copies ? "shrinks" : ""`, "", "[{shrinks     }]"},
		{`{"namespace":"a b"}`, ``, `check("dns1123-label", self.namespace).map(w, "bad")`, "", "[{bad     }]"},
		{`{"spec":{"labels":{"a":"1","b":"2"}}}`, ``, `self.spec.labels.transformList(k, v, {"at": "spec.labels[" + k + "]", "shows": v, "cause": "required", "why": "no"})`, "",
			`[{no spec.labels[a]  "1"  FieldValueRequired} {no spec.labels[b]  "2"  FieldValueRequired}]`},
		{`{"namespace":"x","parts":[{"namespace":"y"}]}`, ``, `self.namespace == parent.namespace ? "" : self.namespace + " of " + parent.namespace`, "parts", "[{y of x     }]"},
		{`{}`, ``, `self.parts[3].namespace`, "", "[{index out of bounds: 3     InternalError}]"},
	} {
		d := &schema.Demand{Finds: c.finds}
		obj, old, v := typed(t, c.object), document.Value{}, document.Value{}
		if c.old != "" {
			old = typed(t, c.old)
		}
		if v = obj; c.each != "" {
			d.Each, v = []string{c.each}, obj.Get(c.each).Index(0)
		}
		if got := fmt.Sprint(NewFinder(&orders).Find(d, v, obj, old)); got != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.finds, c.object, got, c.want)
		}
	}
	for _, text := range []string{`self.spec.copies`, `self.spec.copies > 2`, `[1]`, `parent.other`} {
		if err := NewFinder(&orders).Compile(0, &schema.Demand{Finds: text}); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// typed reads an order with its type.
func typed(t *testing.T, text string) document.Value {
	t.Helper()
	orders.MakeIndex()
	doc, _, err := (&document.Decoder{Table: &orders}).Decode(0, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(doc.Release)
	return doc.Root()
}
