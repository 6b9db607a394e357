package compat

// v2 is a second stable version of the orders, which is preferred: priority 40.
func v2(more ...edit) []edit {
	return append([]edit{
		{"schemas/shop/v2/Order.yaml", "", "x-cluster-same-as: /shop/v1/Order\ndescription: Something that a customer wants to have.\n"},
		{"openapi/shop/v2.yaml", "", "openapi: 3.0.3\ninfo: {title: shop, version: v2}\nx-cluster-group: {name: shop.<groupSuffix>, groupPriority: 100, versionPriority: 5}\nx-cluster-resources:\n  orders:\n    kind: Order\n    scope: Namespaced\n    storedAs: shop/v1/Order\n    subresources:\n      status: {}\npaths: {}\n"},
	}, more...)
}

// storedInBeta has the orders of v1beta1 stored there, and v1 has none.
var storedInBeta = []edit{
	{shop, "  orders:\n    kind: Order\n    scope: Namespaced\n    singular: order\n    shortNames: [ord, o]\n    categories: [all]\n    generation: true\n    graceful: {period: .spec.seconds, default: 5, needs: .spec.state}\n    hooks: [validate]\n    subresources:\n      status: {}\n      scale: {schema: /shop/v1/Order, specReplicas: .spec.copies, statusReplicas: .status.sent}\n    columns:\n      - {name: State, path: .spec.state, description: How far it is.}\n      - {name: Copies, type: integer, path: .spec.copies, description: How many are wanted.}\n      - {name: Late, shows: 'self.spec.copies > 3 ? \"yes\" : \"no\"', description: Whether it takes long.}\n    selectable:\n      - spec.state\n      - {name: state, aliasOf: spec.state}\n      - {name: spec.sku, path: .spec.sku, default: none}\n", ""},
	{beta1, "    storedAs: shop/v1/Order\n", ""},
}

// movedStorage stores orders in v1, where the last release had none.
var movedStorage = []edit{
	{shop, "    generation: true\n    graceful: {period: .spec.seconds, default: 5, needs: .spec.state}\n    hooks: [validate]\n", ""},
	{shop, "      scale: {schema: /shop/v1/Order, specReplicas: .spec.copies, statusReplicas: .status.sent}\n    columns:\n      - {name: State, path: .spec.state, description: How far it is.}\n      - {name: Copies, type: integer, path: .spec.copies, description: How many are wanted.}\n      - {name: Late, shows: 'self.spec.copies > 3 ? \"yes\" : \"no\"', description: Whether it takes long.}\n    selectable:\n      - spec.state\n      - {name: state, aliasOf: spec.state}\n      - {name: spec.sku, path: .spec.sku, default: none}\n", ""},
}

const (
	coupons  = "  coupons:\n    kind: Coupon\n    scope: Namespaced\n"
	ends     = `    deprecated: {since: "1.3", removedIn: "1.7", replacement: shop.<groupSuffix>/v1.Order}` + "\n"
	betaLine = "    kind: Order\n    scope: Namespaced\n    storedAs: shop/v1/Order\n    shortNames: [ord, o]\n    categories: [all]\n    singular: order\n" + ends + "    subresources:\n      status: {}\n"
)

// lifeRows are changes of versions, announcements, gates, metrics and flags.
var lifeRows = []row{
	// The end of versions.
	{name: "a stable version goes", want: "E:group-version-removed E:preferred-version-less-stable E:resource-field-label-removed E:resource-generation-changed E:resource-grace-changed W:resource-column-removed", now: []edit{{shop, "", ""}, {beta1, "    storedAs: shop/v1/Order\n", ""}}},
	{name: "a beta version goes", want: "E:group-version-removed", now: []edit{{beta1, "", ""}, {coupon, "", ""}, {"schemas/shop/v1beta1/Order.yaml", "", ""}}},
	{name: "an alpha version goes", want: "W:group-version-removed", now: []edit{{alpha1, "", ""}, {idea, "", ""}}},
	change("a beta resource goes before its announced end", "E:resource-removed", beta1, "  orders:\n"+betaLine, ""),
	{name: "a beta resource goes at its announced end", want: "W:resource-ended", before: []edit{{beta1, `removedIn: "1.7"`, `removedIn: "1.6"`}}, now: []edit{{beta1, "  orders:\n" + betaLine, ""}}},
	{name: "a beta resource goes within a release", want: "E:resource-removed", before: []edit{{beta1, coupons, coupons + `    deprecated: {since: "1.5"}` + "\n"}}, now: []edit{{beta1, coupons, ""}}},
	{name: "a beta resource goes within nine months", want: "E:resource-removed", before: []edit{{"release.yaml", "2025-12-01", "2026-02-27"}, {beta1, `removedIn: "1.7"`, `removedIn: "1.6"`}}, now: []edit{{beta1, "  orders:\n" + betaLine, ""}}},
	{name: "a beta resource goes without an announcement", want: "E:resource-removed", now: []edit{{beta1, coupons, ""}}},
	change("an alpha resource changes", "W:enum-value-removed", idea, "[Good, Bad]", "[Good]"),
	change("a beta resource changes", "E:bounds-tightened", coupon, "maximum: 100", "maximum: 99"),
	change("an alpha resource loses a verb", "W:resource-verb-removed", alpha1, "    kind: Idea\n", "    kind: Idea\n    verbs: [get, list]\n"),

	// Announcements.
	change("a stable resource has an end", "E:stable-end-date", shop, "    kind: Parcel\n", "    kind: Parcel\n    deprecated: {since: \"1.5\", removedIn: \"1.9\"}\n"),
	change("a stable resource has an end in the next major version", "", shop, "    kind: Parcel\n", "    kind: Parcel\n    deprecated: {since: \"1.6\", removedIn: \"2.0\"}\n"),
	change("an end is earlier", "E:end-date-earlier", beta1, `removedIn: "1.7"`, `removedIn: "1.6"`),
	change("an end is later", "", beta1, `removedIn: "1.7"`, `removedIn: "1.8"`),
	change("an end is taken back", "", beta1, ends, ""),
	change("a beta resource gets an end that is too early", "E:end-date-earlier", beta1, coupons, coupons+`    deprecated: {since: "1.6", removedIn: "1.8"}`+"\n"),
	change("a beta resource gets an end", "", beta1, coupons, coupons+`    deprecated: {since: "1.6", removedIn: "1.9"}`+"\n"),
	change("an announcement is dated back", "E:end-date-earlier", beta1, coupons, coupons+`    deprecated: {since: "1.1", removedIn: "1.6"}`+"\n"),
	change("a stable resource gives way to a beta one", "E:resource-replacement-unstable", shop, "    kind: Parcel\n", "    kind: Parcel\n    deprecated: {since: \"1.6\", replacement: shop.<groupSuffix>/v1beta1.Coupon}\n"),
	change("a resource gives way to nothing", "", shop, "    kind: Parcel\n", "    kind: Parcel\n    deprecated: {since: \"1.6\"}\n"),
	{name: "a resource gives way to what no release has served", want: "E:deprecated-before-successor", now: v2(edit{shop, "    kind: Order\n", "    kind: Order\n    deprecated: {since: \"1.6\", replacement: shop.<groupSuffix>/v2.Order}\n"})},
	{name: "a resource gives way to a new version without naming it", want: "E:deprecated-before-successor", before: []edit{{beta1, "  orders:\n" + betaLine, ""}}, now: v2(edit{beta1, "  orders:\n" + betaLine, ""}, edit{shop, "    kind: Order\n", "    kind: Order\n    deprecated: {since: \"1.6\"}\n"})},
	{name: "a resource gives way to what a release has served", want: "", before: v2(), now: v2(edit{shop, "    kind: Order\n", "    kind: Order\n    deprecated: {since: \"1.6\", replacement: shop.<groupSuffix>/v2.Order}\n"})},

	// Preferred and stored versions.
	{name: "a version is added", want: "", now: v2()},
	{name: "a new version is preferred", want: "E:preferred-version-advanced", now: v2(edit{"openapi/shop/v2.yaml", "versionPriority: 5", "versionPriority: 50"})},
	{name: "a version that a release has served is preferred", want: "", before: v2(), now: v2(edit{"openapi/shop/v2.yaml", "versionPriority: 5", "versionPriority: 50"})},
	change("a beta version is preferred", "E:preferred-version-less-stable", beta1, "versionPriority: 20", "versionPriority: 50"),
	change("a version is not in discovery", "E:group-version-unlisted", beta1, "versionPriority: 20", "listed: false, versionPriority: 20"),
	change("priorities have other numbers", "", beta1, "versionPriority: 20", "versionPriority: 25"),
	{name: "a group has another priority", want: "", now: []edit{{shop, "groupPriority: 100", "groupPriority: 90"}, {beta1, "groupPriority: 100", "groupPriority: 90"}, {alpha1, "groupPriority: 100", "groupPriority: 90"}}},
	{name: "a kind comes to a stable version and is stored there", want: "E:storage-version-advanced", before: storedInBeta, now: movedStorage},
	{name: "a kind comes to a stable version and is stored as before", want: "", before: []edit{{shop, "paths: {}", "paths: {}\n"}}},

	// The group and the profile.
	change("a group is renamed", "W:group-renamed", alpha1, "name: shop.<groupSuffix>", "name: shop"),
	{name: "a group is renamed in all versions", want: "E:group-renamed W:group-renamed", now: []edit{{shop, "name: shop.<groupSuffix>", "name: shop"},
		{alpha1, "name: shop.<groupSuffix>", "name: shop"}, {beta1, "name: shop.<groupSuffix>", "name: shop"}}},
	change("the suffix of groups changes", "E:profile-changed", words, "groupSuffix: example.org", "groupSuffix: example.com"),
	change("the domain of labels changes", "E:profile-changed", words, "labelDomain: example.org", "labelDomain: example.com"),
	change("the media type changes", "E:profile-changed", words, "mediaTypeWord: example", "mediaTypeWord: sample"),
	change("the prefix of extensions changes", "E:profile-changed", words, "x-example-", "x-sample-"),
	change("the title of a document changes", "", shop, "title: shop", "title: Shop"),

	// Gates.
	change("a beta gate goes", "E:gate-removed", promise, "  Rush: {stage: beta, since: \"1.4\"}\n", ""),
	change("an alpha gate goes", "", promise, "  Slow: {stage: alpha}\n", ""),
	change("a stable gate goes", "", promise, "  Fast: {stage: stable, since: \"1.2\"}\n", ""),
	change("a gate goes that was deprecated long ago", "", promise, "  Old: {stage: deprecated, wasStable: true, since: \"1.3\"}\n", ""),
	{name: "a stable gate goes too early", want: "E:gate-removed", before: []edit{{promise, `Fast: {stage: stable, since: "1.2"}`, `Fast: {stage: stable, since: "1.5"}`}}, now: []edit{{promise, "  Fast: {stage: stable, since: \"1.2\"}\n", ""}}},
	change("a gate of a beta feature goes after a release", "", promise, "  Young: {stage: deprecated, since: \"1.5\"}\n", ""),
	change("a gate is off", "E:gate-default-changed", promise, `{stage: beta, since: "1.4"}`, `{stage: beta, enabled: false, since: "1.4"}`),
	change("a gate becomes beta and is on", "", promise, "Slow: {stage: alpha}", `Slow: {stage: beta, since: "1.6"}`),
	change("a gate becomes stable", "", promise, `Rush: {stage: beta, since: "1.4"}`, `Rush: {stage: stable, since: "1.6"}`),
	change("a gate becomes alpha", "E:gate-stage-lowered", promise, `Rush: {stage: beta, since: "1.4"}`, "Rush: {stage: alpha}"),
	change("an alpha gate is on", "E:gate-default-changed", promise, "Slow: {stage: alpha}", "Slow: {stage: alpha, enabled: true}"),
	change("a gate is added", "", promise, "featureGates:\n", "featureGates:\n  New: {stage: alpha}\n"),

	// Metrics and flags.
	change("a stable metric goes", "E:metric-removed", promise, "  shop_orders_total: {type: counter, stability: stable, labels: [shop, state]}\n", ""),
	change("an alpha metric goes", "", promise, "  shop_ideas: {type: gauge, stability: alpha}\n", ""),
	change("a metric goes that was deprecated long ago", "", promise, "  shop_old_total: {type: counter, stability: stable, deprecated: \"1.2\"}\n", ""),
	change("a metric loses a label", "E:metric-changed", promise, "[shop, state]", "[shop]"),
	change("labels of a metric are in another order", "", promise, "[shop, state]", "[state, shop]"),
	change("a metric has another type", "E:metric-changed", promise, "shop_orders_total: {type: counter", "shop_orders_total: {type: gauge"),
	change("a metric becomes alpha", "E:metric-changed", promise, "stability: stable, labels", "stability: alpha, labels"),
	change("a metric is deprecated", "", promise, "labels: [shop, state]", `labels: [shop, state], deprecated: "1.6"`),
	change("a flag goes", "E:flag-removed", promise, "  port: {default: \"80\"}\n", ""),
	change("a flag goes that was deprecated long ago", "", promise, "  colour: {default: red, deprecated: \"1.2\"}\n", ""),
	{name: "a flag goes half a year after its deprecation", want: "", before: []edit{{promise, `red, deprecated: "1.2"`, `red, deprecated: "1.4"`}}, now: []edit{{promise, "  colour: {default: red, deprecated: \"1.2\"}\n", ""}}},
	{name: "a flag goes with the next release after its deprecation", want: "E:flag-removed", before: []edit{{promise, `red, deprecated: "1.2"`, `red, deprecated: "1.5"`}}, now: []edit{{promise, "  colour: {default: red, deprecated: \"1.2\"}\n", ""}}},
	change("a flag has another default", "W:flag-default-changed", promise, `{default: "80"}`, `{default: "81"}`),
	change("a flag is added", "", promise, "flags:\n", "flags:\n  size: {default: \"1\"}\n"),
	change("all promises go", "E:flag-removed E:gate-removed E:metric-removed", promise, "", ""),

	// Several versions.
	{name: "a member is in one version only", want: "W:round-trip-lost", now: []edit{{order, last, last + "      more: {description: Words for others., type: string}\n"}, {"schemas/shop/v1beta1/Order.yaml", "description:", "$defs: {OrderSpec: {properties: {more: null}}}\ndescription:"}, {beta1, "    storedAs", "    hooks: [convert]\n    storedAs"}}},
	{name: "a member is in one version and carried through the other", want: "", now: []edit{{order, last, last + "      more: {description: Words for others., type: string}\n"}, {"schemas/shop/v1beta1/Order.yaml", "description:", "$defs: {OrderSpec: {properties: {more: null}}}\ndescription:"}, {beta1, "    storedAs", "    carries: [.spec.more]\n    storedAs"}}},
}
