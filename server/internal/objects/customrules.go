package objects

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// hidingRules are the reasons of causes with which the rules of a custom resource are not
// evaluated, as in 1.25: a value may be missing, of another type, or too large. From 1.29 on
// a value that its enumeration lacks hides them too.
var hidingRules = []string{schema.CauseRequired, schema.CauseTooLong, schema.CauseTooMany, schema.CauseTypeInvalid}

// ruled reports whether the objects of a type have rules, which may take up to a second.
func ruled(row *catalog.Row) bool { return row.Definition != nil && row.Definition.Rules != nil }

// checkRules adds the causes of the rules of a custom resource. forgiven says that the
// object breaks its schema in accepted ways.
func (e *Evaluation) checkRules(row *catalog.Row, old document.Value, causes []schema.Cause, forgiven bool) []schema.Cause {
	if !ruled(row) {
		return causes
	}
	rules := row.Definition.Rules()
	if rules == nil {
		return causes
	}
	hides := func(c schema.Cause) bool {
		return slices.Contains(hidingRules, c.Reason) || c.Reason == schema.CauseNotSupported && e.s.since("1.29")
	}
	if slices.ContainsFunc(causes, hides) {
		return append(causes, schema.Cause{Reason: schema.CauseInvalid, Field: "<nil>",
			Message: `Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`})
	}
	broken := rules.Check(e.ctx, e.obj, old, forgiven || len(causes) > 0)
	e.warnings = append(e.warnings, broken.Forgiven...)
	return append(causes, broken.Causes...)
}

// acceptRepeated drops the causes about elements of lists that repeat others: 1.25 accepts
// these in the status of custom resources, where controllers may add a condition twice.
func acceptRepeated(causes []schema.Cause) []schema.Cause {
	return slices.DeleteFunc(causes, func(c schema.Cause) bool { return c.Reason == schema.CauseDuplicate })
}
