package definitions

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Limits of the estimated costs of rules.
const (
	maxRuleCost   = 10_000_000  // of one rule, for all values that it may be applied to
	maxSchemaCost = 100_000_000 // of all rules of a schema
	// shownCosts is the number of rules that a cause for the whole schema names, of those
	// with a hundredth of the limit or more.
	shownCosts = 4
)

// ruleJudge finds the causes of a schema's rules: wrong expressions, and too high costs.
type ruleJudge struct {
	causes
	schemaCauses []schema.Cause // of the schema itself
	accepted     bool           // the schema is that of the stored definition: its rules may cost more
	total        uint64
	costs        []ruleCost
}

type ruleCost struct {
	path string
	cost uint64
}

// many is a number of values, or that there is no bound.
type many struct {
	n         uint64
	unbounded bool
}

func (m many) times(n uint64) uint64 {
	high, low := bits.Mul64(m.n, n)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// judge finds the causes of the rules of a schema.
func (j *ruleJudge) judge(r *ruleset, s document.Value, at *fieldPath) {
	j.part(r, s, at, nil, many{n: 1})
	if j.total > maxSchemaCost {
		for _, c := range j.costs {
			j.Forbidden(c.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema")
		}
		j.Forbidden(at.text(), tooCostly(extValidations+" estimated rule cost total for entire OpenAPIv3 schema", j.total, maxSchemaCost))
	}
}

// part judges a part of a schema and all below it. apart is the list in which old and new
// values cannot be matched, nil for none; count is the number of values of the part.
func (j *ruleJudge) part(r *ruleset, s document.Value, at, apart *fieldPath, count many) {
	if r == nil {
		return
	}
	below := count
	additional, items := s.Get("additionalProperties"), s.Get("items")
	switch kind := s.Get("type").Text(); {
	case kind == "object" && isSet(additional):
		below = count.in(s, "maxProperties")
	case kind == "array":
		below = count.in(s, "maxItems")
	}
	if additional.Kind() == document.Object {
		j.part(r.elem, additional, at.member("additionalProperties"), apart, below)
	}
	for _, f := range r.fields {
		j.part(f.ruleset, s.Get("properties").Get(f.name), at.member("properties").key(f.name), apart, below)
	}
	if items.Kind() == document.Object {
		inList := apart
		if apart == nil && !s.Get(extListType).Equals("map") {
			inList = at
		}
		j.part(r.elem, items, at.member("items"), inList, below)
	}
	if rules := s.Get(extValidations); rules.Len() > 0 && !j.wrongBelow(at.text()) {
		j.own(r, rules, at.member(extValidations), apart, count)
	}
}

// in is the number of values in so many lists or maps with a bound.
func (m many) in(s document.Value, most string) many {
	if m.unbounded || !isSet(s.Get(most)) {
		return many{unbounded: true}
	}
	return many{n: m.times(uint64(bound(s, most, 0)))}
}

// wrongBelow reports whether a schema, or one below it, has causes: then its rules are not
// compiled, since their mistakes may be consequences.
func (j *ruleJudge) wrongBelow(path string) bool {
	return slices.ContainsFunc(j.schemaCauses, func(c schema.Cause) bool {
		return len(c.Field) >= len(path) && c.Field[:len(path)] == path && (len(c.Field) == len(path) || c.Field[len(path)] == '.' || c.Field[len(path)] == '[')
	})
}

// own judges the rules of one part.
func (j *ruleJudge) own(r *ruleset, rules document.Value, at, apart *fieldPath, count many) {
	switch {
	case r.is.Kind == expression.Opaque:
		j.Add(schema.CauseInternal, at.text(), "Internal error: internal error: failed to construct type information for "+extValidations+
			" rules: unable to convert structural schema to CEL declarations")
		return
	case r.failed != nil:
		j.Add(schema.CauseInternal, at.text(), "Internal error: "+r.failed.Error())
		return
	}
	if count.unbounded {
		count = many{n: uint64(maxRequest / (r.is.MinSize + 1))}
	}
	for i := range r.rules {
		j.one(&r.rules[i], rules.Index(i), at.index(i), apart, count)
	}
}

func (j *ruleJudge) one(r *rule, sent document.Value, at, apart *fieldPath, count many) {
	path := at.member("rule").text
	if r.program != nil {
		j.cost("estimated rule cost", path(), count.times(r.program.Cost))
	}
	if r.problem != nil {
		j.wrong(r, path(), map[expression.ProblemKind]string{expression.SyntaxProblem: "compilation failed: " + r.problem.Detail,
			expression.ResultProblem: "cel expression must evaluate to a bool",
			expression.PlanProblem:   "program instantiation failed: " + r.problem.Detail}[r.problem.Kind])
	}
	if says := at.member("messageExpression").text; r.saysProblem != nil {
		j.wrong(r, says(), map[expression.ProblemKind]string{expression.SyntaxProblem: "messageExpression compilation failed: " + r.saysProblem.Detail,
			expression.ResultProblem: "messageExpression must evaluate to a string",
			expression.PlanProblem:   "messageExpression instantiation failed: " + r.saysProblem.Detail}[r.saysProblem.Kind])
	} else if r.says != nil {
		j.cost("estimated messageExpression cost", says(), r.says.Cost)
	}
	switch {
	case r.transition && apart != nil:
		j.InvalidText(path(), r.text, "oldSelf cannot be used on the uncorrelatable portion of the schema within "+apart.text())
	case !r.transition && isSet(sent.Get("optionalOldSelf")):
		j.InvalidAt(at.member("optionalOldSelf").text(), sent.Get("optionalOldSelf"), "may not be set if oldSelf is not used in rule")
	}
}

// wrong adds the cause of a wrong expression. The value is shown as 1.25 shows it.
func (j *ruleJudge) wrong(r *rule, path, why string) {
	j.Add(schema.CauseInvalid, path, "Invalid value: apiextensions.ValidationRule{Rule:"+strconv.Quote(r.text)+", Message:"+strconv.Quote(r.message)+"}: "+why)
}

// cost adds an estimate to the total, and the cause of one above the limit.
func (j *ruleJudge) cost(what, path string, cost uint64) {
	if cost > maxRuleCost && !j.accepted {
		j.Forbidden(path, tooCostly(what, cost, maxRuleCost))
	}
	if j.total += cost; j.total < cost {
		j.total = math.MaxUint64
	}
	if cost >= maxSchemaCost/100 {
		j.costs = append(j.costs, ruleCost{path, cost})
		slices.SortStableFunc(j.costs, func(a, b ruleCost) int { return cmp.Compare(b.cost, a.cost) })
		j.costs = j.costs[:min(len(j.costs), shownCosts)]
	}
}

func tooCostly(what string, cost, limit uint64) string {
	factor, by := float64(cost)/float64(limit), ""
	switch {
	case factor > 100:
		by = "more than 100x"
	case factor < 1.5:
		by = fmt.Sprintf("%fx", factor)
	default:
		by = fmt.Sprintf("%.1fx", factor)
	}
	return what + " exceeds budget by factor of " + by + " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
}
