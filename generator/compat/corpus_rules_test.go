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
