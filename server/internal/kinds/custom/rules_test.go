package custom_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// rules are rules of a schema, each an expression or the members of a rule.
func rules(all ...string) string {
	for i, r := range all {
		if !strings.HasPrefix(r, "{") {
			all[i] = `{"rule":` + strconv.Quote(r) + `}`
		}
	}
	return `"x-kubernetes-validations":[` + strings.Join(all, ",") + `]`
}

// ruledSchema has rules at the root, for fields, in a map, in a keyed list and in a list
// without keys.
var ruledSchema = `{"type":"object",` + rules(`self.metadata.name != 'forbidden'`) + `,"properties":{
	"spec":{"type":"object","required":["size"],` + rules(`self.size >= self.least`, `{"rule":"self.size < 100","message":"is too large "}`,
	`{"rule":"oldSelf.size <= self.size","message":"may not shrink"}`) + `,"properties":{
		"size":{"type":"integer"},
		"least":{"type":"integer","default":1},
		"name":{"type":"string","maxLength":10,` + rules(`{"rule":"self == self.lowerAscii()","messageExpression":"'not ' + self","reason":"FieldValueForbidden"}`) + `},
		"ports":{"type":"object","maxProperties":5,"additionalProperties":{"type":"integer",` + rules(`self > 0`) + `}},
		"parts":{"type":"array","maxItems":5,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],
			` + rules(`{"rule":"self.v == oldSelf.v","message":"is fixed"}`, `{"rule":"self.v != 7","fieldPath":".v","message":"is seven"}`) + `,
			"properties":{"k":{"type":"string","maxLength":5},"v":{"type":"integer","default":0}}}},
		"plain":{"type":"array","maxItems":5,"items":{"type":"string","maxLength":5,` + rules(`self != 'x'`) + `}},
		"since":{"type":"object","properties":{"day":{"type":"string","maxLength":10}},` + rules(`{"rule":"oldSelf.hasValue() || self.day == 'now'","optionalOldSelf":true,"message":"begins now"}`) + `},
		"either":{"x-kubernetes-int-or-string":true,` + rules(`type(self) == int ? self > 0 : self.endsWith('%')`) + `}
	}},
	"status":{"type":"object",` + rules(`self.ready <= 3`) + `,"properties":{"ready":{"type":"integer"}}}}}`

func TestCustomRules(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(ruledSchema, `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.ready"}}`)
	bad := func(name, spec, want string) harness.Step {
		return harness.Step{name, "POST", harness.ShopWidgets, "", harness.Widget("bad", `,"spec":`+spec), 422, want}
	}
	const merge = "application/merge-patch+json"
	h.Run(t, []harness.Step{
		bad("a rule", `{"size":0}`, `"message":"Invalid value: \"object\": failed rule: self.size >= self.least","field":"spec"`),
		bad("a message", `{"size":100}`, `"message":"Invalid value: \"object\": is too large ","field":"spec"`),
		bad("two", `{"size":-1,"ports":{"http":0}}`, `"field":"spec.ports[http]"`),
		bad("an expression as the message", `{"size":1,"name":"Ab"}`, `{"reason":"FieldValueForbidden","message":"Forbidden: not Ab","field":"spec.name"}`),
		bad("at a member", `{"size":1,"parts":[{"k":"a","v":7}]}`, `"message":"Invalid value: \"object\": is seven","field":"spec.parts[0].v"`),
		bad("in a list", `{"size":1,"plain":["a","x"]}`, `"message":"Invalid value: \"string\": failed rule: self != 'x'","field":"spec.plain[1]"`),
		bad("without an old value", `{"size":1,"since":{"day":"soon"}}`, `"message":"Invalid value: \"object\": begins now","field":"spec.since"`),
		bad("of one of two types", `{"size":1,"either":"5"}`, `"message":"Invalid value: \"\": failed rule: type(self) == int`),
		bad("a wrong member", `{"size":1,"since":{}}`, `"message":"Invalid value: \"object\": no such key: day evaluating rule: begins now","field":"spec.since"`),
		bad("not checked", `{"size":"x","ports":{"a":0}}`,
			`{"reason":"FieldValueInvalid","message":"Invalid value: \"null\": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation","field":"<nil>"}`),
		{"the whole object", "POST", harness.ShopWidgets, "", harness.Widget("forbidden", `,"spec":{"size":1}`), 422, `"message":"Invalid value: \"object\": failed rule: self.metadata.name != 'forbidden'","field":"<nil>"`},
		{"of another kind", "POST", harness.ShopWidgets, "", strings.Replace(harness.Widget("forbidden", `,"spec":{"size":1}`), "Widget", "Gadget", 1), 422, `must be Widget","field":"kind"},{"reason":"FieldValueInvalid","message":"Invalid value: \"object\": failed rule: self.metadata.name`},
		{"dry run", "POST", harness.ShopWidgets + "?dryRun=All", "", harness.Widget("w", `,"spec":{"size":0}`), 422, "failed rule"},
		{"right", "POST", harness.ShopWidgets, "", harness.Widget("w", `,"spec":{"size":5,"name":"ab","ports":{"a":1},"parts":[{"k":"a","v":1},{"k":"b","v":2}],"plain":["a"],"since":{"day":"now"},"either":3}`), 201, ""},
		{"a transition", "PATCH", harness.ShopWidgets + "/w", merge, `{"spec":{"size":4}}`, 422, `"message":"Invalid value: \"object\": may not shrink","field":"spec"`},
		{"a transition of a part", "PATCH", harness.ShopWidgets + "/w", merge, `{"spec":{"parts":[{"k":"b","v":2},{"k":"c","v":9},{"k":"a","v":3}]}}`, 422, `"field":"spec.parts[2]"`},
		{"an old value", "PATCH", harness.ShopWidgets + "/w", merge, `{"spec":{"since":{"day":"then"}}}`, 200, ""},
		{"applied", "PATCH", harness.ShopWidgets + "/w?fieldManager=m&force=true", "application/apply-patch+yaml", harness.Widget("w", `,"spec":{"size":200}`), 422, "is too large"},
		{"scaled", "PATCH", harness.ShopWidgets + "/w/scale", merge, `{"spec":{"replicas":2}}`, 422, "may not shrink"},
		{"status", "PATCH", harness.ShopWidgets + "/w/status", merge, `{"status":{"ready":4}}`, 422, `"field":"status"`},
		{"a right status", "PATCH", harness.ShopWidgets + "/w/status", merge, `{"status":{"ready":3}}`, 200, `"ready":3`},
		{"json patch", "PATCH", harness.ShopWidgets + "/w", "application/json-patch+json", `[{"op":"replace","path":"/spec/size","value":6}]`, 200, `"size":6`},
	})
}

// Mistakes that an update does not touch do not refuse it.
func TestCustomObjectsKeepOldMistakes(t *testing.T) {
	h := harness.Start(t, nil)
	parts := func(of string) string {
		return `{"type":"object","properties":{"spec":{"type":"object","properties":{"name":{"type":"string"` + of + `},"other":{"type":"string"},
			"keyed":{"type":"array","maxItems":9,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"` + of + `}}}},
			"plain":{"type":"array","maxItems":9,"items":{"type":"string"` + of + `}}}}}}`
	}
	h.Define(parts(""), "")
	h.Create(harness.ShopWidgets, harness.Widget("w", `,"spec":{"name":"Wrong","keyed":[{"k":"a","v":"Wrong"}],"plain":["Wrong"]}`))
	const merge = "application/merge-patch+json"
	for i, of := range []string{`,"maxLength":3`, `,"maxLength":10,` + rules(`{"rule":"self == self.lowerAscii()","message":"is not lower"}`)} {
		h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+parts(of)+`}}]}}`)
		for end := time.Now().Add(15 * time.Second); h.Send("POST", harness.ShopWidgets+"?dryRun=All", "", []byte(harness.Widget("v", `,"spec":{"name":"Wrong"}`))).Code != 422; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the schema has not changed")
			}
		}
		h.Run(t, []harness.Step{
			{"untouched", "PATCH", harness.ShopWidgets + "/w", merge, fmt.Sprintf(`{"spec":{"other":"%d"}}`, i), 200, ""},
			{"a new element", "PATCH", harness.ShopWidgets + "/w?dryRun=All", merge, `{"spec":{"keyed":[{"k":"b","v":"ok"},{"k":"a","v":"Wrong"}]}}`, 200, ""},
			{"touched", "PATCH", harness.ShopWidgets + "/w", merge, `{"spec":{"name":"Wrongs"}}`, 422, `"field":"spec.name"`},
			{"a touched element", "PATCH", harness.ShopWidgets + "/w", merge, `{"spec":{"keyed":[{"k":"a","v":"Wrongs"}]}}`, 422, `"field":"spec.keyed[0].v"`},
			{"a list without keys", "PATCH", harness.ShopWidgets + "/w", merge, `{"spec":{"plain":["Wrong","ok"]}}`, 422, `"field":"spec.plain[0]"`},
		})
	}
	if got := h.Send("PATCH", harness.ShopWidgets+"/w", merge, []byte(`{"spec":{"other":"w"}}`)).Header.Values("Warning"); len(got) != 3 || !strings.Contains(got[0], "is not lower") {
		t.Errorf("warnings of forgiven mistakes: %q", got)
	}
}

// Wrong rules are refused with the causes of 1.25, and costly ones in bounded time.
func TestWrongRules(t *testing.T) {
	h := harness.Start(t, nil)
	for _, c := range []struct{ name, properties, want string }{
		{"syntax", `"a":{"type":"string",` + rules("self +") + `}`,
			`{"reason":"FieldValueInvalid","message":"Invalid value: apiextensions.ValidationRule{Rule:\"self +\", Message:\"\"}: compilation failed: ERROR: <input>:1:7: Syntax error`},
		{"unknown field", `"a":{"type":"object",` + rules("self.b == 1") + `}`, `undefined field 'b'`},
		{"result", `"a":{"type":"integer",` + rules("self + 1") + `}`, `cel expression must evaluate to a bool","field":"spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].rule"`},
		{"empty", `"a":{"type":"integer",` + rules(" ") + `}`, `{"reason":"FieldValueRequired","message":"Required value: rule is not specified"`},
		{"message", `"a":{"type":"integer",` + rules(`{"rule":"self > 1","message":"a\nb"}`) + `}`, `message must not contain line breaks`},
		{"lines", `"a":{"type":"integer",` + rules("self\n> 1") + `}`, `message must be specified if rule contains line breaks`},
		{"wrong below", `"a":{"type":"object",` + rules("self.b == 1") + `,"properties":{"c":{"type":"integer",` + rules("") + `}}}`, `"causes":[{"reason":"FieldValueRequired","message":"Required value: rule is not specified","field":"spec.validation.openAPIV3Schema.properties[a].properties[c].x-kubernetes-validations[0].rule"}]`},
		{"old values in lists", `"a":{"type":"array","maxItems":3,"items":{"type":"integer",` + rules("self > oldSelf") + `}}`,
			`Invalid value: \"self > oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[a]`},
		{"cost of a rule", `"a":{"type":"array","items":{"type":"string"},` + rules("self.all(x, self.all(y, x == y))") + `}`,
			`{"reason":"FieldValueForbidden","message":"Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)","field":"spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].rule"}`},
		{"cost of a schema", `"a":{"type":"array","maxItems":1000,"items":{"type":"array","maxItems":1000,"items":{"type":"integer",` + rules(manyRules(60)...) + `}}}`,
			`x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of`},
		{"reason", `"a":{"type":"integer",` + rules(`{"rule":"self > 1","reason":"Other"}`) + `}`, `"FieldValueNotSupported","message":"Unsupported value: \"Other\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"`},
		{"path", `"a":{"type":"object","properties":{"b":{"type":"integer"}},` + rules(`{"rule":"has(self.b)","fieldPath":".c"}`) + `}`, `Invalid value: \".c\": must be a valid path`},
		{"message expression", `"a":{"type":"integer",` + rules(`{"rule":"self > 1","messageExpression":"self"}`) + `}`, `messageExpression must evaluate to a string`},
		{"optional", `"a":{"type":"integer",` + rules(`{"rule":"self > 1","optionalOldSelf":true}`) + `}`, `Invalid value: true: may not be set if oldSelf is not used in rule`},
		{"no schema", `"a":{"x-kubernetes-preserve-unknown-fields":true,` + rules("true") + `}`, `"reason":"InternalError"`},
		{"default", `"a":{"type":"integer","default":1,` + rules("self > 1") + `}`, `"message":"Invalid value: \"integer\": failed rule: self > 1","field":"spec.validation.openAPIV3Schema.properties[a].default"`},
		{"bomb", `"a":{"type":"string",` + rules(strings.Repeat("(", 300)+"true"+strings.Repeat(")", 300)) + `}`, `compilation failed`},
		{"long", `"a":{"type":"integer",` + rules(strings.Repeat("self > 1 && ", 8000)+"true") + `}`, ``},
		{"deep", `"a":{"type":"array","maxItems":9,"items":{"type":"integer"},` + rules(strings.Repeat("self.map(x, ", 60)+"x"+strings.Repeat(")", 60)+" == []") + `}`, ``},
		{"doubled", `"a":{"type":"integer",` + rules("optional.of(self)"+strings.Repeat(".optMap(x, x)", 100)+".hasValue()") + `}`, `the expression is too large`},
		{"many", `"a":{"type":"integer",` + rules(manyRules(2000)...) + `}`, ``},
		{"lists of lists", `"a":{"type":"integer",` + rules(strings.Repeat("[", 240)+"1"+strings.Repeat("]", 240)+".size() > self") + `}`, ``},
	} {
		begin := time.Now()
		got := h.Send("POST", harness.DefinitionsPath+"?dryRun=All", "", []byte(`{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{`+c.properties+`}}}}]}}`))
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s took %v", c.name, took)
		}
		if c.want != "" && (got.Code != http.StatusUnprocessableEntity || !strings.Contains(string(got.Body), c.want)) || got.Code >= 500 {
			t.Errorf("%s: %d %s, want %s", c.name, got.Code, got.Body, c.want)
		}
	}
}

func manyRules(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("self > %d && self != 5", -i))
	}
	return all
}

// Rules that are accepted, but cost too much for an object, refuse it.
func TestRulesThatCostTooMuch(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"list":{"type":"array","maxItems":95,"items":{"type":"integer"},`+
		rules(`{"rule":"self.all(a, self.all(b, !self.exists(c, c < 0)))","message":"all equal"}`)+`}}}`, "")
	list := strings.TrimSuffix(strings.Repeat("1,", 95), ",")
	h.Run(t, []harness.Step{
		{"few", "POST", harness.ShopWidgets, "", harness.Widget("a", `,"list":[1,2,3]`), 201, ""},
		{"many", "POST", harness.ShopWidgets, "", harness.Widget("b", `,"list":[`+list+`]`), 422, "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: all equal"},
	})
}
