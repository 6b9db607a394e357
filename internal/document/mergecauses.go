package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// MergeCauses merges two lists of causes about v. Each keeps its order; between the next
// of each, the order that the type declares decides. Where it declares none, the member
// that is declared first goes first, and an element or a member before its container.
// Causes of a that causes of b hide are left out.
func MergeCauses(v Value, a, b []schema.Cause) []schema.Cause {
	a = withoutHidden(a, b)
	if len(a) == 0 || len(b) == 0 {
		return append(slices.Clip(a), b...)
	}
	table, typ := v.Type()
	out := make([]schema.Cause, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if comparePlaces(table, typ, placedCause{b[0], b[0].Turn()}, placedCause{a[0], a[0].Turn()}) < 0 {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}

// withoutHidden leaves out the causes at and below the paths that others hide.
func withoutHidden(causes, others []schema.Cause) []schema.Cause {
	for _, o := range others {
		if o.Hides == "" {
			continue
		}
		causes = slices.DeleteFunc(slices.Clone(causes), func(c schema.Cause) bool {
			rest, below := strings.CutPrefix(c.Field, o.Hides)
			return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	}
	return causes
}

// comparePlaces orders two causes below a value of the type. It is 0 where the schema has
// no order.
func comparePlaces(table *schema.Table, typ schema.Ref, x, y placedCause) int {
	for x.path != y.path || x.cause.Reason != y.cause.Reason {
		if table != nil {
			if order := table.CauseOrders[typ]; order != nil {
				if c := cmp.Compare(causeRank(order, &x), causeRank(order, &y)); c != 0 {
					return c
				}
			}
		}
		if x.path == "" || y.path == "" {
			return cmp.Compare(len(y.path), len(x.path))
		}
		var stepX, stepY string
		stepX, x.path = cutStep(x.path)
		stepY, y.path = cutStep(y.path)
		if stepX != stepY {
			return compareSteps(table, typ, stepX, stepY)
		}
		typ = typeBelow(table, typ, stepX)
	}
	return 0
}

// cutStep cuts the first step off a path: ".name", "name" or "[key]".
func cutStep(path string) (step, rest string) {
	if path[0] == '[' {
		end := strings.IndexByte(path, ']') + 1
		if end == 0 {
			end = len(path)
		}
		return path[:end], path[end:]
	}
	path = strings.TrimPrefix(path, ".")
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end], path[end:]
	}
	return path, ""
}

func compareSteps(table *schema.Table, typ schema.Ref, x, y string) int {
	if strings.HasPrefix(x, "[") || strings.HasPrefix(y, "[") {
		if x[:min(1, len(x))] != y[:min(1, len(y))] {
			return 0
		}
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	}
	if at, other := causeField(table, typ, x), causeField(table, typ, y); at >= 0 && other >= 0 {
		return cmp.Compare(at, other)
	}
	return 0
}

// typeBelow is the type that a step leads to, None where that is not declared.
func typeBelow(table *schema.Table, typ schema.Ref, step string) schema.Ref {
	if table == nil || typ == schema.None {
		return schema.None
	}
	if strings.HasPrefix(step, "[") {
		return table.Types[typ].Elem
	}
	if table.Types[typ].Kind == schema.List { // causes call it by two names, "tolerations.tolerations"
		return typ
	}
	if i := causeField(table, typ, step); i >= 0 {
		return table.Types[typ].Fields[i].Type
	}
	return schema.None
}

// causeField finds the field that has a name in causes, -1 if there is none.
func causeField(table *schema.Table, typ schema.Ref, name string) int {
	if table == nil || typ == schema.None {
		return -1
	}
	t := &table.Types[typ]
	if i := t.Field(name); i >= 0 {
		return i
	}
	return slices.IndexFunc(t.Fields, func(f schema.Field) bool { return f.Rest().CauseName == name })
}
