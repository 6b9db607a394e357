package compat

// field is a change of a member at the end of the specification, by its keywords.
func field(name, want, old, now string) row {
	line := func(keys string) string { return last + "      more: {description: Words for others., " + keys + "}\n" }
	return since(name, want, order, last, line(old), line(now))
}

// cornerRows are keywords next to others, and keywords in keywords.
var cornerRows = []row{
	field("names of a map next to long values", "E:rule-added", "additionalProperties: {type: string, minLength: 1, maxLength: 40}",
		`additionalProperties: {type: string, minLength: 1, maxLength: 40}, propertyNames: {pattern: "^[a-z]+$"}`),
	field("names of a map next to bounded values", "E:rule-added", "additionalProperties: {type: integer, minimum: 1, maximum: 9}",
		`additionalProperties: {type: integer, minimum: 1, maximum: 9}, propertyNames: {maxLength: 5}`),
	field("values by names next to bounded values", "E:rule-added", `additionalProperties: {type: integer}, patternProperties: {"^x": {type: integer, minimum: 1, maximum: 9}}`,
		`additionalProperties: {type: integer}, patternProperties: {"^x": {type: integer, minimum: 1, maximum: 5}}`),
	field("values by names next to texts of a length", "E:rule-added", `additionalProperties: {type: string}, patternProperties: {"^x": {type: string, minLength: 1, maxLength: 40}}`,
		`additionalProperties: {type: string}, patternProperties: {"^x": {type: string, minLength: 1, maxLength: 5}}`),
	since("fewer members next to a needed one", "E:bounds-tightened", order, "  Box:\n", "  Box:\n    dependentRequired: {width: [height]}\n", "  Box:\n    dependentRequired: {width: [height]}\n    maxProperties: 1\n"),
	since("a needed member next to a count", "E:rule-added", order, "  Box:\n", "  Box:\n    maxProperties: 1\n", "  Box:\n    maxProperties: 1\n    dependentRequired: {width: [height]}\n"),
	field("a schema of elements in a schema", "E:rule-added", "items: {type: string, minLength: 1}", "items: {type: string, minLength: 1}, allOf: [{contains: {maxLength: 3}}]"),
	field("a schema of long lists", "E:rule-added", "items: {type: string, minLength: 1}, maxItems: 50", "items: {type: string, minLength: 1}, maxItems: 50, contains: {maxLength: 3}"),
	field("a schema of no elements", "E:rule-added", "items: {type: integer, minimum: 0, maximum: 9}", "items: {type: integer, minimum: 0, maximum: 9}, not: {contains: {minimum: 8}}"),
	field("values of a map in a schema", "E:rule-added", "additionalProperties: {type: string}", "additionalProperties: {type: string}, allOf: [{additionalProperties: {maxLength: 5}}]"),
	field("values of a map in a condition", "E:rule-added", "additionalProperties: {type: string, minLength: 1}",
		"additionalProperties: {type: string, minLength: 1}, if: {minProperties: 2}, then: {additionalProperties: {maxLength: 5}}"),
	since("other members in a schema", "E:rule-added", order, "  Box:\n", "  Box:\n", "  Box:\n    allOf: [{additionalProperties: {maximum: 5}}]\n"),
	field("names in any JSON", "E:rule-added", "x-cluster-preserve-unknown-fields: true, x-cluster-binary-form: raw",
		`x-cluster-preserve-unknown-fields: true, x-cluster-binary-form: raw, propertyNames: {pattern: "^[a-z]+$"}`),
	field("elements in any JSON", "E:rule-added", "x-cluster-preserve-unknown-fields: true, x-cluster-binary-form: raw",
		`x-cluster-preserve-unknown-fields: true, x-cluster-binary-form: raw, contains: {const: 1}`),
	field("a schema of any JSON in other words", "", "x-cluster-preserve-unknown-fields: true, x-cluster-binary-form: raw, propertyNames: {maxLength: 5}",
		`x-cluster-preserve-unknown-fields: true, x-cluster-binary-form: raw, allOf: [{propertyNames: {maxLength: 5}}]`),
	field("names under a check of names", "", "additionalProperties: {type: string}, x-cluster-keys: dns1123-label",
		`additionalProperties: {type: string}, x-cluster-keys: dns1123-label, propertyNames: {pattern: "^[-a-z0-9]+$"}`),
	field("names under a check of names, bounded", "", "additionalProperties: {type: string}, x-cluster-keys: dns1123-label",
		`additionalProperties: {type: string}, x-cluster-keys: dns1123-label, propertyNames: {minLength: 1, maxLength: 63}`),
	field("names beyond a check of names", "E:rule-added", "additionalProperties: {type: string}, x-cluster-keys: dns1123-label",
		`additionalProperties: {type: string}, x-cluster-keys: dns1123-label, propertyNames: {pattern: "^[a-z]+$"}`),
	field("a length under words", "", "type: string, enum: [One, Two]", "type: string, enum: [One, Two], minLength: 1"),
	field("a length where a pattern needs a character", "", `type: string, pattern: "^[a-z]"`, `type: string, pattern: "^[a-z]", minLength: 1`),
	field("a length where a text in a schema needs a character", "", `type: string, anyOf: [{enum: [a, b]}, {pattern: "^x"}]`, `type: string, anyOf: [{enum: [a, b]}, {pattern: "^x"}], minLength: 1`),
	field("a length where no text is none", "", "type: string", "type: string, minLength: 1"),
	field("a length where any text is kept", "E:bounds-tightened", "type: string, x-cluster-presence: explicit", "type: string, x-cluster-presence: explicit, minLength: 1"),
	field("no text is judged by rules, without any", "", "type: string", "type: string, x-cluster-missing: by-rules"),
	field("no text is judged by a pattern", "E:field-required", `type: string, pattern: "^x"`, `type: string, pattern: "^x", x-cluster-missing: by-rules`),
	field("no text is judged by a pattern that takes it", "", `type: string, pattern: "^x?$"`, `type: string, pattern: "^x?$", x-cluster-missing: by-rules`),
	field("no text is judged by a check", "E:field-required", "type: string, x-cluster-format: dns1123-label", "type: string, x-cluster-format: dns1123-label, x-cluster-missing: by-rules"),
	field("no text is judged by words", "E:field-required", "type: string, enum: [One, Two]", "type: string, enum: [One, Two], x-cluster-missing: by-rules"),
	field("no number is judged by a bound", "E:field-required", "type: integer, minimum: 1", "type: integer, minimum: 1, x-cluster-missing: by-rules"),
	field("no number is judged by a bound that takes 0", "", "type: integer, maximum: 9", "type: integer, maximum: 9, x-cluster-missing: by-rules"),
	field("a bound that a constant keeps", "", "type: integer, enum: [1, 2]", "type: integer, enum: [1, 2], minimum: 1"),
	field("a schema has a title", "", "type: string, anyOf: [{maxLength: 5}, {pattern: \"^x\"}]", "type: string, anyOf: [{maxLength: 5, title: Short}, {pattern: \"^x\", description: Named.}]"),
}
