package compat

// last is the last member of the specification, after which others are added.
const last = "x-cluster-feature-gate: Rush}\n"

// removed are the findings about a member that goes.
const removed = "E:binary-number-released E:field-removed"

// typeRows are changes of members and types.
var typeRows = []row{
	// Members.
	change("a member is added", "", order, last, last+"      more: {description: Words for others., type: string}\n"),
	{name: "a new member is required", want: "E:field-required", now: []edit{{order, "required: [state]", "required: [state, more]"}, {order, last, last + "      more: {description: Words for others., type: string}\n"}}},
	{name: "a new member is required and has a default", want: "", now: []edit{{order, "required: [state]", "required: [state, more]"}, {order, last, last + "      more: {description: Words for others., type: string, default: none}\n"}}},
	change("a member goes", removed, order, "      voucher: {description: Another way to pay., type: string}\n      shop: {description: Where it was bought., type: string, ", "      shop: {description: Where it was bought., type: string, x-cluster-binary: 21, "),
	{name: "a member goes and its number is reserved", want: "E:field-removed", now: []edit{{order, "    x-cluster-one-of:", "    x-cluster-binary-reserved: [20]\n    x-cluster-one-of:"}, {order, "      voucher: {description: Another way to pay., type: string}\n", ""}, {order, "was bought., type", "was bought., x-cluster-binary: 21, type"}}},
	{name: "a member without a number goes", want: "E:field-removed", now: []edit{{order, "      hidden: {description: For the shop alone., type: string, x-cluster-binary: false}\n", ""}}},
	change("a member is renamed", "E:binary-number-released E:field-binary-number-reused E:field-removed", order, "      note: {", "      notice: {"),
	change("members are in another order", "", order, "      card: {description: Number of the card., type: string}\n      cash: {description: Coins are fine., type: boolean}\n", "      cash: {description: Coins are fine., type: boolean, x-cluster-binary: 19}\n      card: {description: Number of the card., type: string, x-cluster-binary: 18}\n"),
	change("a member is added in the middle", "E:field-binary-number-changed", order, "      card:", "      more: {description: Words for others., type: string}\n      card:"),
	{name: "a member is added in the middle with a new number", want: "", now: []edit{{order, "      card: {", "      more: {description: Words for others., type: string, x-cluster-binary: 30}\n      card: {x-cluster-binary: 18, "}, {order, "cash: {", "cash: {x-cluster-binary: 19, "}, {order, "voucher: {", "voucher: {x-cluster-binary: 20, "}, {order, "shop: {", "shop: {x-cluster-binary: 21, "}, {order, "rush: {", "rush: {x-cluster-binary: 22, "}}},
	change("a member is described in other words", "", order, "Words of the customer.", "Text on a card."),
	change("a member of a part that clients only read goes", removed, parcel, "  phase: {description: How far it is., type: string, enum: [Packed, Sent]}\n  weight: {", "  weight: {x-cluster-binary: 4, "),
	change("a member is required in what clients only read", "E:field-presence-changed", parcel, "properties:", "required: [place]\nproperties:"),

	// Required.
	change("a member becomes required", "E:field-presence-changed E:field-required", order, "required: [state]", "required: [state, sku]"),
	{name: "a member becomes required and is written as before", want: "E:field-required", now: []edit{{order, "required: [state]", "required: [state, sku]"}, {order, "of the article., type", "of the article., x-cluster-presence: implicit, type"}}},
	change("a member is required by the server alone", "E:field-required", order, "required: [state]", "required: [state]\n    x-cluster-required-enforced: [note]"),
	change("a member with a default becomes required", "E:field-presence-changed", order, "  Item:\n", "  Item:\n    required: [size]\n"),

	change("required is published and enforced apart", "", order, "required: [state]", "x-cluster-required-published: [state]"),
	{name: "a required number may not be 0", want: "E:field-required", before: []edit{{order, "required: [state]", "required: [state, copies]"}}, now: []edit{{order, "required: [state]", "required: [state, copies]"}, {order, "format: int32, minimum: 1", "format: int32, x-cluster-missing: nonzero, minimum: 1"}}},
	since("what is published as required is required", "E:field-required", order, "required: [state]", "required: [state]\n    x-cluster-required-published: [sku]", "required: [state, sku]"),

	// Presence.
	change("presence is written out", "", order, "of the article., type", "of the article., x-cluster-presence: implicit, type"),
	change("presence that a default implies is written out", "", order, "Whether it is wrapped., type", "Whether it is wrapped., x-cluster-presence: explicit, type"),
	change("a zero is kept", "E:field-presence-changed", order, "of the article., type", "of the article., x-cluster-presence: explicit, type"),
	change("a zero is dropped", "E:field-presence-changed", order, "x-cluster-presence: explicit", "x-cluster-presence: implicit"),
	change("a member is always written", "E:field-presence-changed", order, "of the article., type", "of the article., x-cluster-presence: always, type"),
	change("a member is always written to clients that only read", "E:field-presence-changed", parcel, "last., type", "last., x-cluster-presence: always, type"),
	change("a member is null without a value", "E:field-presence-changed", order, "Words for searching., items", "Words for searching., x-cluster-null: true, x-cluster-presence: explicit, items"),

	// Defaults.
	change("a default changes", "E:field-default-changed", order, "default: 30", "default: 31"),
	change("a default goes", "E:field-default-changed E:field-presence-changed", order, ", default: 30", ""),
	{name: "a default goes and its presence stays", want: "E:field-default-changed", now: []edit{{order, "default: 30", "x-cluster-presence: explicit"}}},
	change("a default is added", "E:field-default-changed", order, "enum: [Red, Blue]", "enum: [Red, Blue], default: Red"),
	change("a default of the zero that is left out without it", "E:field-default-changed", order, "Number of the card., type: string", `Number of the card., type: string, default: ""`),
	since("a default of the zero that is there anyway", "", order, "Number of the card., type: string", "Number of the card., type: string, x-cluster-presence: always", `Number of the card., type: string, x-cluster-presence: always, default: ""`),
	change("a default depends on another member", "E:field-default-changed", order, "default: 30", "default: 30, x-cluster-default-when: {state: [Paid]}"),
	since("the condition of a default in another order", "", order, "default: 30", "default: 30, x-cluster-default-when: {state: [Paid, Sent]}", "default: 30, x-cluster-default-when: {state: [Sent, Paid]}"),
	since("the default of an object says what its members say", "", order, `lid: {description: The size of the top., $ref: "#/$defs/Box"}`, `lid: {description: The size of the top., $ref: "#/$defs/Item", default: {}}`, `lid: {description: The size of the top., $ref: "#/$defs/Item", default: {size: M, sku: none}}`),
	since("the default of an object says something else", "E:field-default-changed", order, `lid: {description: The size of the top., $ref: "#/$defs/Box"}`, `lid: {description: The size of the top., $ref: "#/$defs/Item", default: {}}`, `lid: {description: The size of the top., $ref: "#/$defs/Item", default: {size: L}}`),
	change("hand-written defaults are added", "E:default-hook-changed", order, "  Item:\n", "  Item:\n    x-cluster-hooks: [default]\n"),
	since("hand-written defaults change", "E:default-hook-changed", order, "  Item:\n", "  Item:\n    x-cluster-hooks: [default]\n", "  Item:\n    x-cluster-hooks: [default]\n    x-cluster-hook-revision: 1\n"),
	change("hand-written rules are added", "W:validation-hook-added", order, "  Item:\n", "  Item:\n    x-cluster-hooks: [validate]\n"),
	since("hand-written rules go", "", order, "  Item:\n", "  Item:\n    x-cluster-hooks: [validate]\n", "  Item:\n"),

	// Types.
	change("a number becomes wider", "E:field-type-changed", order, "of each item., format: int32", "of each item., format: int64"),
	change("a whole number says its width", "", order, "Centimetres from top to bottom., type: integer", "Centimetres from top to bottom., format: int64"),
	change("a fraction says its width", "E:field-presence-changed", order, "at once., type: number", "at once., type: number, format: double"),
	{name: "a fraction says its width and is written as before", want: "", now: []edit{{order, "at once., type: number", "at once., type: number, format: double, x-cluster-presence: implicit"}}},
	change("a text becomes a time", "E:field-type-changed", order, "Number of the card., type: string", "Number of the card., type: string, format: date-time"),
	change("a time becomes finer", "E:field-type-changed", order, "format: date-time", "format: micro-time"),
	change("a text becomes bytes", "E:field-type-changed", order, "Number of the card., type: string", "Number of the card., type: string, format: byte"),
	change("a quantity says that it is a text", "", order, "format: quantity", "type: string, format: quantity"),
	change("a quantity becomes a text", "E:field-presence-changed E:field-type-changed", order, "format: quantity", "type: string"),
	change("a quantity is rounded", "E:field-default-changed", order, "format: quantity", "format: quantity, x-cluster-round-up: true"),
	change("a text becomes a list of texts", "E:field-type-changed", order, "Number of the card., type: string", "Number of the card., items: {type: string}"),
	change("a list of texts becomes one of numbers", "E:field-type-changed", order, "Words for the shop., items: {type: string}", "Words for the shop., items: {type: integer}"),
	change("a map gets other values", "E:field-type-changed", order, "additionalProperties: {type: string}", "additionalProperties: {type: integer}"),
	change("any JSON becomes a map", "E:field-type-changed", order, "Anything else., x-cluster-preserve-unknown-fields: true, x-cluster-binary-form: raw", "Anything else., additionalProperties: {type: string}"),
	change("an object becomes any JSON", "E:field-type-changed", order, `top., $ref: "#/$defs/Box"`, "top., x-cluster-preserve-unknown-fields: true, x-cluster-presence: explicit"),
	change("a type is written out", "", order, "enum: [Red, Blue]", "x-cluster-presence: implicit, enum: [Red, Blue]"),
	change("a type is implied", "", order, "type: string, enum: [Red, Blue]", "enum: [Red, Blue]"),

	// Where types are.
	{name: "a type is renamed everywhere", want: "W:type-renamed", now: []edit{{order, "  Item:\n", "  Line:\n"}, {order, "#/$defs/Item", "#/$defs/Line"}}},
	change("a type has another name in Go", "W:type-renamed", order, "  Item:\n", "  Item:\n    x-cluster-go-name: Line\n"),
	change("the name in Go is written out", "", order, "  Item:\n", "  Item:\n    x-cluster-go-name: Item\n"),
	{name: "a type moves to a file of its own", want: "", now: []edit{{order, "  Box:\n    description: The size of a box.\n    properties:\n      width: {description: Centimetres from left to right., type: integer, minimum: 1}\n      height: {description: Centimetres from top to bottom., type: integer}\n", ""},
		{"schemas/shop/v1/Box.yaml", "", "description: The size of a box.\nproperties:\n  width: {description: Centimetres from left to right., type: integer, minimum: 1}\n  height: {description: Centimetres from top to bottom., type: integer}\n"},
		{order, `parcel., $ref: "#/$defs/Box"`, "parcel., $ref: /shop/v1/Box"}, {order, `top., $ref: "#/$defs/Box"`, "top., $ref: /shop/v1/Box"},
		{"schemas/shop/v1beta1/Order.yaml", "description", "$defs: {}\ndescription"}}},
	change("a type is written in place", "", order, `top., $ref: "#/$defs/Box"`, "top., x-cluster-presence: explicit, properties: {width: {description: Centimetres from left to right., type: integer, minimum: 1}, height: {description: Centimetres from top to bottom., type: integer}}"),
	change("the identifier is written out", "", order, "description: Something", "$id: shop/v1/Order\ndescription: Something"),

	// Lists, maps, patches.
	change("list keys are in another order", "", order, "list-map-keys: [sku, size]", "list-map-keys: [size, sku]"),
	change("a list key goes", "E:list-semantics-changed", order, "list-map-keys: [sku, size]", "list-map-keys: [sku]"),
	change("the list type of keys is written out", "", order, "        x-cluster-list-map-keys", "        x-cluster-list-type: map\n        x-cluster-list-map-keys"),
	change("a list has one owner", "E:list-semantics-changed", order, "x-cluster-list-type: set", "x-cluster-list-type: atomic"),
	change("a list without a type is written out", "", parcel, "items: {type: string}", "items: {type: string}, x-cluster-list-type: atomic"),
	change("a list that patches merge has one owner", "E:list-semantics-changed", order, "Words for the shop., items", "Words for the shop., x-cluster-list-type: atomic, items"),
	change("a map has one owner", "E:map-semantics-changed", order, "x-cluster-keys: config-key", "x-cluster-keys: config-key, x-cluster-map-type: atomic"),
	change("a map of its members is written out", "", order, "x-cluster-keys: config-key", "x-cluster-keys: config-key, x-cluster-map-type: granular"),
	change("the map type next to a reference goes", "E:map-semantics-changed", order, ", x-cluster-map-type: atomic", ""),
	change("the map type next to a reference changes", "E:map-semantics-changed", order, ", x-cluster-map-type: atomic", ", x-cluster-map-type: granular"),
	change("the map type next to a reference is added", "E:map-semantics-changed", order, `top., $ref: "#/$defs/Box"`, `top., $ref: "#/$defs/Box", x-cluster-map-type: atomic`),
	{name: "the map type moves to the type", want: "", before: []edit{{order, `top., $ref: "#/$defs/Box"`, `top., $ref: "#/$defs/Box", x-cluster-map-type: atomic`}}, now: []edit{{order, "  Box:\n", "  Box:\n    x-cluster-map-type: atomic\n"}, {order, ", x-cluster-map-type: atomic", ""}}},
	change("the map type of a type changes", "E:map-semantics-changed", order, "  Box:\n", "  Box:\n    x-cluster-map-type: atomic\n"),
	change("the merge key changes", "E:patch-semantics-changed", order, "merge-key: sku", "merge-key: size"),
	change("the merge key goes", "E:patch-semantics-changed", order, "        x-cluster-patch-merge-key: sku\n", ""),
	change("the merge strategy of a merge key is written out", "", order, "        x-cluster-patch-merge-key: sku\n", "        x-cluster-patch-merge-key: sku\n        x-cluster-patch-strategy: [merge]\n"),
	change("a strategy is added", "E:patch-semantics-changed", order, "x-cluster-patch-strategy: [merge]", "x-cluster-patch-strategy: [merge, retainKeys]"),
	since("strategies are in another order", "", order, "x-cluster-patch-strategy: [merge]", "x-cluster-patch-strategy: [merge, retainKeys]", "x-cluster-patch-strategy: [retainKeys, merge]"),
	change("an object is replaced by patches", "E:patch-semantics-changed", order, `top., $ref: "#/$defs/Box"`, `top., $ref: "#/$defs/Box", x-cluster-patch-strategy: [replace]`),

	// The binary form.
	change("a number changes", "E:field-binary-number-changed", order, "Whether it is wrapped., type", "Whether it is wrapped., x-cluster-binary: 50, type"),
	change("a number is written out", "", order, "Whether it is wrapped., type", "Whether it is wrapped., x-cluster-binary: 8, type"),
	change("a member gets its first number", "", order, ", x-cluster-binary: false", ""),
	change("a member loses its number", "E:field-binary-number-changed", order, "Wanted colour., type", "Wanted colour., x-cluster-binary: false, type"),
	change("the binary form changes", "E:field-binary-form-changed", order, ", x-cluster-binary-form: raw", ""),
	change("members are in an inner message", "E:field-binary-number-changed", order, "  Box:\n", "  Box:\n    x-cluster-binary-outer: {2: [height]}\n"),
	change("a reserved number is free", "E:binary-number-released", order, "    x-cluster-binary-reserved: [9]\n", ""),
	change("a number more is reserved", "", order, "reserved: [9]", "reserved: [9, 10]"),
	{name: "a reserved number is taken in the same change", want: "E:field-binary-number-reused", now: []edit{{order, "    x-cluster-binary-reserved: [9]\n", ""}, {order, "Wanted colour., type: string, enum: [Red, Blue]}\n", "Wanted colour., type: string, enum: [Red, Blue]}\n      form: {description: Wanted look., type: string, x-cluster-binary: 9}\n"}}},

	// Changes and gates.
	change("a member can no longer change", "E:field-immutable", order, "Number of the card., type", "Number of the card., x-cluster-immutable: true, type"),
	change("a member can change", "", order, ", x-cluster-immutable: true", ""),
	change("a member is set by the server alone", "E:field-read-only", order, "Number of the card., type", "Number of the card., readOnly: true, type"),
	change("a member is not shown", "E:field-write-only", order, "Another way to pay., type", "Another way to pay., writeOnly: true, type"),
	since("a member may be set", "", order, "Number of the card., type", "Number of the card., readOnly: true, type", "Number of the card., type"),
	change("a member is deprecated", "", order, "Number of the card., type", "Number of the card., deprecated: true, type"),
	change("a member is behind a gate", "W:field-gated", order, "Number of the card., type", "Number of the card., x-cluster-feature-gate: Rush, type"),
	change("an object goes with a gated member", "W:field-gated", order, "x-cluster-feature-gate: Rush", "x-cluster-feature-gate: Rush, x-cluster-gate-holder: true"),
	change("a member is behind a gate that is off", "E:field-gated-off", order, "Number of the card., type", "Number of the card., x-cluster-feature-gate: Slow, type"),
	change("a member is behind another gate that is off", "E:field-gated-off", order, "x-cluster-feature-gate: Rush", "x-cluster-feature-gate: Slow"),
	change("a member is free of its gate", "", order, ", x-cluster-feature-gate: Rush", ""),
	change("a new member is behind a gate", "", order, last, last+"      more: {description: Words for others., type: string, x-cluster-feature-gate: Slow}\n"),
	since("a value is validated", "E:rule-added", order, "Number of the card., type", "Number of the card., x-cluster-validate: false, type", "Number of the card., type"),
	change("a value is not validated", "", order, "Number of the card., type", "Number of the card., x-cluster-validate: false, type"),
	change("causes have another name", "", order, "Number of the card., type", "Number of the card., x-cluster-cause-name: cards, type"),
	change("comments", "", order, "$defs:\n", "# The types.\n$defs:\n"),
}
