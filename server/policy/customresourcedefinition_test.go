package policy_test

import (
	"strings"
	"testing"
)

func TestCustomResourceDefinition(t *testing.T) {
	head := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: cobs.x.com}\n"
	const fine = "spec: {group: x.com, scope: Cluster, names: {plural: cobs, kind: Cob}, versions: [{name: v1, storage: true, schema: {openAPIV3Schema: {type: object}}}]}"
	with := func(old, changed string) string { return strings.Replace(fine, old, changed, 1) }
	root := func(members string) string { return with("{type: object}", "{type: object, "+members+"}") }
	field := func(members string) string { return root("properties: {a: {" + members + "}}") }
	const at = "spec.validation.openAPIV3Schema"
	runCreate(t, head, []createCase{
		{"fine", fine, ""},
		{"other name", with("plural: cobs", "plural: cogs"), "metadata.name: Invalid"},
		{"no group", with("group: x.com, ", ""), "metadata.name: Invalid; spec.group: Required"},
		{"short group", with("x.com", "com"), "metadata.name: Invalid; spec.group: Invalid"},
		{"scope", with("Cluster", "World"), "spec.scope: NotSupported"},
		{"no scope", with("scope: Cluster, ", ""), "spec.scope: Required"},
		{"same words", with("kind: Cob", "kind: Cob, listKind: Cob"), "spec.names.listKind: Invalid"},
		{"odd words", with("kind: Cob", "kind: 1Cob, singular: C, shortNames: [A], categories: [b]"),
			"spec.names.kind: Invalid; spec.names.listKind: Invalid; spec.names.singular: Invalid; spec.names.shortNames[0]: Invalid"},
		{"no storage", with("storage: true", "served: true"), "spec.versions: Invalid; status.storedVersions: Invalid"},
		{"version", with("name: v1", "name: V1"), "spec.versions[0].name: Invalid; spec.version: Invalid"},
		{"versions", with("versions: [", "versions: [{name: v1, schema: {openAPIV3Schema: {type: string}}}, "), "spec.versions: Invalid; spec.versions[0].schema.openAPIV3Schema.type: Invalid"},
		{"no schema", with(", schema: {openAPIV3Schema: {type: object}}", ""), "spec.versions[0].schema.openAPIV3Schema: Required"},
		{"warning", with("storage: true", "storage: true, deprecationWarning: x"), "spec.versions[0].deprecationWarning: Invalid"},
		{"unknown fields", with("group", "preserveUnknownFields: true, group"), "spec.preserveUnknownFields: Invalid"},
		{"strategy", with("group", "conversion: {strategy: Magic}, group"), "spec.conversion.strategy: NotSupported"},
		{"no webhook", with("group", "conversion: {strategy: Webhook}, group"), "spec.conversion.webhookClientConfig: Required; spec.conversion.conversionReviewVersions: Required"},
		{"webhook", with("group", "conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: ns, name: s, port: 70000}}, conversionReviewVersions: [v2]}}, group"),
			"spec.conversion.webhookClientConfig.service.port: Invalid; spec.conversion.conversionReviewVersions: Invalid"},
		{"needless webhook", with("group", "conversion: {strategy: None, webhook: {clientConfig: {url: 'https://x'}, conversionReviewVersions: [v1]}}, group"),
			"spec.conversion.webhookClientConfig: Forbidden; spec.conversion.conversionReviewVersions: Forbidden"},
		{"columns", with("storage: true", "storage: true, additionalPrinterColumns: [{name: a, type: b, jsonPath: c}]"),
			"spec.additionalPrinterColumns[0].type: Invalid; spec.additionalPrinterColumns[0].JSONPath: Invalid"},
		{"scale", with("storage: true", "storage: true, subresources: {scale: {specReplicasPath: .status.a, labelSelectorPath: .a}}"),
			"spec.subresources.scale.specReplicasPath: Invalid; spec.subresources.scale.statusReplicasPath: Required; spec.subresources.scale.labelSelectorPath: Invalid"},
		{"root", with("type: object", "type: string"), at + ".type: Invalid"},
		{"no type", field("minimum: 1"), at + ".properties[a].type: Required"},
		{"unknown type", field("type: text"), at + ".properties[a].type: NotSupported"},
		{"any", field("x-kubernetes-preserve-unknown-fields: true"), ""},
		{"int or string", field("x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]"), ""},
		{"no items", field("type: array"), at + ".properties[a].items: Required"},
		{"items", field("type: array, items: [{type: string}]"), at + ".properties[a].items: Forbidden"},
		{"untyped items", field("type: array, items: {}"), at + ".properties[a].items.type: Required"},
		{"values", field("type: object, additionalProperties: {minimum: 1}"), at + ".properties[a].additionalProperties.type: Required"},
		{"closed", field("type: object, properties: {b: {type: string}}, additionalProperties: false"), at + ".properties[a].additionalProperties: Forbidden"},
		{"closed root", root("additionalProperties: false"), at + ".additionalProperties: Forbidden"},
		{"open", field("type: object, additionalProperties: true"), ""},
		{"pattern", field("type: string, pattern: '('"), at + ".properties[a].pattern: Invalid"},
		{"unique", field("type: array, uniqueItems: true, items: {type: string}"), at + ".properties[a].uniqueItems: Forbidden"},
		{"definitions", field("type: string, definitions: {d: {id: x}}, dependencies: {e: {$ref: x}, f: [g]}"),
			at + ".properties[a].definitions: Forbidden; " + at + ".properties[a].definitions[d].id: Forbidden; " + at + ".properties[a].dependencies: Forbidden; " + at + ".properties[a].dependencies[e].$ref: Forbidden"},
		{"reference", field("type: string, $ref: x"), at + ".properties[a].$ref: Forbidden"},
		{"keys", field("type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, k, l], items: {type: object, properties: {k: {type: string}}}"),
			at + ".properties[a].items.properties[k].default: Required; " + at + ".properties[a].x-kubernetes-list-map-keys: Invalid"},
		{"set of objects", field("type: array, x-kubernetes-list-type: set, items: {type: object}"), at + ".properties[a].items.x-kubernetes-map-type: Invalid"},
		{"set with null", field("type: array, x-kubernetes-list-type: set, items: {type: string, nullable: true}"), at + ".properties[a].items.nullable: Forbidden"},
		{"key of an object", field("type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: object}}}"),
			at + ".properties[a].items.properties[k].type: Invalid"},
		{"keys without list", field("type: array, x-kubernetes-list-map-keys: [k], items: {type: string}"), at + ".properties[a].x-kubernetes-list-type: Required"},
		{"embedded", field("type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true"), ""},
		{"embedded nothing", field("x-kubernetes-embedded-resource: true"), at + ".properties[a].type: Required; " + at + ".properties[a].properties: Required"},
		{"metadata", root("properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 8}}}}"), ""},
		{"metadata with labels", root("properties: {metadata: {type: object, properties: {labels: {type: object}}}}"), at + ".properties[metadata]: Forbidden"},
		{"kind", root("properties: {kind: {type: integer}}"), at + ".properties[kind].type: Invalid"},
		{"default of metadata", root("properties: {apiVersion: {type: string, default: v1}}"), at + ".properties[apiVersion].default: Forbidden"},
		{"defaults", root("properties: {a: {type: integer, minimum: 1, default: 3}, b: {type: array, items: {type: string}, default: [x]}, c: {x-kubernetes-int-or-string: true, default: 5%}, " +
			"d: {type: object, default: {e: 1}, properties: {e: {type: integer}}}, f: {type: string, nullable: true, enum: [x, z], default: z}, g: {type: object, additionalProperties: {type: string}, default: {h: i}}}"), ""},
		{"default of another type", field("type: integer, default: x"), at + ".properties[a].default: TypeInvalid"},
		{"default with a fraction", field("type: integer, default: 1.5"), at + ".properties[a].default: TypeInvalid"},
		{"default too small", field("type: integer, minimum: 1, default: 0"), at + ".properties[a].default: Invalid"},
		{"default off the step", field("type: number, multipleOf: 0.5, default: 0.7"), at + ".properties[a].default: Invalid"},
		{"default that is not listed", field("type: string, enum: [x], default: z"), at + ".properties[a].default: NotSupported"},
		{"default too long", field("type: string, maxLength: 1, pattern: ^a, default: bc"), at + ".properties[a].default: TooLong; " + at + ".properties[a].default: Invalid"},
		{"default with too many", field("type: array, maxItems: 1, items: {type: string}, default: [b, 3]"), at + ".properties[a].default: TooMany; " + at + ".properties[a].default[1]: TypeInvalid"},
		{"default with unknown fields", field("type: object, default: {b: {c: 1}}, required: [d], properties: {b: {type: object}, d: {type: string}}"),
			at + ".properties[a].default: Invalid; " + at + ".properties[a].default.d: Required"},
		{"default of items", field("type: array, items: {type: object, properties: {b: {type: boolean, default: 1}}}"), at + ".properties[a].items.properties[b].default: TypeInvalid"},
		{"undeclared", root("anyOf: [{required: [b], properties: {b: {minimum: 1}}}]"), at + ".properties[b]: Required"},
		{"declared", root("properties: {b: {type: integer}}, anyOf: [{properties: {b: {minimum: 1}}}]"), ""},
		{"undeclared items", root("not: {items: {minimum: 1}}"), at + ".items: Required"},
		{"int or string further", field("x-kubernetes-int-or-string: true, allOf: [{anyOf: [{type: integer}, {type: string}]}, {pattern: x}]"), ""},
		{"int or string otherwise", field("x-kubernetes-int-or-string: true, anyOf: [{type: string}, {type: integer}]"),
			at + ".properties[a].anyOf[0].type: Forbidden; " + at + ".properties[a].anyOf[1].type: Forbidden"},
		{"beside status", with("storage: true", "storage: true, subresources: {status: {}}"), ""},
		{"maxProperties beside status", strings.Replace(root("maxProperties: 2"), "storage: true", "storage: true, subresources: {status: {}}", 1), at + ": Invalid"},
		{"null at the root", root("nullable: true"), at + ".nullable: Forbidden"},
		{"approved", strings.ReplaceAll(with("x.com", "x.k8s.io"), "cobs.x.com", ""), "metadata.name: Invalid; metadata.annotations[api-approved.kubernetes.io]: Required"},
		{"list type", field("type: array, x-kubernetes-list-type: bag, items: {type: string}"), at + ".properties[a].x-kubernetes-list-type: NotSupported"},
		{"shape below anyOf", field("type: object, anyOf: [{type: object}, {required: [b]}]"), at + ".properties[a].anyOf[0].type: Forbidden"},
		{"rule", field("type: string, x-kubernetes-validations: [{message: x}]"), at + ".properties[a].x-kubernetes-validations[0].rule: Required"},
	})
	runHooks(t, head, []hookCase{
		{"names", fine, "spec/names", `{"plural":"cobs","singular":"cob","kind":"Cob","listKind":"CobList"}`},
		{"conversion", fine, "spec/conversion", `{"strategy":"None"}`},
		{"stored", fine, "status/storedVersions", `["v1"]`},
		{"stored twice", with("versions: [", "versions: [{name: v0, served: true, storage: true}, "), "status/storedVersions", `["v0"]`},
	})
	established := fine + "\nstatus: {conditions: [{type: Established, status: 'True'}], acceptedNames: {plural: cobs, kind: Cob}}"
	runUpdate(t, head, []updateCase{
		{"group", fine, with("x.com", "y.com"), "spec.group: Invalid"},
		{"scope before", fine, with("Cluster", "Namespaced"), ""},
		{"same", fine, fine, ""},
		{"scope", established, with("Cluster", "Namespaced"), "spec.scope: Invalid"},
		{"kind", established, with("kind: Cob", "kind: Cog"), "spec.names.kind: Invalid"},
		{"stored once", fine, with("name: v1", "name: v2"), "status.storedVersions[0]: Invalid"},
	})
}
