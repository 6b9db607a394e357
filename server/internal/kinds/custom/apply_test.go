package custom_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const applyYAML = "application/apply-patch+yaml"

const looseSchema = `{"type":"object","properties":{
	"spec":{"type":"object","properties":{
		"name":{"type":"string"},
		"size":{"type":"integer"},
		"level":{"type":"integer","default":3},
		"note":{"type":"string","nullable":true},
		"port":{"x-kubernetes-int-or-string":true},
		"any":{"x-kubernetes-preserve-unknown-fields":true},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},
		"template":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"metadata":{"type":"object"}}},
		"atomic":{"type":"object","x-kubernetes-map-type":"atomic"},
		"free":{"type":"object","additionalProperties":true},
		"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
			"known":{"type":"object","properties":{"a":{"type":"integer"},"list":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}}}}}}}},
		"whole":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}
	}}}}`

// What a schema does not name is pruned of an applied configuration, and owned, where 1.25
// does so: in objects without properties, and below those that keep unknown members.
func TestApplyPrunesLooseObjects(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(looseSchema, "")
	apply := func(manager, name, spec string, code int, want string) harness.Step {
		return harness.Step{manager + " " + spec, "PATCH", harness.ShopWidgets + "/" + name + "?fieldValidation=Strict&fieldManager=" + manager, applyYAML, harness.Widget(name, `,"spec":`+spec), code, want}
	}
	h.Run(t, []harness.Step{
		apply("m", "a", `{"template":{"name":"x","metadata":{"labels":{"a":"b"}}}}`, 201, `"template":{"metadata":{},"name":"x"}}`),
		{"what was pruned is owned", "GET", harness.ShopWidgets + "/a", "", "", 200, `"f:metadata":{"f:labels":{".":{},"f:a":{}}}`},
		apply("m", "a", `{"template":{"name":"x","metadata":{"labels":{"a":"b"}}}}`, 200, `"generation":1,`),
		apply("n", "a", `{"template":{"metadata":{"labels":[1]}}}`, 409, `conflict with \"m\": .spec.template.metadata.labels"`),
		apply("m", "b", `{"atomic":{"x":1}}`, 201, `{"f:spec":{"f:atomic":{}}}`),
		apply("m", "c", `{"free":{"x":{"y":1},"z":[{"q":1}]}}`, 201, `"free":{"x":{},"z":[{}]}`),
		apply("m", "d", `{"open":{"known":{"a":1,"more":2,"list":[{"b":1,"c":2}]},"other":{"x":1}}}`, 201, `"open":{"known":{"a":1,"list":[{"b":1}]},"other":{"x":1}}}`),
		apply("m", "e", `{"whole":{"apiVersion":"v1","kind":"Pod","metadata":null,"spec":{"x":1}}}`, 201, `"whole":{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{}}`),
		apply("m", "f", `{"whole":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{}}}}`, 201, `"metadata":{}}`),
		apply("m", "g", `{"template":{"name":"x","more":1}}`, 400, `(/g; shop.example.com/v1, Kind=Widget): .spec.template.more: field not declared in schema"`),
		apply("m", "g", `{"template":{"name":"x","more":1},"other":2}`, 400, `errors:\n  .spec.template.more: field not declared in schema\n  .spec.other: field not declared in schema"`),
		apply("m", "g", `{"whole":{"apiVersion":"v1","kind":"Pod","more":1}}`, 400, `.spec.whole.more: field not declared in schema`),
	})
}

// A null that a schema does not allow is a value of a wrong type, in an applied
// configuration, also in a version that is not stored.
func TestApplyOfNull(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.DefinitionsPath, fmt.Sprintf(`{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s}},{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":%s}}]}}`,
		looseSchema, strings.Replace(looseSchema, `"name":{"type":"string"},`, "", 1)))
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
		return strings.Contains(harness.Conditions(o, "widgets.shop.example.com"), "Established=True")
	})
	for _, version := range []string{"v1", "v2"} {
		h.AwaitCode("/apis/shop.example.com/"+version+"/widgets", 200)
		apply := func(name, spec string, code int, want string) harness.Step {
			as := func(text string) string {
				return strings.Replace(text, "shop.example.com/v1", "shop.example.com/"+version, 1)
			}
			return harness.Step{version + " " + spec, "PATCH", as(harness.ShopWidgets) + "/" + name + "?fieldManager=m", applyYAML, as(harness.Widget(name, `,"spec":`+spec)), code, want}
		}
		null := func(path, kind string) string {
			return fmt.Sprintf(`spec.%s: Invalid value: \"null\": spec.%s in body must be of type %s: \"null\"`, path, path, kind)
		}
		live := "live" + version
		h.Run(t, []harness.Step{
			apply(live, `{"size":1,"labels":{"a":"b"}}`, 201, ""),
			apply(live, `{"size":null}`, 422, null("size", "integer")),
			apply("new", `{"size":null}`, 422, null("size", "integer")),
			apply("new", `{"port":null}`, 422, null("port", "integer,string")),
			apply("new", `{"template":null}`, 422, null("template", "object")),
			apply("new", `{"template":{"name":null}}`, 422, null("template.name", "string")),
			apply("new", `{"labels":{"a":null}}`, 422, null("labels.a", "string")),
			apply("new", `null`, 422, `spec in body must be of type object: \"null\"`),
			apply("filled"+version, `{"level":null,"note":null,"any":null}`, 201, `"spec":{"level":3,"note":null}`),
			apply(live, `{"size":1,"labels":{"a":"b"},"level":3}`, 200, `"size":1`),
		})
	}
}

// A dry run of an apply that creates an object shows it as it would be stored, with the
// defaults of the storage version.
func TestDryApplyShowsStoredForm(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer","default":3}}}}}`,
		`},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"other":{"type":"string","default":"x"}}}}}}`)
	beta := strings.Replace(harness.ShopWidgets, "v1", "v1beta1", 1)
	h.AwaitCode(beta, 200)
	body := strings.Replace(harness.Widget("a", `,"spec":{}`), "/v1", "/v1beta1", 1)
	h.Run(t, []harness.Step{
		{"dry", "PATCH", beta + "/a?fieldManager=m&dryRun=All", applyYAML, body, 201, `"spec":{"size":3}}`},
		{"dry, its version", "PATCH", beta + "/a?fieldManager=m&dryRun=All", applyYAML, body, 201, `{"kind":"Widget","apiVersion":"shop.example.com/v1beta1"`},
		{"nothing is stored", "GET", beta + "/a", "", "", 404, ""},
		{"real", "PATCH", beta + "/a?fieldManager=m", applyYAML, body, 201, `"spec":{}}`},
		{"dry, of an object", "PATCH", beta + "/a?fieldManager=m&dryRun=All", applyYAML, body, 200, `"spec":{}}`},
	})
}

// A value of another kind than its schema wants is refused before anything is compared with
// the live object: an array would change nothing of an object.
func TestApplyOfAnotherKindOfValue(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(looseSchema, "")
	h.Run(t, []harness.Step{{"live", "PATCH", harness.ShopWidgets + "/a?fieldManager=m", applyYAML, harness.Widget("a", `,"spec":{"size":1,"name":"x","template":{"name":"x"}}`), 201, ""}})
	for _, wrong := range []struct{ spec, want string }{
		{`[null]`, `.spec: expected map, got array`},
		{`1`, `.spec: expected map, got number`},
		{`{"size":"x"}`, `.spec.size: expected number, got string`},
		{`{"name":{}}`, `.spec.name: expected string, got object`},
		{`{"template":[]}`, `.spec.template: expected map, got array`},
		{`{"labels":{"a":true}}`, `.spec.labels.a: expected string, got bool`},
		{`{"size":"x","name":1}`, `errors:\n  .spec.size: expected number, got string\n  .spec.name: expected string, got number`},
	} {
		h.Run(t, []harness.Step{{wrong.spec, "PATCH", harness.ShopWidgets + "/a?fieldManager=n", applyYAML, harness.Widget("a", `,"spec":`+wrong.spec), 422, wrong.want}})
	}
}

// The configuration of a mutating policy is merged as an applied one: members that a schema
// does not name are pruned, or refused where it names others.
func TestPoliciesMergeLooseObjects(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(looseSchema, "")
	rules := func(name string) string {
		return `"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":["shop.example.com"],"apiVersions":["v1"],"resources":["widgets"]}]},
			"matchConditions":[{"name":"n","expression":"object.metadata.name == '` + name + `'"}],`
	}
	h.MutateFor("loose", rules("loose")+`"mutations":[`+harness.ConfigurationChange(`Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{x: 1}}}}`)+`]`)
	h.MutateFor("named", rules("named")+`"mutations":[`+harness.ConfigurationChange(`Object{spec: Object.spec{template: Object.spec.template{more: 1}}}`)+`]`)
	h.AwaitCode(harness.ShopWidgets, 200)
	h.Run(t, []harness.Step{
		{"loose", "POST", harness.ShopWidgets, "", harness.Widget("loose", `,"spec":{"template":{"name":"a"}}`), 201, `"template":{"metadata":{},"name":"a"}`},
		{"named", "POST", harness.ShopWidgets, "", harness.Widget("named", `,"spec":{"template":{"name":"a"}}`), 403, `.spec.template.more: field not declared in schema`},
	})
}
