package load

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/capstan-dev/capstan/internal/document"
)

// fates has every keyword: the field of a schema that has it, and the beginning of the
// message for one that is refused.
var fates = []struct{ keyword, field, refused string }{
	{"$id", "", ""}, // of a document, see testdata/shop
	{"$schema", "", ""},
	{"$defs", "", ""},
	{"$ref", `$ref: "#/$defs/Word"`, ""},
	{"$anchor", `$ref: "#word"`, ""},
	{"$comment", "{type: string, $comment: For designers.}", ""},
	{"$dynamicRef", `{$dynamicRef: "#x"}`, "a type would depend on the way to it"},
	{"$dynamicAnchor", "{type: string, $dynamicAnchor: x}", "a type would depend on the way to it"},
	{"$vocabulary", "{type: string, $vocabulary: {}}", "documents do not define keywords"},

	{"prefixItems", "{type: array, items: {type: string}, prefixItems: [{}]}", "elements of a list have one type"},
	{"items", "{items: {type: string}}", ""},
	{"contains", "{items: {type: string}, contains: {const: a}}", ""},
	{"additionalProperties", "{additionalProperties: {type: string}}", ""},
	{"properties", "{properties: {a: {description: First., type: string}}}", ""},
	{"patternProperties", "{additionalProperties: {type: string}, patternProperties: {^a: {type: string, minLength: 1}}}", ""},
	{"dependentSchemas", "{properties: {a: {description: First., type: string}}, dependentSchemas: {a: {minProperties: 2}}}", ""},
	{"propertyNames", "{additionalProperties: {type: string}, propertyNames: {maxLength: 9}}", ""},
	{"if", "{type: string, if: {minLength: 2}, then: {pattern: ^a}}", ""},
	{"then", "{type: string, if: {minLength: 2}, then: {pattern: ^a}}", ""},
	{"else", "{type: string, if: {minLength: 2}, else: {pattern: ^a}}", ""},
	{"allOf", "{type: string, allOf: [{minLength: 2}]}", ""},
	{"anyOf", "{type: string, anyOf: [{minLength: 2}, {const: a}]}", ""},
	{"oneOf", "{type: string, oneOf: [{minLength: 2}, {const: a}]}", ""},
	{"not", "{type: string, not: {const: a}}", ""},

	{"unevaluatedItems", "{type: array, items: {type: string}, unevaluatedItems: false}", "elements of a list have one type"},
	{"unevaluatedProperties", "{type: object, unevaluatedProperties: false}", "members that properties does not name are dropped"},

	{"type", `{type: [string, "null"]}`, ""},
	{"const", "{type: string, const: a}", ""},
	{"enum", "{type: integer, enum: [1, 2]}", ""},
	{"multipleOf", "{type: integer, multipleOf: 2}", ""},
	{"maximum", "{type: integer, maximum: 2}", ""},
	{"exclusiveMaximum", "{type: integer, exclusiveMaximum: 2}", ""},
	{"minimum", "{type: integer, minimum: 2}", ""},
	{"exclusiveMinimum", "{type: integer, exclusiveMinimum: 2}", ""},
	{"maxLength", "{type: string, maxLength: 2}", ""},
	{"minLength", "{type: string, minLength: 2}", ""},
	{"pattern", "{pattern: ^a}", ""},
	{"maxItems", "{items: {type: string}, maxItems: 2}", ""},
	{"minItems", "{items: {type: string}, minItems: 2}", ""},
	{"uniqueItems", "{items: {type: string}, x-cluster-list-type: set, uniqueItems: true}", ""},
	{"maxContains", "{items: {type: string}, contains: {const: a}, maxContains: 2}", ""},
	{"minContains", "{items: {type: string}, contains: {const: a}, minContains: 2}", ""},
	{"maxProperties", "{type: object, maxProperties: 2}", ""},
	{"minProperties", "{additionalProperties: {type: string}, minProperties: 2}", ""},
	{"required", "{required: [a], properties: {a: {description: First., type: string}}}", ""},
	{"dependentRequired", "{properties: {a: {description: First., type: string}}, dependentRequired: {a: [a]}}", ""},

	{"format", "{format: uuid}", ""},

	{"contentEncoding", "{type: string, contentEncoding: base64}", "bytes are a format here"},
	{"contentMediaType", "{type: string, contentMediaType: text/html}", "the server does not look into texts"},
	{"contentSchema", "{type: string, contentSchema: {}}", "the server does not look into texts"},

	{"title", "{type: string, title: Word}", ""},
	{"description", "{type: string}", ""},
	{"default", "{type: string, default: a}", ""},
	{"deprecated", "{type: string, deprecated: true}", ""},
	{"readOnly", "{type: string, readOnly: true}", ""},
	{"writeOnly", "{type: string, writeOnly: true}", ""},
	{"examples", "{type: string, examples: [a, b]}", ""},

	// Those of OpenAPI 3.1, and nullable of OpenAPI 3.0.
	{"discriminator", "{type: object, discriminator: {propertyName: a}}", "it adds nothing"},
	{"xml", "{type: string, xml: {name: a}}", "objects are never XML"},
	{"externalDocs", "{type: string, externalDocs: {url: https://example.com}}", "OpenAPI shows it nowhere"},
	{"example", "{type: string, example: a}", "JSON Schema has a list of them"},
	{"nullable", "{type: string, nullable: true}", ""},

	// Those of custom resource definitions whose words are not nearly the same here.
	{"x-kubernetes-validations", "{type: object, x-kubernetes-validations: [{rule: true}]}", "rules are expressions whose value is the message"},
	{"x-kubernetes-embedded-resource", "{type: object, x-kubernetes-embedded-resource: true}", "objects in objects are any JSON"},
	{"x-kubernetes-int-or-string", "{x-kubernetes-int-or-string: true}", "it is a format here"},

	// Those of older drafts that the vocabularies still mention.
	{"$recursiveRef", `{$recursiveRef: "#"}`, "it is of an older draft"},
	{"$recursiveAnchor", "{type: string, $recursiveAnchor: true}", "it is of an older draft"},
	{"definitions", "{type: string, definitions: {}}", "it is of an older draft"},
	{"dependencies", "{type: object, dependencies: {}}", "it is of an older draft"},
}

// Every keyword of JSON Schema 2020-12 and OpenAPI 3.1 is understood, or refused with the
// reason and the remedy.
func TestEveryKeywordHasAFate(t *testing.T) {
	known := map[string]bool{}
	for _, f := range fates {
		known[f.keyword] = true
		t.Run(f.keyword, func(t *testing.T) {
			if f.field == "" {
				return
			}
			err := loadField(t, f.field)
			switch {
			case f.refused == "" && err != nil:
				t.Errorf("it is not understood: %v", err)
			case f.refused != "":
				want := "the keyword " + f.keyword + " is not understood: " + f.refused
				if err == nil || !strings.Contains(err.Error(), want) || !position.MatchString(err.Error()) || !strings.Contains(err.Error(), "; ") {
					t.Errorf("error %v, want %s, with position and remedy", err, want)
				}
			}
		})
	}
	for keyword := range annotation(t, "schema", "#/$defs/schema", "x-refused") {
		if !known[keyword] && keyword != "id" && keyword != "additionalItems" {
			t.Errorf("the refused keyword %s is not in the list", keyword)
		}
	}
	for _, vocabulary := range []string{"core", "applicator", "unevaluated", "validation", "format-annotation", "content", "meta-data"} {
		s, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/meta/" + vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Properties) == 0 {
			t.Errorf("the vocabulary %s has no keywords", vocabulary)
		}
		for keyword := range s.Properties {
			if !known[keyword] {
				t.Errorf("nothing is known of %s of the vocabulary %s", keyword, vocabulary)
			}
		}
	}
}

// loadField loads the documents of fieldProject.
func loadField(t *testing.T, field string) error {
	t.Helper()
	_, err := Load(fieldProject(t, field))
	return err
}

// fieldProject has the documents of the shop with another field in the specification of
// orders.
func fieldProject(t *testing.T, field string) string {
	t.Helper()
	root := project(t, "")
	path := filepath.Join(root, "schemas", "shop", "v1", "Order.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(field, "{") {
		field = "{description: Drawn up for the test., x-cluster-binary: 9, " + field[1:]
	} else {
		field = "{description: Drawn up for the test., x-cluster-binary: 9, " + field + "}"
	}
	more := string(text)
	if strings.Contains(field, "$ref") {
		more = strings.Replace(more, "  Item:\n", "  Word: {description: Some text., $anchor: word, type: string}\n  Item:\n", 1)
	}
	more = strings.Replace(more, "      items:\n", "      odd: "+field+"\n      items:\n", 1)
	if err := os.WriteFile(path, []byte(more), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// Every format of JSON Schema and OpenAPI is understood or refused likewise.
func TestEveryFormatHasAFate(t *testing.T) {
	refused := annotation(t, "schema", "#/$defs/schema/properties/format", "x-refused")
	understood := append(slices.Clone(ownFormats), document.TextFormats()...)
	for _, name := range strings.Fields(`date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference uuid
		uri-template json-pointer relative-json-pointer regex int32 int64 float double byte binary password`) {
		kind := "string"
		for k, names := range formats {
			if slices.Contains(names, name) && k != "" {
				kind = k
			}
		}
		err := loadField(t, "{type: "+kind+", format: "+name+"}")
		switch why, is := refused[name]; {
		case is && (err == nil || !strings.Contains(err.Error(), why.(string))):
			t.Errorf("%s: error %v, want %v", name, err, why)
		case !is && (err != nil || !slices.Contains(understood, name)):
			t.Errorf("%s is neither understood nor refused: %v", name, err)
		}
	}
}

// Broken keywords are reported like other field errors: path, value, rule.
func TestKeywordMessages(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{"{type: string, const: a}", `"b"`, `FieldValueNotSupported spec.odd: Unsupported value: "b": must be "a"`},
		{"{type: integer, enum: [1, 2]}", `3`, `FieldValueNotSupported spec.odd: Unsupported value: 3: supported values: 1, 2`},
		{"{type: integer, multipleOf: 5}", `7`, `FieldValueInvalid spec.odd: Invalid value: 7: must be a multiple of 5`},
		{"{type: number, multipleOf: 0.1}", `0.35`, `FieldValueInvalid spec.odd: Invalid value: 0.35: must be a multiple of 0.1`},
		{"{type: string, format: uuid}", `"x"`, `FieldValueInvalid spec.odd: Invalid value: "x": must be a UUID, like 123e4567-e89b-12d3-a456-426614174000`},
		{"{type: string, oneOf: [{pattern: ^a}, {pattern: b$}]}", `"ab"`, `FieldValueInvalid spec.odd: Invalid value: "ab": must validate one and only one schema (oneOf). Found 2 valid alternatives`},
		{"{type: string, anyOf: [{pattern: ^a}, {const: b}]}", `"c"`, `FieldValueInvalid spec.odd: Invalid value: "c": must validate at least one schema (anyOf)` + "\n" +
			`FieldValueInvalid spec.odd: Invalid value: "c": must match the pattern ^a`},
		{"{type: string, not: {const: a}}", `"a"`, `FieldValueInvalid spec.odd: Invalid value: "a": must not validate the schema (not)`},
		{"{type: string, if: {minLength: 3}, then: {pattern: ^a}, else: {pattern: ^b}}", `"cc"`, `FieldValueInvalid spec.odd: Invalid value: "cc": must match the pattern ^b`},
		{"{items: {type: string}, contains: {const: a}}", `["b"]`, `FieldValueInvalid spec.odd: Invalid value: 0: must have at least 1 elements as in contains`},
		{"{items: {type: string}, x-cluster-list-type: set, uniqueItems: true}", `["b","b"]`, `FieldValueDuplicate spec.odd[1]: Duplicate value: "b"`},
		{"{additionalProperties: {type: string}, propertyNames: {maxLength: 2}}", `{"abc":"x"}`, `FieldValueInvalid spec.odd[abc]: Invalid value: "abc": Too long: must have at most 2 characters`},
		{"{additionalProperties: {type: string}, patternProperties: {^a: {type: string, minLength: 3}}}", `{"abc":"x"}`, `FieldValueInvalid spec.odd[abc]: Invalid value: "x": must be at least 3 characters long`},
		{"{additionalProperties: {type: string}, minProperties: 2}", `{"a":"x"}`, `FieldValueInvalid spec.odd: Invalid value: 1: must have at least 2 items`},
		{"{properties: {a: {description: First., type: string}, b: {description: Second., type: string}}, dependentRequired: {a: [b]}}", `{"a":"x"}`, `FieldValueRequired spec.odd.b: Required value: a needs it`},
		{"{properties: {a: {description: First., type: string}, b: {description: Second., type: string}}, oneOf: [{required: [a]}, {required: [b]}]}", `{"a":"","b":""}`,
			`FieldValueInvalid spec.odd: Invalid value: {}: must validate one and only one schema (oneOf). Found none valid` + "\n" + `FieldValueRequired spec.odd.a: Required value`},
		{`{x-cluster-preserve-unknown-fields: true, allOf: [{items: {type: [string, "null"]}}]}`, `[null, "a"]`, ""},
		{`{x-cluster-preserve-unknown-fields: true, allOf: [{items: {type: [string, "null"]}}]}`, `[7]`, `FieldValueTypeInvalid spec.odd[0]: Invalid value: 7: must be of type string,null` + "\n" +
			`FieldValueInvalid spec.odd: Invalid value: [7]: must validate all the schemas (allOf). None validated`},
		{"{x-cluster-preserve-unknown-fields: true, anyOf: [{type: string}, {type: [integer, boolean]}]}", `[1]`, `FieldValueInvalid spec.odd: Invalid value: [1]: must validate at least one schema (anyOf)` + "\n" +
			`FieldValueTypeInvalid spec.odd: Invalid value: [1]: must be of type string`},
	} {
		root := fieldProject(t, c.field)
		m, err := Load(root)
		if err != nil {
			t.Errorf("%s: %v", c.field, err)
			continue
		}
		table := m.GroupVersions[1].Table
		doc, _, err := (&document.Decoder{Table: table}).Decode(table.Root("Order"), []byte(`{"metadata":{},"spec":{"state":"Open","odd":`+c.value+`}}`))
		if err != nil {
			t.Errorf("%s: %v", c.field, err)
			continue
		}
		var got []string
		for _, cause := range document.Validate(doc.Root(), nil) {
			got = append(got, cause.Reason+" "+cause.Field+": "+cause.Message)
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s, %s: got\n%s\nwant\n%s", c.field, c.value, text, c.want)
		}
	}
}
