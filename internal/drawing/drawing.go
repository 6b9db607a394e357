package drawing

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Drawing draws values of the types of a table.
type Drawing struct {
	*rand.Rand
	Table   *schema.Table
	Texts   []string  // which texts are mostly taken from, where they are allowed
	Numbers []float64 // the same
	Deepest int       // nesting of objects
	omitted int       // of six members, how many are left out of objects
	known   map[string]pattern
	hints   map[member][]string
	made    []string // texts of patterns in the value that is drawn: several members may have one
}

// New draws from a seed.
func New(t *schema.Table, seed uint64) *Drawing {
	return &Drawing{known: map[string]pattern{}, hints: hints(t), Rand: rand.New(rand.NewPCG(seed, 0)), Table: t, Deepest: 7,
		Texts: []string{"", "a", "cpu", "Resource", "Pods", "é<&>\"\\", "two words", "web", "x-1"}, Numbers: []float64{0, 1, 2, 3, 4}}
}

// Value is the JSON of a value of a type.
func (d *Drawing) Value(ref schema.Ref) []byte {
	d.made, d.omitted = d.made[:0], pick(d, 0, 2, 2, 4)
	return d.value(nil, ref, 0)
}

func pick[T any](d *Drawing, from ...T) T { return from[d.IntN(len(from))] }

func (d *Drawing) value(dst []byte, ref schema.Ref, depth int) []byte {
	if ref < 0 {
		return append(dst, "{}"...)
	}
	t := &d.Table.Types[ref]
	r := rulesOf(t)
	switch t.Kind {
	case schema.Object:
		return d.object(dst, ref, depth)
	case schema.Map, schema.List:
		return d.elements(dst, t, r, depth)
	case schema.String:
		return strconv.AppendQuote(dst, d.text(r))
	case schema.Bytes:
		return append(dst, pick(d, `""`, `"AQID"`)...)
	case schema.Boolean:
		return strconv.AppendBool(dst, d.IntN(2) == 0)
	case schema.Integer:
		return strconv.AppendInt(dst, int64(d.number(r, true)), 10)
	case schema.Number:
		return strconv.AppendFloat(dst, d.number(r, false), 'f', -1, 64)
	case schema.IntOrString:
		return append(dst, pick(d, "0", "7", `"25%"`, `"web"`)...)
	case schema.Quantity:
		return append(dst, pick(d, `"0"`, `"100m"`, `"1Gi"`, `"3"`)...)
	case schema.Time:
		return append(dst, pick(d, `"2020-01-02T03:04:05Z"`, `"2024-02-29T12:30:00Z"`)...)
	case schema.MicroTime:
		return append(dst, `"2020-01-02T03:04:05.000006Z"`...)
	case schema.Duration:
		return append(dst, pick(d, `"0s"`, `"1m30s"`)...)
	}
	return append(dst, pick(d, `{"f:a":{}}`, `{}`, `[1]`)...)
}

// rulesOf are the rules of a type, empty for none.
func rulesOf(t *schema.Type) *schema.Rules {
	if t.Rules == nil {
		return &schema.Rules{}
	}
	return t.Rules
}

func (d *Drawing) elements(dst []byte, t *schema.Type, r *schema.Rules, depth int) []byte {
	open, end := byte('['), byte(']')
	if t.Kind == schema.Map {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	n := max(d.IntN(4), int(r.MinItems))
	if r.MaxItems > 0 {
		n = min(n, int(r.MaxItems))
	}
	if depth > d.Deepest || n > 100 {
		n = int(min(r.MinItems, 100))
	}
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if t.Kind == schema.Map {
			dst = fmt.Appendf(dst, `"k%d":`, i)
		}
		dst = d.value(dst, t.Elem, depth+1)
	}
	return append(dst, end)
}

// object has some of its members, and those that it needs.
func (d *Drawing) object(dst []byte, ref schema.Ref, depth int) []byte {
	t := &d.Table.Types[ref]
	dst = append(dst, '{')
	first := true
	for i := range t.Fields {
		f := &t.Fields[i]
		if !f.Required && (d.IntN(6) < d.omitted || depth > d.Deepest) || depth > d.Deepest+20 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(strconv.AppendQuote(dst, f.Name), ':')
		if texts := d.hints[member{ref, f.Name}]; len(texts) > 0 && d.IntN(3) > 0 {
			dst = strconv.AppendQuote(dst, pick(d, texts...))
		} else {
			dst = d.value(dst, f.Type, depth+1)
		}
	}
	return append(dst, '}')
}
