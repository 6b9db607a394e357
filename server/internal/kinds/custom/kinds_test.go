package custom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Objects are pruned and defaulted, with the causes of 1.25.
func TestCustomObjects(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(harness.WidgetSchema, "")
	bad := func(name, spec, want string) harness.Step {
		return harness.Step{name, "POST", harness.ShopWidgets, "", harness.Widget("bad", `,"spec":`+spec), 422, want}
	}
	h.Run(t, []harness.Step{
		{"pruned and filled in", "POST", harness.ShopWidgets + "?fieldValidation=Ignore", "", harness.Widget("w", `,"more":1,"spec":{"name":"abc","other":{"x":1},"open":{"known":1,"b":2.0,"a":[1]},"keyed":[{"key":"k"}],"note":null,"any":null}`), 201,
			`"spec":{"keyed":[{"key":"k","on":true}],"name":"abc","note":null,"open":{"known":1,"a":[1],"b":2},"size":4}}`},
		{"of no kind", "POST", harness.ShopWidgets, "", `{"apiVersion":"shop.example.com/v1","kind":null,"metadata":{"name":"v"}}`, 400, "Object 'Kind' is missing"},
		{"of no version", "POST", harness.ShopWidgets, "", `{"kind":"Widget","metadata":{"name":"v"}}`, 400, "the API version in the data () does not match"},
		{"of another kind", "POST", harness.ShopWidgets, "", strings.Replace(harness.Widget("v", ""), "Widget", "Gadget", 1), 422, `"field":"kind"`},
		{"with unknown fields", "POST", harness.ShopWidgets + "?fieldValidation=Strict", "", strings.Replace(harness.Widget("v", `,"more":1`), "Widget", "Gadget", 1), 422, `"field":"kind"`},
		{"a list", "POST", harness.ShopWidgets, "", " []", 400, "must be of type Widget"},
		{"null after the name", "POST", harness.ShopWidgets, "", `{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"v","name":null}}`, 422, `"field":"metadata.name"`},
		{"strict", "POST", harness.ShopWidgets + "?fieldValidation=Strict", "", harness.Widget("v", `,"spec":{"name":"abc","other":{"x":1}}`), 400, `unknown field \"spec.other\"`},
		{"twice", "POST", harness.ShopWidgets + "?fieldValidation=Strict", "", harness.Widget("v", `,"spec":{"name":"abc","name":"abd"}`), 400, `duplicate field \"spec.name\"`},
		bad("missing", `{}`, `spec.name: Required value`),
		bad("too long", `{"name":"abcdef"}`, `spec.name: Too long: may not be longer than 5`),
		bad("too short", `{"name":"a"}`, `spec.name: Invalid value: \"a\": spec.name in body should be at least 2 chars long`),
		bad("pattern", `{"name":"ABC"}`, `spec.name in body should match '^[a-z]+$'`),
		bad("type", `{"name":"abc","size":"4"}`, `spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"`),
		bad("bound", `{"name":"abc","size":12}`, `spec.size: Invalid value: 12: spec.size in body should be less than or equal to 10`),
		bad("multiple", `{"name":"abc","size":3}`, `spec.size in body should be a multiple of 2`),
		bad("null", `{"name":"abc","keyed":[null]}`, `spec.keyed[0] in body must be of type object: \"null\"`),
		bad("list for a number", `{"name":"abc","port":[]}`, `spec.port in body must be of type integer,string: \"array\"`),
		bad("values of a map", `{"name":"abc","map":{"a":"x"}}`, `spec.map.a in body must be of type integer`),
		bad("too many", `{"name":"abc","map":{"a":1,"b":2,"c":3}}`, `spec.map: Too many: 3: must have at most 2 items`),
		bad("none of two", `{"name":"abc","one":{}}`, `\"spec.one\" must validate one and only one schema (oneOf). Found none valid`),
		bad("both of two", `{"name":"abc","one":{"a":"x","b":"y"}}`, `Found 2 valid alternatives`),
		bad("set", `{"name":"abc","set":["a","b","a"]}`, `spec.set[2]: Duplicate value: \"a\"`),
		bad("keys", `{"name":"abc","keyed":[{"key":"a"},{"key":"a"}]}`, `spec.keyed[1]: Duplicate value: {\"key\":\"a\"}`),
		bad("not whole", `{"name":"abc","whole":{"a":1}}`, `spec.whole.apiVersion: Required value: must not be empty`),
		bad("spec", `"x"`, `spec in body must be of type object: \"string\"`),
		{"a whole number as a fraction", "POST", harness.ShopWidgets + "?dryRun=All", "", harness.Widget("x", `,"spec":{"name":"abc","size":2.0}`), 201, `"size":2}`},
		{"whole", "POST", harness.ShopWidgets + "?dryRun=All", "", harness.Widget("x", `,"spec":{"name":"abc","whole":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","bad":1},"spec":{"z":1}}}`), 201,
			`"whole":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"z":1}}`},
		{"binary", "POST", harness.ShopWidgets, "application/vnd.kubernetes.protobuf", "k8s", 415, "application/yaml"},
		{"strategic", "PATCH", harness.ShopWidgets + "/w", "application/strategic-merge-patch+json", `{}`, 415, "merge-patch+json"},
		{"merge", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"spec":{"note":null,"open":{"b":null},"keyed":null}}`, 200, `"open":{"known":1,"a":[1]}`},
		{"of another kind, without a version", "PUT", harness.ShopWidgets + "/w", "", strings.Replace(harness.Widget("w", ""), "Widget", "Gadget", 1), 422, "metadata.resourceVersion"},
		{"another kind of what is not there", "PUT", harness.ShopWidgets + "/v", "", strings.Replace(harness.Widget("v", ""), "Widget", "Gadget", 1), 404, "not found"},
		{"any finalizer", "PATCH", harness.ShopWidgets + "/w?dryRun=All", "application/merge-patch+json", `{"metadata":{"finalizers":["bare"]}}`, 200, `"finalizers":["bare"]`},
		{"without a version", "PUT", harness.ShopWidgets + "/w", "", harness.Widget("w", `,"spec":{"name":"abc"}`), 422, "metadata.resourceVersion"},
		{"a put creates nothing", "PUT", harness.ShopWidgets + "/new", "", harness.Widget("new", `,"spec":{"name":"abc"}`), 404, "not found"},
		{"applied without a field for it", "PATCH", harness.ShopWidgets + "/w?fieldManager=m&fieldValidation=Ignore", "application/apply-patch+yaml", harness.Widget("w", `,"spec":{"more":1}`), 400, ".spec.more: field not declared in schema"},
		{"applied with an object for a port", "PATCH", harness.ShopWidgets + "/w?fieldManager=m&force=true", "application/apply-patch+yaml", harness.Widget("w", `,"spec":{"name":"abc","port":{"a":1}}`), 422, `"field":"spec.port"`},
		{"applied with a list for its fields", "PATCH", harness.ShopWidgets + "/w?fieldManager=m&force=true", "application/apply-patch+yaml", harness.Widget("w", `,"spec":[]`), 422, `"field":"spec"`},
		{"applied with a text for its fields", "PATCH", harness.ShopWidgets + "/w?fieldManager=m&force=true", "application/apply-patch+yaml", harness.Widget("w", `,"spec":"x"`), 422, `"field":"spec"`},
		{"applied with a field twice", "PATCH", harness.ShopWidgets + "/w?fieldManager=m&force=true&dryRun=All&fieldValidation=Warn", "application/apply-patch+yaml", "apiVersion: shop.example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {name: abc, name: abc}\n", 200, ""},
		{"another kind", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"kind":"Shoe"}`, 422, `kind: Invalid value: \"Shoe\": must be Widget`},
		{"another kind with wrong labels", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"kind":"Shoe","metadata":{"labels":{"a/b/c":"v"}}}`, 422,
			`"field":"metadata.labels"},{"reason":"FieldValueInvalid","message":"Invalid value: \"Shoe\": must be Widget","field":"kind"}]`},
		{"another version", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"replace","path":"/apiVersion","value":"v1"},{"op":"add","path":"/spec/more","value":1}]`, 422,
			`"details":{"name":"w","kind":"Widget","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"v1\": must be shop.example.com/v1","field":"apiVersion"}]`},
		{"another version and no revision", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"replace","path":"/apiVersion","value":"x"},{"op":"remove","path":"/metadata/resourceVersion"}]`, 422,
			`"field":"metadata.resourceVersion"`},
		{"another version and no name", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"move","from":"/metadata/name","path":"/apiVersion"}]`, 400, "name of the object"},
		{"no version and no kind", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"remove","path":"/kind"},{"op":"remove","path":"/apiVersion"}]`, 422, `"field":"patch"`},
		{"a version of null", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"replace","path":"/apiVersion","value":null}]`, 422, `"field":"patch"`},
		{"no version", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"remove","path":"/apiVersion"}]`, 400, "without apiVersion"},
		{"patched with an unknown field", "PATCH", harness.ShopWidgets + "/w?fieldValidation=Strict", "application/merge-patch+json", `{"spec":{"more":1}}`, 422, `"field":"patch"`},
		{"no status", "GET", harness.ShopWidgets + "/w/status", "", "", 404, `"kind":"widgets"`},
		{"list", "GET", harness.ShopWidgets, "", "", 200, `"metadata":{"resourceVersion":`},
		{"the kind of items", "GET", "/apis/shop.example.com/v1/widgets", "", "", 200, `"items":[{"kind":"Widget","apiVersion":"shop.example.com/v1"`},
		{"delete", "DELETE", harness.ShopWidgets + "/w", "", "", 200, `"status":"Success"`},
	})
}

// The status is written by its own endpoint if there is one, and counts as spec
// otherwise.
func TestCustomSubresources(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(harness.WidgetSchema, `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.replicas"}}`)
	merge := "application/merge-patch+json"
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ShopWidgets, "", harness.Widget("w", `,"spec":{"name":"abc"},"status":{"replicas":1}`), 201, `"spec":{"name":"abc","size":4}}`},
		{"status", "PATCH", harness.ShopWidgets + "/w/status", merge, `{"metadata":{"labels":{"a":"b"}},"spec":{"name":"xyz"},"status":{"replicas":3}}`, 200, `"spec":{"name":"abc","size":4},"status":{"replicas":3}}`},
		{"no new generation", "GET", harness.ShopWidgets + "/w", "", "", 200, `"generation":1,`},
		{"status of another kind", "PUT", harness.ShopWidgets + "/w/status?dryRun=All", "", strings.Replace(harness.Widget("w", `,"status":{"replicas":3}`), "Widget", "Shoe", 1), 422, "metadata.resourceVersion"},
		{"status of another kind in a patch", "PATCH", harness.ShopWidgets + "/w/status?dryRun=All", merge, `{"kind":"Shoe","status":{"replicas":9}}`, 200, `"kind":"Widget"`},
		{"status of another version", "PATCH", harness.ShopWidgets + "/w/status?dryRun=All", merge, `{"apiVersion":"a/b","status":{"replicas":9}}`, 200, `"apiVersion":"shop.example.com/v1"`},
		{"read scale", "GET", harness.ShopWidgets + "/w/scale", "", "", 200, `"spec":{"replicas":4},"status":{"replicas":3}`},
		{"scale", "PATCH", harness.ShopWidgets + "/w/scale", merge, `{"spec":{"replicas":6}}`, 200, `"spec":{"replicas":6}`},
		{"against the schema", "PATCH", harness.ShopWidgets + "/w/scale", merge, `{"spec":{"replicas":7}}`, 422, "multiple of 2"},
		{"negative", "PATCH", harness.ShopWidgets + "/w/scale", merge, `{"spec":{"replicas":-2}}`, 422, `Widget.shop.example.com \"w\" is invalid`},
		{"scaled", "GET", harness.ShopWidgets + "/w", "", "", 200, `"generation":2,`},
	})
	table := h.Send("GET", harness.ShopWidgets+"/w/scale", "", nil, "Accept", asTable)
	for _, want := range []string{`{"name":"Name","type":"string","format":"name"`, `{"name":"Age","type":"date","format":""`, `"cells":["w",6,3,"`, `s"],"object"`} {
		if !strings.Contains(string(table.Body), want) {
			t.Errorf("the table of a scale lacks %s: %s", want, table.Body)
		}
	}
}

// asTable asks for a table.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// TestScaleOfNothing: a table has no number where no replicas are wanted, and 0 where there are none.
func TestScaleOfNothing(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `,"subresources":{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.replicas"}}`)
	h.Create(harness.ShopWidgets, harness.Widget("w", `,"spec":{"size":0},"status":{"replicas":0}`))
	if table := h.Send("GET", harness.ShopWidgets+"/w/scale", "", nil, "Accept", asTable); !strings.Contains(string(table.Body), `"cells":["w",null,0,"`) {
		t.Errorf("%d %s", table.Code, table.Body)
	}
}

// Several versions are one type; a version shows only its own fields.
func TestCustomVersions(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"a":{"type":"string"}}}`, `},{"name":"v1beta1","served":true,"storage":false,"deprecated":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}`)
	beta := strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1)
	h.Run(t, []harness.Step{
		{"create", "POST", beta, "", strings.Replace(harness.Widget("w", `,"a":"x","b":"y"`), "/v1", "/v1beta1", 1), 201, `"apiVersion":"shop.example.com/v1beta1"`},
		{"stored", "GET", harness.ShopWidgets + "/w", "", "", 200, `"a":"x"}`},
		{"list", "GET", beta, "", "", 200, `"items":[{"kind":"Widget","apiVersion":"shop.example.com/v1beta1"`},
	})
	for _, path := range []string{beta + "/w", beta + "/w/nothing", beta + "/w/status/more"} {
		if got := h.Get(path).Header.Get("Warning"); !strings.Contains(got, "shop.example.com/v1beta1 Widget is deprecated; use shop.example.com/v1 Widget") {
			t.Errorf("%s: the warning of a deprecated version is %q", path, got)
		}
	}
	for _, c := range []struct {
		method, media, accept string
		code                  int
	}{{"PATCH", "text/plain", "*/*", 415}, {"PUT", "application/json", "text/csv", 406}, {"OPTIONS", "", "*/*", 405}} {
		if got := h.Send(c.method, beta+"/w", c.media, []byte("{}"), "Accept", c.accept); got.Code != c.code || got.Header.Get("Warning") == "" {
			t.Errorf("%s in a deprecated version: %d %q", c.method, got.Code, got.Header.Values("Warning"))
		}
	}
	if got := h.Send("OPTIONS", beta, "", nil); got.Field(t, "details.kind") != "widgets" {
		t.Errorf("a method that is not allowed is told without the resource: %s", got.Body)
	}
	h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"}}}}},
		{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"},"z":{"type":"string"}}}}}]}}`)
	two := strings.Replace(harness.ShopWidgets, "/v1/", "/v2/", 1)
	h.AwaitCode(two, http.StatusOK)
	h.Run(t, []harness.Step{
		{"in the new version", "GET", two + "/w", "", "", 200, `"apiVersion":"shop.example.com/v2"`},
		{"in the old one", "GET", harness.ShopWidgets + "/w", "", "", 200, `"apiVersion":"shop.example.com/v1"`},
		{"not in one that is gone", "GET", beta + "/w", "", "", 404, ""},
		{"written", "PATCH", two + "/w", "application/merge-patch+json", `{"z":"1"}`, 200, `"z":"1"`},
		{"shown", "GET", harness.ShopWidgets + "/w", "", "", 200, `"a":"x"}`},
	})
}

// Objects are not shown, or stored, in a version to which a webhook that cannot be reached
// would have to convert them. It is not needed for anything else.
func TestUnreachableConversionWebhook(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object"}`, `},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}`)
	h.MergePatch(harness.DefinedAs, `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}}}}`)
	beta := strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1)
	h.Post(harness.ShopWidgets, harness.Widget("w", "")).Expect(t, http.StatusCreated, "")
	h.AwaitCode(beta+"/w", http.StatusInternalServerError)
	h.Run(t, []harness.Step{
		{"read", "GET", beta + "/w", "", "", 500, "conversion webhook for shop.example.com/v1, Kind=Widget failed: Post \\\"https://127.0.0.1:1/?timeout=30s\\\": dial tcp 127.0.0.1:1: connect: connection refused"},
		{"listed", "GET", beta, "", "", 500, "connection refused"},
		{"created", "POST", beta, "", strings.Replace(harness.Widget("b", ""), "/v1", "/v1beta1", 1), 500, "conversion webhook"},
		{"not stored", "GET", harness.ShopWidgets + "/b", "", "", 404, ""},
		{"in the storage version", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 200, `"a":"b"`},
		{"deleted", "DELETE", harness.ShopWidgets + "/w", "", "", 200, ""},
	})
}

// A version may have a scale that the stored version lacks.
func TestCustomScaleOfAnotherVersion(t *testing.T) {
	h := harness.Start(t, nil)
	const schema = `{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}`
	h.Define(schema, `},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":`+schema+`},"subresources":{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}}`)
	beta := strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1)
	h.Run(t, []harness.Step{
		{"create", "POST", harness.ShopWidgets, "", harness.Widget("w", `,"spec":{"size":3}`), 201, `"size":3`},
		{"none in the stored version", "GET", harness.ShopWidgets + "/w/scale", "", "", 404, ""},
		{"read", "GET", beta + "/w/scale", "", "", 200, `"spec":{"replicas":3}`},
		{"written", "PATCH", beta + "/w/scale", "application/merge-patch+json", `{"spec":{"replicas":5}}`, 200, `"spec":{"replicas":5}`},
		{"of the object", "GET", harness.ShopWidgets + "/w", "", "", 200, `"size":5`},
	})
}

// A write, and a table, follow the version of the request, even where objects are stored
// in another one.
func TestCustomVersionOfTheRequest(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["x"]},"c":{"type":"string"}}}`, `,"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"}]},
		{"name":"v1beta1","served":true,"storage":false,"subresources":{"status":{}},"additionalPrinterColumns":[{"name":"C","type":"string","jsonPath":".c"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string","maxLength":2},"f":{"type":"integer","default":1},"status":{"type":"object","properties":{"n":{"type":"integer","minimum":0}}}}}}`)
	beta, merge := strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1), "application/merge-patch+json"
	early := func(name, members string) string {
		return strings.Replace(harness.Widget(name, members), "/v1", "/v1beta1", 1)
	}
	h.Run(t, []harness.Step{
		{"a rule of the stored version", "POST", beta, "", early("w", `,"a":"y","c":"1"`), 201, `"a":"y"`},
		{"nothing of it", "POST", beta, "", early("none", ``), 201, `"name":"none"`},
		{"a rule of the other version", "POST", beta, "", early("bad", `,"a":"x","c":"123"`), 422, `c: Too long: may not be longer than 2`},
		{"the stored version has its rules", "PATCH", harness.ShopWidgets + "/w", merge, `{"a":"z"}`, 422, `Unsupported value: \"z\"`},
		{"and not the others", "PATCH", harness.ShopWidgets + "/w", merge, `{"a":"x","c":"123"}`, 200, `"generation":2`},
		{"on an update", "PATCH", beta + "/w", merge, `{"c":"1234"}`, 422, `c: Too long`},
		{"mended", "PATCH", beta + "/w", merge, `{"a":"z","c":"1"}`, 200, `"generation":3`},
		{"a change of what is not stored", "PATCH", beta + "/w", merge, `{"b":"new"}`, 200, `"generation":4`},
		{"applied", "PATCH", beta + "/none?fieldManager=m", "application/apply-patch+yaml", early("none", `,"a":"other"`), 200, `"a":"other"`},
		{"a subresource of its own", "PATCH", beta + "/w/status", merge, `{"status":{"n":-1}}`, 422, "status.n in body should be greater than or equal to 0"},
		{"nothing is applied", "PATCH", beta + "/none?fieldManager=n", "application/apply-patch+yaml", early("none", ``), 200, `"generation":2,`},
		{"the same is applied", "PATCH", beta + "/none?fieldManager=o", "application/apply-patch+yaml", early("none", `,"a":"other"`), 200, `"generation":2,`},
		{"deleted", "DELETE", beta + "/none", "", "", 200, `"status":"Success"`},
	})
	for path, want := range map[string]string{harness.ShopWidgets: "A", beta: "C"} {
		got := h.Send("GET", path, "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if !strings.Contains(string(got.Body), `"name":"`+want+`","type":"string"`) {
			t.Errorf("the table of %s has not the column %s: %s", path, want, got.Body)
		}
	}
}

// The objects and the kind of a definition are deleted with it; another definition of the
// same name does not bring them back.
func TestDefinitionTakesObjectsAlong(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object"}`, "")
	for i := range 40 {
		h.Create(harness.ShopWidgets, harness.Widget(fmt.Sprint("w", i), ""))
	}
	h.Create(harness.ShopWidgets, strings.Replace(harness.Widget("held", ""), `"name":"held"`, `"name":"held","finalizers":["example.com/wait"]`, 1))
	watch := h.Watch(harness.ShopWidgets + "?watch=true&fieldSelector=metadata.name%3Dheld")
	watch.Expect("ADDED held")
	h.Remove(harness.DefinedAs, "").Expect(t, http.StatusOK, "")
	watch.Expect("MODIFIED held")
	h.Await(harness.ShopWidgets, func(o harness.Contents) bool { return len(o) == 1 })
	h.Post(harness.ShopWidgets, harness.Widget("late", "")).Expect(t, http.StatusMethodNotAllowed, "MethodNotAllowed")
	h.MergePatch(harness.ShopWidgets+"/held", `{"metadata":{"finalizers":null}}`)
	watch.Expect("DELETED held")
	h.AwaitGone(harness.DefinitionsPath, "widgets.shop.example.com")
	watch.Ends()
	h.Get(harness.ShopWidgets).Expect(t, http.StatusNotFound, "")
	h.Define(`{"type":"object"}`, "")
	if got := h.Get(harness.ShopWidgets).Field(t, "items"); len(got.([]any)) != 0 {
		t.Errorf("objects of another definition are there: %v", got)
	}
}

// Custom objects are deleted with their namespace and with their owners.
func TestCustomObjectsAreCollected(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	h.Define(`{"type":"object"}`, "")
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"short"}}`)
	short := strings.Replace(harness.ShopWidgets, "default", "short", 1)
	h.Create(short, harness.Widget("w", ""))
	h.Remove("/api/v1/namespaces/short", "").Expect(t, http.StatusOK, "")
	h.AwaitGone("/api/v1/namespaces", "short")
	if got := h.Get(short).Field(t, "items"); len(got.([]any)) != 0 {
		t.Errorf("objects outlive their namespace: %v", got)
	}
	uid := h.Post(harness.ShopWidgets, harness.Widget("owner", "")).Field(t, "metadata.uid")
	owned := fmt.Sprintf(`"ownerReferences":[{"apiVersion":"shop.example.com/v1","kind":"Widget","name":"owner","uid":%q}]`, uid)
	h.Create(harness.ShopWidgets, strings.Replace(harness.Widget("owned", ""), `"name":"owned"`, `"name":"owned",`+owned, 1))
	h.Create("/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"owned",`+owned+`}}`)
	h.Remove(harness.ShopWidgets+"/owner", "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.ShopWidgets, "owned")
	h.AwaitGone("/api/v1/namespaces/default/configmaps", "owned")
}

// The OpenAPI documents follow the served resources, in both versions and forms.
func TestCustomOpenAPI(t *testing.T) {
	h := harness.Start(t, nil)
	before := h.Get("/openapi/v2").Header.Get("Etag")
	h.Define(harness.WidgetSchema, `,"subresources":{"status":{}}`)
	h.AwaitCode("/openapi/v3/apis/shop.example.com/v1", http.StatusOK)
	third := h.Get("/openapi/v3/apis/shop.example.com/v1")
	third.Expect(t, http.StatusOK, "")
	for _, want := range []string{`"/apis/shop.example.com/v1/namespaces/{namespace}/widgets/{name}/status"`, `"com.example.shop.v1.Widget"`, `"com.example.shop.v1.WidgetList"`,
		`"listShopExampleComV1NamespacedWidget"`, `"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"`, `"minLength":2`} {
		if !strings.Contains(string(third.Body), want) {
			t.Errorf("the document has no %s", want)
		}
	}
	for _, not := range []string{"Deployment", "/scale", "protobuf", "strategic"} {
		if strings.Contains(string(third.Body), not) {
			at := strings.Index(string(third.Body), not)
			t.Errorf("the document has %s: %s", not, third.Body[max(at-80, 0):min(at+80, len(third.Body))])
		}
	}
	second := h.Get("/openapi/v2")
	if !json.Valid(second.Body) || second.Header.Get("Etag") == before {
		t.Error("the document of the second version is not another, or no JSON")
	}
	if got := second.Field(t, "definitions"); got.(map[string]any)["com.example.shop.v1.Widget"] == nil || got.(map[string]any)["io.k8s.api.core.v1.Pod"] == nil {
		t.Error("the document of the second version lacks a kind")
	}
	binary := h.Send(http.MethodGet, "/openapi/v2", "", nil, "Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	var doc openapi_v2.Document
	if err := proto.Unmarshal(binary.Body, &doc); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range doc.Definitions.AdditionalProperties {
		names[d.Name] = true
	}
	if !names["com.example.shop.v1.Widget"] || !names["io.k8s.api.core.v1.Pod"] {
		t.Error("the binary form lacks a kind")
	}
	h.Remove(harness.DefinedAs, "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.DefinitionsPath, "widgets.shop.example.com")
	h.AwaitCode("/openapi/v3/apis/shop.example.com/v1", http.StatusNotFound)
	if got := h.Get("/openapi/v2").Header.Get("Etag"); got != before {
		t.Errorf("the document is not as it was: %s, %s", got, before)
	}
}

// The status of a new object is that of the schema's default, whatever was sent.
func TestDefaultOfCustomStatus(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}},"status":{"type":"object","default":{"phase":"new"},
		"properties":{"phase":{"type":"string"},"count":{"type":"integer","default":1}}}}}`, `,"subresources":{"status":{}}`)
	made := h.Create(harness.ShopWidgets, harness.Widget("a", `,"status":{"phase":"sent"},"spec":{"size":1}`))
	const want = "map[count:1 phase:new]"
	if got := fmt.Sprint(made.Field(t, "status")); got != want {
		t.Errorf("a new object has the status %s, want %s", got, want)
	}
	if text := string(made.Body); strings.Contains(text, "f:status") {
		t.Errorf("the creator owns the status: %s", text)
	}
	h.MergePatch(harness.ShopWidgets+"/a", `{"spec":{"size":2},"status":null}`)
	if got := fmt.Sprint(h.Get(harness.ShopWidgets+"/a").Field(t, "status")); got != want {
		t.Errorf("an update leaves the status %s, want %s", got, want)
	}
	h.MergePatch(harness.ShopWidgets+"/a/status", `{"status":{"phase":"old"}}`)
	if got := fmt.Sprint(h.Get(harness.ShopWidgets+"/a").Field(t, "status")); got != "map[count:1 phase:old]" {
		t.Errorf("a patch of the status leaves %s", got)
	}
}
