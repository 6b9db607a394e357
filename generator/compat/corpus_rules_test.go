package compat

import "strings"

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

// renamed are two versions of coupons, whose word is the code of the other.
func renamed(keys, hooks string) []edit {
	return []edit{
		{"schemas/shop/v1alpha1/Coupon.yaml", "", `description: A discount for one order.
properties:
  metadata: {}
  spec: {description: The discount.}
$defs:
  CouponSpec:
    description: How much is taken off.
    properties:
      percent: {description: Part of the price that is taken off., format: int32, minimum: 1, maximum: 100}
      word: {description: Text that the customer types., type: string, maxLength: 20}
`},
		{alpha1, "paths:", "  coupons:\n    kind: Coupon\n    scope: Namespaced\n    storedAs: shop/v1beta1/Coupon\n" + hooks + "paths:"},
		{coupon, "maxLength: 20", "maxLength: 20" + keys},
	}
}

// renameRows are names of a field in other versions.
var renameRows = []row{
	{name: "a field is that of another version by hand", want: "W:field-rename-by-hook", before: renamed(", x-cluster-renamed-from: word", ""), now: renamed("", "    hooks: [convert]\n")},
	{name: "a field is no longer that of another version", want: "E:field-rename-dropped", before: renamed(", x-cluster-renamed-from: word", ""), now: renamed("", "    carries: [.spec.code, .spec.word]\n")},
	{name: "a field is that of another version", want: "", before: renamed("", "    hooks: [convert]\n"), now: renamed(", x-cluster-renamed-from: word", "")},
	{name: "a field was that of another version, which is gone", want: "W:resource-removed", before: renamed(", x-cluster-renamed-from: word", "")},
}

// versioned are the two versions of coupons, of which one allows other words.
func versioned(keys string) []edit {
	all := renamed(", x-cluster-renamed-from: word", "")
	all[0].new = strings.Replace(all[0].new, "maxLength: 20", keys, 1)
	return all
}

// gapRows are values that not all versions of a kind allow.
var gapRows = []row{
	{name: "a version allows what the stored one refuses", want: "W:version-values", before: versioned("maxLength: 20"), now: versioned("maxLength: 30")},
	{name: "a version refuses what the stored one allows", want: "W:bounds-tightened W:version-values", before: versioned("maxLength: 20"), now: versioned("maxLength: 10")},
	{name: "a version allowed what the stored one refuses", want: "", before: versioned("maxLength: 30"), now: versioned("maxLength: 40")},
	{name: "a version no longer allows what the stored one refuses", want: "W:bounds-tightened", before: versioned("maxLength: 30"), now: versioned("maxLength: 20")},
	{name: "a new version allows what the stored one refuses", want: "W:version-values", now: versioned("maxLength: 30")},
	{name: "a new version allows what the stored one allows", want: "", now: versioned("maxLength: 20")},
	{name: "a version may lack what the stored one requires", want: "W:field-presence-changed W:version-values", before: append(versioned("maxLength: 20"), both...), now: append(versioned("maxLength: 20"), both[0])},
	{name: "a new version requires what the stored one may lack", want: "W:version-values", now: append(versioned("maxLength: 20"), edit{"schemas/shop/v1alpha1/Coupon.yaml", "    properties:\n      percent", "    required: [word]\n    properties:\n      percent"})},
	{name: "a new version requires a number, which is shown as 0", want: "", now: append(versioned("maxLength: 20"), both[1], edit{coupon, "minimum: 1, ", ""}, edit{"schemas/shop/v1alpha1/Coupon.yaml", "minimum: 1, ", ""})},
	{name: "a new version requires a number, which is shown as a 0 that it refuses", want: "W:version-values", now: append(versioned("maxLength: 20"), both[1])},
	{name: "a new version has a rule", want: "W:version-values", now: append(versioned("maxLength: 20"), edit{"schemas/shop/v1alpha1/Coupon.yaml", "    properties:\n      percent", "    x-cluster-rules: [{if: {word: set}, then: {percent: set}}]\n    properties:\n      percent"})},
	{name: "a new version lacks a rule", want: "E:rule-added W:version-values", now: append(versioned("maxLength: 20"), edit{coupon, "    properties:\n      percent", "    x-cluster-rules: [{if: {percent: set}, then: {code: set}}]\n    properties:\n      percent"})},
	{name: "a new version has the rule, with its name of a field", want: "E:rule-added", now: append(versioned("maxLength: 20"), edit{coupon, "    properties:\n      percent", "    x-cluster-rules: [{if: {percent: set}, then: {code: set}}]\n    properties:\n      percent"},
		edit{"schemas/shop/v1alpha1/Coupon.yaml", "    properties:\n      percent", "    x-cluster-rules: [{if: {percent: set}, then: {word: set}}]\n    properties:\n      percent"})},
	{name: "the other version is stored", want: "", before: versioned("maxLength: 30"), now: storedOther(versioned("maxLength: 30"))},
}

// both are the changes by which both versions require a number.
var both = []edit{{coupon, "    properties:\n      percent", "    required: [percent]\n    properties:\n      percent"},
	{"schemas/shop/v1alpha1/Coupon.yaml", "    properties:\n      percent", "    required: [percent]\n    properties:\n      percent"}}

// storedOther is a change by which the other version of coupons is stored.
func storedOther(edits []edit) []edit {
	edits[1].new = strings.Replace(edits[1].new, "    storedAs: shop/v1beta1/Coupon\n", "", 1)
	return append(edits, edit{beta1, "kind: Coupon\n", "kind: Coupon\n    storedAs: shop/v1alpha1/Coupon\n"})
}
