package compat

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"

	generator "github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// experiment sends objects of an old client to servers of the old and the new documents,
// and finds what breaks: the judge of verdicts.
type experiment struct {
	rand     *rand.Rand
	old, now *schema.Table
	from, to schema.Ref
	shape    *shape // of the old side
}

// newExperiment is about the kind Order of shop/v1 in two folders; nil where one has none.
func newExperiment(seed uint64, before, after string, old *Surface) *experiment {
	e := &experiment{rand: rand.New(rand.NewPCG(seed, 1))}
	for dir, to := range map[string]struct {
		table **schema.Table
		ref   *schema.Ref
	}{before: {&e.old, &e.from}, after: {&e.now, &e.to}} {
		m, err := generator.Load(dir)
		if err != nil {
			return nil
		}
		for _, gv := range m.GroupVersions {
			if gv.Dir == "shop/v1" {
				*to.table, *to.ref = gv.Table, gv.Table.Root("Order")
			}
		}
	}
	k := old.kinds["shop/v1.Order"]
	if e.old == nil || e.now == nil || e.from < 0 || e.to < 0 || k == nil {
		return nil
	}
	e.shape = k.shape
	return e
}

// read decodes an object as a server does; no text for a refused one.
func read(t *schema.Table, ref schema.Ref, text []byte) (stored []byte, refused string) {
	var hooks []func(document.Value)
	for i := range t.Types {
		if t.Types[i].Hook > 0 {
			hooks = append(hooks, func(document.Value) {})
		}
	}
	d := document.Decoder{Table: t, Defaults: hooks}
	doc, _, err := d.Decode(ref, text)
	if err != nil {
		return nil, err.Error()
	}
	defer doc.Release()
	if causes := document.Validate(doc.Root(), nil); len(causes) > 0 {
		return nil, causes[0].Field + ": " + causes[0].Message
	}
	return doc.Root().AppendJSON(nil), ""
}

// broken tries some objects, and returns the first thing that breaks.
func (e *experiment) broken(objects int) string {
	accepted := 0
	for range objects {
		text, _ := json.Marshal(map[string]any{"apiVersion": "shop.example.org/v1", "kind": "Order", "metadata": map[string]any{"name": "a"}, "spec": e.draw(e.shape.property("spec").shape, 0), "status": map[string]any{"phase": "Sent"}})
		was, refused := read(e.old, e.from, text)
		if refused != "" {
			continue
		}
		accepted++
		if why := e.differs(text, was); why != "" {
			return fmt.Sprintf("%s: %s", text, why)
		}
	}
	if accepted == 0 {
		return ""
	}
	return ""
}

// differs is the difference that a client of the old side sees.
func (e *experiment) differs(sent, was []byte) string {
	is, refused := read(e.now, e.to, sent)
	if refused != "" {
		return "the request is refused: " + refused
	}
	if why := e.unlike(was, is); why != "" {
		return "the answer differs: " + why
	}
	shown, refused := read(e.now, e.to, was)
	if refused != "" {
		return "the stored object is refused: " + refused
	}
	if why := e.unlike(was, shown); why != "" {
		return "the stored object differs: " + why
	}
	before, after := codec.NewBinary(e.old), codec.NewBinary(e.now)
	bytes, err := before.Append(nil, e.from, was)
	if err != nil {
		return ""
	}
	own, err := before.Decode(e.from, bytes)
	if err != nil {
		return ""
	}
	theirs, err := after.Decode(e.to, bytes)
	if err != nil {
		return "the binary request is refused: " + err.Error()
	}
	if why := e.unlike(own, theirs); why != "" {
		return "the binary request differs: " + why
	}
	if bytes, err = after.Append(nil, e.to, is); err != nil {
		return ""
	}
	if theirs, err = before.Decode(e.from, bytes); err != nil {
		return "the binary answer cannot be read: " + err.Error()
	}
	if why := e.unlike(own, theirs); why != "" {
		return "the binary answer differs: " + why
	}
	return ""
}

// unlike compares two objects in the members that the old client knows.
func (e *experiment) unlike(a, b []byte) string {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "not JSON"
	}
	x, y = known(e.shape, x), known(e.shape, y)
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return fmt.Sprintf("%v and %v", x, y)
}

// known leaves the members of a value that a shape has.
func known(t *shape, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if t.kind == "any" {
			return v
		}
		left := map[string]any{}
		for name, member := range v {
			if t.kind == "map" {
				left[name] = known(t.elem.shape, member)
			} else if m := t.property(name); m != nil {
				left[name] = known(m.shape, member)
			}
		}
		return left
	case []any:
		left := []any{}
		for _, element := range v {
			if t.elem != nil {
				left = append(left, known(t.elem.shape, element))
			}
		}
		return left
	}
	return v
}

// draw makes a value near the bounds of a shape.
func (e *experiment) draw(t *shape, depth int) any {
	switch t.kind {
	case "object":
		v := map[string]any{}
		for _, m := range t.members {
			if m.required || e.rand.IntN(3) > 0 {
				v[m.name] = e.draw(m.shape, depth+1)
			}
		}
		if len(t.oneOf) > 0 {
			for _, name := range t.oneOf[1:] {
				delete(v, name)
			}
		}
		return v
	case "list":
		list := []any{}
		for range min(max(t.least, e.rand.IntN(4)), t.most) {
			list = append(list, e.draw(t.elem.shape, depth+1))
		}
		if e.rand.IntN(3) == 0 && t.most < 20 {
			for len(list) < t.most {
				list = append(list, e.draw(t.elem.shape, depth+1))
			}
		}
		return list
	case "map":
		v := map[string]any{}
		for range min(e.rand.IntN(3), t.most) {
			v[pick(e.rand, "a", "b", "c.d", "E_f")] = e.draw(t.elem.shape, depth+1)
		}
		for i := 0; t.most < 20 && len(v) < t.most && e.rand.IntN(2) == 0; i++ {
			v[fmt.Sprint("k", i)] = e.draw(t.elem.shape, depth+1)
		}
		return v
	case "any":
		return map[string]any{"x": []any{1.0, "y"}}
	case "boolean":
		return e.rand.IntN(2) == 0
	case "int32", "int64":
		low, high := max(t.low.at, -1000), min(-t.high.at, 1000)
		return math.Floor(pick(e.rand, low, high, low+1, high-1, low+e.rand.Float64()*(high-low), 0))
	case "number":
		return pick(e.rand, max(t.low.at, -10), min(-t.high.at, 10)-0.5, 0.25)
	}
	return e.text(t)
}

func (e *experiment) text(t *shape) any {
	switch t.kind {
	case "quantity":
		return pick(e.rand, "1", "100m", "1Gi", "0.0001")
	case "date-time":
		return "2026-11-22T10:00:00Z"
	case "micro-time":
		return "2026-11-22T10:00:00.000000Z"
	case "byte":
		return "aGFsbG8="
	}
	if len(t.enum) > 0 {
		return pick(e.rand, t.enum...)
	}
	least, most := max(t.text.least, 1), min(t.text.most, t.bytes, 80)
	return pick(e.rand, strings.Repeat("a", least), strings.Repeat("z", most), "a", "m1", "web-7", "Größe", "9", "a.b", "Ab", "", "none", strings.Repeat("q", 1+e.rand.IntN(most)))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
