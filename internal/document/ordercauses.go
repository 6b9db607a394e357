package document

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// OrderCauses sorts causes about v by the orders that their types declare. Types that
// declare none keep the causes below them as they are.
func OrderCauses(v Value, causes []schema.Cause) []schema.Cause {
	table, typ := v.Type()
	if len(causes) < 2 || table == nil || len(table.CauseOrders) == 0 {
		return causes
	}
	placed := make([]placedCause, len(causes))
	for i, c := range causes {
		placed[i] = placedCause{c, c.Turn()}
	}
	orderCauses(table, typ, placed)
	ordered := make([]schema.Cause, len(causes))
	for i, p := range placed {
		ordered[i] = p.cause
	}
	return ordered
}

// placedCause is a cause with the rest of its path, below the current value.
type placedCause struct {
	cause schema.Cause
	path  string
}

// orderCauses orders by the rank below a value of the type first, then causes of one rank
// and one next step by the type there.
func orderCauses(table *schema.Table, typ schema.Ref, causes []placedCause) {
	if len(causes) < 2 || typ == schema.None {
		return
	}
	order := table.CauseOrders[typ]
	if order != nil {
		slices.SortStableFunc(causes, func(a, b placedCause) int { return causeRank(order, &a) - causeRank(order, &b) })
	}
	type group struct {
		step string
		rank int
	}
	places := map[group][]int{}
	for i := range causes {
		if path := causes[i].path; path != "" {
			step, rest := cutStep(path)
			at := group{step, causeRank(order, &causes[i])}
			causes[i].path = rest
			places[at] = append(places[at], i)
		}
	}
	for at, where := range places {
		below := make([]placedCause, len(where))
		for i, place := range where {
			below[i] = causes[place]
		}
		orderCauses(table, typeBelow(table, typ, at.step), below)
		for i, place := range where {
			causes[place] = below[i]
		}
	}
}

// causeRank is the position in an order of the longest path that leads to a cause, or
// equals it. "." is the value itself, "x[]" anything in x, "x: FieldValueInvalid" a cause of
// that reason in x, which counts before x alone; other paths come last.
func causeRank(order []string, c *placedCause) int {
	path := withoutKeys(strings.TrimPrefix(c.path, "."))
	rank, length := len(order), 0
	for i, at := range order {
		at, reason, only := strings.Cut(at, ": ")
		if only && reason != c.cause.Reason {
			continue
		}
		if rest, ok := strings.CutPrefix(path, at); ok && (len(at) > length || only && len(at) == length) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			rank, length = i, len(at)
		}
	}
	return rank
}

// withoutKeys leaves out the content of brackets in a path; the empty path becomes ".".
func withoutKeys(path string) string {
	if path == "" {
		return "."
	}
	var bare strings.Builder
	for {
		before, key, found := strings.Cut(path, "[")
		bare.WriteString(before)
		if !found {
			return bare.String()
		}
		bare.WriteString("[]")
		_, path, _ = strings.Cut(key, "]")
	}
}
