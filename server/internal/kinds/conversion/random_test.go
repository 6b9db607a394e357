package conversion_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/capstan-dev/capstan/internal/schema"
)

// random writes values of any type of a table.
type random struct {
	*rand.Rand
	table *schema.Table
}

var texts = []string{"", "a", "cpu", "Resource", "Pods", "é<&>\"\\", "two words"}

func (r random) pick(words ...string) string { return words[r.IntN(len(words))] }

// deepest bounds the nesting of objects.
const deepest = 7

func (r random) value(dst []byte, ref schema.Ref, depth int) []byte {
	t := &r.table.Types[ref]
	switch t.Kind {
	case schema.Object:
		return r.object(dst, t, depth)
	case schema.Map, schema.List:
		open, end := byte('['), byte(']')
		if t.Kind == schema.Map {
			open, end = '{', '}'
		}
		dst = append(dst, open)
		for i := range r.IntN(4) {
			if depth > deepest {
				break
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			if t.Kind == schema.Map {
				dst = fmt.Appendf(dst, `"k%d":`, i)
			}
			dst = r.value(dst, t.Elem, depth+1)
		}
		return append(dst, end)
	case schema.String:
		return strconv.AppendQuote(dst, r.pick(texts...))
	case schema.Bytes:
		return append(dst, r.pick(`""`, `"AQID"`)...)
	case schema.Boolean:
		return strconv.AppendBool(dst, r.IntN(2) == 0)
	case schema.Integer:
		return strconv.AppendInt(dst, int64(r.IntN(5)), 10)
	case schema.Number:
		return append(dst, r.pick("0", "1.5")...)
	case schema.IntOrString:
		return append(dst, r.pick("0", "7", `"25%"`)...)
	case schema.Quantity:
		return append(dst, r.pick(`"0"`, `"100m"`, `"1Gi"`, `"3"`)...)
	case schema.Time:
		return append(dst, `"2020-01-02T03:04:05Z"`...)
	case schema.MicroTime:
		return append(dst, `"2020-01-02T03:04:05.000006Z"`...)
	case schema.Duration:
		return append(dst, r.pick(`"0s"`, `"1m30s"`)...)
	}
	return append(dst, r.pick(`{"f:a":{}}`, `{}`, `[1]`)...)
}

func (r random) object(dst []byte, t *schema.Type, depth int) []byte {
	dst = append(dst, '{')
	first := true
	for i := range t.Fields {
		f := &t.Fields[i]
		if r.IntN(3) == 0 || depth > deepest {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(strconv.AppendQuote(dst, f.Name), ':')
		dst = r.value(dst, f.Type, depth+1)
	}
	return append(dst, '}')
}
