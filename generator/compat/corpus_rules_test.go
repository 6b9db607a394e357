package compat

// ruleRows are rules in other words, and for new fields.
var ruleRows = []row{
	change("an expression is two expressions", "", order, `    - {at: copies, finds: 'self.copies > 7 ? "too many" : ""'}`,
		"    - {at: copies, finds: 'self.copies > 7 && self.state == \"Paid\" ? \"too many\" : \"\"'}\n    - {at: copies, finds: 'self.copies > 7 && self.state != \"Paid\" ? \"too many\" : \"\"'}"),
	since("two expressions are one", "", order, `    - {at: copies, finds: 'self.copies > 7 ? "too many" : ""'}`,
		"    - {at: copies, finds: 'self.copies > 7 ? \"too many\" : \"\"'}\n    - {at: copies, finds: 'self.seconds > 7 ? \"too long\" : \"\"'}",
		`    - {at: copies, finds: 'self.copies > 7 || self.seconds > 7 ? "too much" : ""'}`),
	change("an expression is written from the right", "", order, `self.copies > 7 ?`, `7 < self.copies ?`),
	{name: "a rule for objects with a new field", want: "", now: []edit{{order, last, last + "      more: {description: Words for others., type: string}\n"},
		{order, "    x-cluster-rules:\n", "    x-cluster-rules:\n    - {if: {more: set}, then: {note: set}, why: more needs words}\n"}}},
	{name: "a rule for objects without a new field", want: "E:rule-added", now: []edit{{order, last, last + "      more: {description: Words for others., type: string}\n"},
		{order, "    x-cluster-rules:\n", "    x-cluster-rules:\n    - {if: {more: unset}, then: {note: set}, why: words or more}\n"}}},
	{name: "a rule for objects with a new field that has a default", want: "E:rule-added", now: []edit{{order, last, last + "      more: {description: Words for others., type: string, default: a}\n"},
		{order, "    x-cluster-rules:\n", "    x-cluster-rules:\n    - {if: {more: set}, then: {note: set}, why: more needs words}\n"}}},
}
