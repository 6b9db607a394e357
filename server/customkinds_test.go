package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"

	"github.com/capstan-dev/capstan/server"
)

const (
	shopWidgets = "/apis/shop.example.com/v1/namespaces/default/widgets"
	definedAs   = definitionsPath + "/widgets.shop.example.com"
)

// define serves widgets with a schema (JSON) and further members of their version.
func (h *harness) define(schema, members string) {
	h.t.Helper()
	h.create(definitionsPath, fmt.Sprintf(`{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",
		"names":{"plural":"widgets","kind":"Widget","shortNames":["wd"],"categories":["all"]},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s}%s}]}}`, schema, members))
	h.await(definitionsPath, func(o contents) bool {
		return strings.Contains(conditions(o, "widgets.shop.example.com"), "Established=True")
	})
}

// awaitCode waits until the catalog follows a change of a definition, which the watches of
// definitions may show earlier.
func (h *harness) awaitCode(path string, code int) {
	h.t.Helper()
	for end := time.Now().Add(15 * time.Second); h.get(path).code != code; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.get(path).expect(h.t, code, "")
			return
		}
	}
}

// awaitText waits until an answer has a text, as awaitCode does for its code.
func (h *harness) awaitText(path, text string) {
	h.t.Helper()
	for end := time.Now().Add(15 * time.Second); !strings.Contains(string(h.get(path).body), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("%s has no %s: %s", path, text, h.get(path).body)
		}
	}
}

func widget(name, members string) string {
	return fmt.Sprintf(`{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":%q}%s}`, name, members)
}

const widgetSchema = `{"type":"object","properties":{
	"spec":{"type":"object","required":["name"],"properties":{
		"name":{"type":"string","maxLength":5,"minLength":2,"pattern":"^[a-z]+$"},
		"size":{"type":"integer","minimum":1,"maximum":10,"multipleOf":2,"default":4},
		"port":{"x-kubernetes-int-or-string":true},
		"note":{"type":"string","nullable":true},
		"any":{"x-kubernetes-preserve-unknown-fields":true},
		"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"integer"}}},
		"map":{"type":"object","maxProperties":2,"additionalProperties":{"type":"integer"}},
		"one":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]},
		"set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
		"keyed":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["key"],
			"items":{"type":"object","required":["key"],"properties":{"key":{"type":"string"},"on":{"type":"boolean","default":true}}}},
		"whole":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}
	}},
	"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}`

// Objects are pruned and defaulted, with the causes of 1.25.
func TestCustomObjects(t *testing.T) {
	h := startServer(t, nil)
	h.define(widgetSchema, "")
	bad := func(name, spec, want string) step {
		return step{name, "POST", shopWidgets, "", widget("bad", `,"spec":`+spec), 422, want}
	}
	h.run(t, []step{
		{"pruned and filled in", "POST", shopWidgets + "?fieldValidation=Ignore", "", widget("w", `,"more":1,"spec":{"name":"abc","other":{"x":1},"open":{"known":1,"b":2.0,"a":[1]},"keyed":[{"key":"k"}],"note":null,"any":null}`), 201,
			`"spec":{"keyed":[{"key":"k","on":true}],"name":"abc","note":null,"open":{"known":1,"a":[1],"b":2},"size":4}}`},
		{"of no kind", "POST", shopWidgets, "", `{"apiVersion":"shop.example.com/v1","kind":null,"metadata":{"name":"v"}}`, 400, "Object 'Kind' is missing"},
		{"of no version", "POST", shopWidgets, "", `{"kind":"Widget","metadata":{"name":"v"}}`, 400, "the API version in the data () does not match"},
		{"of another kind", "POST", shopWidgets, "", strings.Replace(widget("v", ""), "Widget", "Gadget", 1), 422, `"field":"kind"`},
		{"with unknown fields", "POST", shopWidgets + "?fieldValidation=Strict", "", strings.Replace(widget("v", `,"more":1`), "Widget", "Gadget", 1), 422, `"field":"kind"`},
		{"a list", "POST", shopWidgets, "", " []", 400, "must be of type Widget"},
		{"null after the name", "POST", shopWidgets, "", `{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"v","name":null}}`, 422, `"field":"metadata.name"`},
		{"strict", "POST", shopWidgets + "?fieldValidation=Strict", "", widget("v", `,"spec":{"name":"abc","other":{"x":1}}`), 400, `unknown field \"spec.other\"`},
		{"twice", "POST", shopWidgets + "?fieldValidation=Strict", "", widget("v", `,"spec":{"name":"abc","name":"abd"}`), 400, `duplicate field \"spec.name\"`},
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
		{"a whole number as a fraction", "POST", shopWidgets + "?dryRun=All", "", widget("x", `,"spec":{"name":"abc","size":2.0}`), 201, `"size":2}`},
		{"whole", "POST", shopWidgets + "?dryRun=All", "", widget("x", `,"spec":{"name":"abc","whole":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","bad":1},"spec":{"z":1}}}`), 201,
			`"whole":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"z":1}}`},
		{"binary", "POST", shopWidgets, "application/vnd.kubernetes.protobuf", "k8s", 415, "application/yaml"},
		{"strategic", "PATCH", shopWidgets + "/w", "application/strategic-merge-patch+json", `{}`, 415, "merge-patch+json"},
		{"merge", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"spec":{"note":null,"open":{"b":null},"keyed":null}}`, 200, `"open":{"known":1,"a":[1]}`},
		{"of another kind, without a version", "PUT", shopWidgets + "/w", "", strings.Replace(widget("w", ""), "Widget", "Gadget", 1), 422, "metadata.resourceVersion"},
		{"another kind of what is not there", "PUT", shopWidgets + "/v", "", strings.Replace(widget("v", ""), "Widget", "Gadget", 1), 404, "not found"},
		{"any finalizer", "PATCH", shopWidgets + "/w?dryRun=All", "application/merge-patch+json", `{"metadata":{"finalizers":["bare"]}}`, 200, `"finalizers":["bare"]`},
		{"without a version", "PUT", shopWidgets + "/w", "", widget("w", `,"spec":{"name":"abc"}`), 422, "metadata.resourceVersion"},
		{"a put creates nothing", "PUT", shopWidgets + "/new", "", widget("new", `,"spec":{"name":"abc"}`), 404, "not found"},
		{"applied without a field for it", "PATCH", shopWidgets + "/w?fieldManager=m&fieldValidation=Ignore", "application/apply-patch+yaml", widget("w", `,"spec":{"more":1}`), 400, ".spec.more: field not declared in schema"},
		{"applied with an object for a port", "PATCH", shopWidgets + "/w?fieldManager=m&force=true", "application/apply-patch+yaml", widget("w", `,"spec":{"name":"abc","port":{"a":1}}`), 422, `"field":"spec.port"`},
		{"applied with a list for its fields", "PATCH", shopWidgets + "/w?fieldManager=m&force=true", "application/apply-patch+yaml", widget("w", `,"spec":[]`), 422, `"field":"spec"`},
		{"applied with a text for its fields", "PATCH", shopWidgets + "/w?fieldManager=m&force=true", "application/apply-patch+yaml", widget("w", `,"spec":"x"`), 422, `"field":"spec"`},
		{"applied with a field twice", "PATCH", shopWidgets + "/w?fieldManager=m&force=true&dryRun=All&fieldValidation=Warn", "application/apply-patch+yaml", "apiVersion: shop.example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {name: abc, name: abc}\n", 200, ""},
		{"another kind", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"kind":"Shoe"}`, 422, `kind: Invalid value: \"Shoe\": must be Widget`},
		{"another kind with wrong labels", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"kind":"Shoe","metadata":{"labels":{"a/b/c":"v"}}}`, 422,
			`"field":"metadata.labels"},{"reason":"FieldValueInvalid","message":"Invalid value: \"Shoe\": must be Widget","field":"kind"}]`},
		{"another version", "PATCH", shopWidgets + "/w", jsonPatch, `[{"op":"replace","path":"/apiVersion","value":"v1"},{"op":"add","path":"/spec/more","value":1}]`, 422,
			`"details":{"name":"w","kind":"Widget","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"v1\": must be shop.example.com/v1","field":"apiVersion"}]`},
		{"another version and no revision", "PATCH", shopWidgets + "/w", jsonPatch, `[{"op":"replace","path":"/apiVersion","value":"x"},{"op":"remove","path":"/metadata/resourceVersion"}]`, 422,
			`"field":"metadata.resourceVersion"`},
		{"another version and no name", "PATCH", shopWidgets + "/w", jsonPatch, `[{"op":"move","from":"/metadata/name","path":"/apiVersion"}]`, 400, "name of the object"},
		{"no version and no kind", "PATCH", shopWidgets + "/w", jsonPatch, `[{"op":"remove","path":"/kind"},{"op":"remove","path":"/apiVersion"}]`, 422, `"field":"patch"`},
		{"a version of null", "PATCH", shopWidgets + "/w", jsonPatch, `[{"op":"replace","path":"/apiVersion","value":null}]`, 422, `"field":"patch"`},
		{"no version", "PATCH", shopWidgets + "/w", jsonPatch, `[{"op":"remove","path":"/apiVersion"}]`, 400, "without apiVersion"},
		{"patched with an unknown field", "PATCH", shopWidgets + "/w?fieldValidation=Strict", "application/merge-patch+json", `{"spec":{"more":1}}`, 422, `"field":"patch"`},
		{"no status", "GET", shopWidgets + "/w/status", "", "", 404, `"kind":"widgets"`},
		{"list", "GET", shopWidgets, "", "", 200, `"metadata":{"resourceVersion":`},
		{"the kind of items", "GET", "/apis/shop.example.com/v1/widgets", "", "", 200, `"items":[{"kind":"Widget","apiVersion":"shop.example.com/v1"`},
		{"delete", "DELETE", shopWidgets + "/w", "", "", 200, `"status":"Success"`},
	})
}

// The status is written by its own endpoint if there is one, and counts as spec
// otherwise.
func TestCustomSubresources(t *testing.T) {
	h := startServer(t, nil)
	h.define(widgetSchema, `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.replicas"}}`)
	merge := "application/merge-patch+json"
	h.run(t, []step{
		{"create", "POST", shopWidgets, "", widget("w", `,"spec":{"name":"abc"},"status":{"replicas":1}`), 201, `"spec":{"name":"abc","size":4}}`},
		{"status", "PATCH", shopWidgets + "/w/status", merge, `{"metadata":{"labels":{"a":"b"}},"spec":{"name":"xyz"},"status":{"replicas":3}}`, 200, `"spec":{"name":"abc","size":4},"status":{"replicas":3}}`},
		{"no new generation", "GET", shopWidgets + "/w", "", "", 200, `"generation":1,`},
		{"status of another kind", "PUT", shopWidgets + "/w/status?dryRun=All", "", strings.Replace(widget("w", `,"status":{"replicas":3}`), "Widget", "Shoe", 1), 422, "metadata.resourceVersion"},
		{"status of another kind in a patch", "PATCH", shopWidgets + "/w/status?dryRun=All", merge, `{"kind":"Shoe","status":{"replicas":9}}`, 200, `"kind":"Widget"`},
		{"status of another version", "PATCH", shopWidgets + "/w/status?dryRun=All", merge, `{"apiVersion":"a/b","status":{"replicas":9}}`, 200, `"apiVersion":"shop.example.com/v1"`},
		{"read scale", "GET", shopWidgets + "/w/scale", "", "", 200, `"spec":{"replicas":4},"status":{"replicas":3}`},
		{"scale", "PATCH", shopWidgets + "/w/scale", merge, `{"spec":{"replicas":6}}`, 200, `"spec":{"replicas":6}`},
		{"against the schema", "PATCH", shopWidgets + "/w/scale", merge, `{"spec":{"replicas":7}}`, 422, "multiple of 2"},
		{"negative", "PATCH", shopWidgets + "/w/scale", merge, `{"spec":{"replicas":-2}}`, 422, `Widget.shop.example.com \"w\" is invalid`},
		{"scaled", "GET", shopWidgets + "/w", "", "", 200, `"generation":2,`},
	})
	table := h.send("GET", shopWidgets+"/w/scale", "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	for _, want := range []string{`{"name":"Name","type":"string","format":"name"`, `{"name":"Age","type":"date","format":""`, `"cells":["w",6,3,"`, `s"],"object"`} {
		if !strings.Contains(string(table.body), want) {
			t.Errorf("the table of a scale lacks %s: %s", want, table.body)
		}
	}
}

// Several versions are one type; a version shows only its own fields.
func TestCustomVersions(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object","properties":{"a":{"type":"string"}}}`, `},{"name":"v1beta1","served":true,"storage":false,"deprecated":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}`)
	beta := strings.Replace(shopWidgets, "/v1/", "/v1beta1/", 1)
	h.run(t, []step{
		{"create", "POST", beta, "", strings.Replace(widget("w", `,"a":"x","b":"y"`), "/v1", "/v1beta1", 1), 201, `"apiVersion":"shop.example.com/v1beta1"`},
		{"stored", "GET", shopWidgets + "/w", "", "", 200, `"a":"x"}`},
		{"list", "GET", beta, "", "", 200, `"items":[{"kind":"Widget","apiVersion":"shop.example.com/v1beta1"`},
	})
	for _, path := range []string{beta + "/w", beta + "/w/nothing", beta + "/w/status/more"} {
		if got := h.get(path).header.Get("Warning"); !strings.Contains(got, "shop.example.com/v1beta1 Widget is deprecated; use shop.example.com/v1 Widget") {
			t.Errorf("%s: the warning of a deprecated version is %q", path, got)
		}
	}
	for _, c := range []struct {
		method, media, accept string
		code                  int
	}{{"PATCH", "text/plain", "*/*", 415}, {"PUT", "application/json", "text/csv", 406}, {"OPTIONS", "", "*/*", 405}} {
		if got := h.send(c.method, beta+"/w", c.media, []byte("{}"), "Accept", c.accept); got.code != c.code || got.header.Get("Warning") == "" {
			t.Errorf("%s in a deprecated version: %d %q", c.method, got.code, got.header.Values("Warning"))
		}
	}
	if got := h.send("OPTIONS", beta, "", nil); got.field(t, "details.kind") != "widgets" {
		t.Errorf("a method that is not allowed is told without the resource: %s", got.body)
	}
	h.mergePatch(definedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"}}}}},
		{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"},"z":{"type":"string"}}}}}]}}`)
	two := strings.Replace(shopWidgets, "/v1/", "/v2/", 1)
	h.awaitCode(two, http.StatusOK)
	h.run(t, []step{
		{"in the new version", "GET", two + "/w", "", "", 200, `"apiVersion":"shop.example.com/v2"`},
		{"in the old one", "GET", shopWidgets + "/w", "", "", 200, `"apiVersion":"shop.example.com/v1"`},
		{"not in one that is gone", "GET", beta + "/w", "", "", 404, ""},
		{"written", "PATCH", two + "/w", "application/merge-patch+json", `{"z":"1"}`, 200, `"z":"1"`},
		{"shown", "GET", shopWidgets + "/w", "", "", 200, `"a":"x"}`},
	})
}

// Objects are not shown, or stored, in a version to which a webhook that cannot be reached
// would have to convert them. It is not needed for anything else.
func TestUnreachableConversionWebhook(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object"}`, `},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}`)
	h.mergePatch(definedAs, `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}}}}`)
	beta := strings.Replace(shopWidgets, "/v1/", "/v1beta1/", 1)
	h.post(shopWidgets, widget("w", "")).expect(t, http.StatusCreated, "")
	h.awaitCode(beta+"/w", http.StatusInternalServerError)
	h.run(t, []step{
		{"read", "GET", beta + "/w", "", "", 500, "conversion webhook for shop.example.com/v1, Kind=Widget failed: Post \\\"https://127.0.0.1:1/?timeout=30s\\\": dial tcp 127.0.0.1:1: connect: connection refused"},
		{"listed", "GET", beta, "", "", 500, "connection refused"},
		{"created", "POST", beta, "", strings.Replace(widget("b", ""), "/v1", "/v1beta1", 1), 500, "conversion webhook"},
		{"not stored", "GET", shopWidgets + "/b", "", "", 404, ""},
		{"in the storage version", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 200, `"a":"b"`},
		{"deleted", "DELETE", shopWidgets + "/w", "", "", 200, ""},
	})
}

// A version may have a scale that the stored version lacks.
func TestCustomScaleOfAnotherVersion(t *testing.T) {
	h := startServer(t, nil)
	const schema = `{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}`
	h.define(schema, `},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":`+schema+`},"subresources":{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}}`)
	beta := strings.Replace(shopWidgets, "/v1/", "/v1beta1/", 1)
	h.run(t, []step{
		{"create", "POST", shopWidgets, "", widget("w", `,"spec":{"size":3}`), 201, `"size":3`},
		{"none in the stored version", "GET", shopWidgets + "/w/scale", "", "", 404, ""},
		{"read", "GET", beta + "/w/scale", "", "", 200, `"spec":{"replicas":3}`},
		{"written", "PATCH", beta + "/w/scale", "application/merge-patch+json", `{"spec":{"replicas":5}}`, 200, `"spec":{"replicas":5}`},
		{"of the object", "GET", shopWidgets + "/w", "", "", 200, `"size":5`},
	})
}

// A write, and a table, follow the version of the request, even where objects are stored
// in another one.
func TestCustomVersionOfTheRequest(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["x"]},"c":{"type":"string"}}}`, `,"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"}]},
		{"name":"v1beta1","served":true,"storage":false,"subresources":{"status":{}},"additionalPrinterColumns":[{"name":"C","type":"string","jsonPath":".c"}],
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string","maxLength":2},"f":{"type":"integer","default":1},"status":{"type":"object","properties":{"n":{"type":"integer","minimum":0}}}}}}`)
	beta, merge := strings.Replace(shopWidgets, "/v1/", "/v1beta1/", 1), "application/merge-patch+json"
	early := func(name, members string) string {
		return strings.Replace(widget(name, members), "/v1", "/v1beta1", 1)
	}
	h.run(t, []step{
		{"a rule of the stored version", "POST", beta, "", early("w", `,"a":"y","c":"1"`), 201, `"a":"y"`},
		{"nothing of it", "POST", beta, "", early("none", ``), 201, `"name":"none"`},
		{"a rule of the other version", "POST", beta, "", early("bad", `,"a":"x","c":"123"`), 422, `c: Too long: may not be longer than 2`},
		{"the stored version has its rules", "PATCH", shopWidgets + "/w", merge, `{"a":"z"}`, 422, `Unsupported value: \"z\"`},
		{"and not the others", "PATCH", shopWidgets + "/w", merge, `{"a":"x","c":"123"}`, 200, `"generation":2`},
		{"on an update", "PATCH", beta + "/w", merge, `{"c":"1234"}`, 422, `c: Too long`},
		{"mended", "PATCH", beta + "/w", merge, `{"a":"z","c":"1"}`, 200, `"generation":3`},
		{"a change of what is not stored", "PATCH", beta + "/w", merge, `{"b":"new"}`, 200, `"generation":4`},
		{"applied", "PATCH", beta + "/none?fieldManager=m", "application/apply-patch+yaml", early("none", `,"a":"other"`), 200, `"a":"other"`},
		{"a subresource of its own", "PATCH", beta + "/w/status", merge, `{"status":{"n":-1}}`, 422, "status.n in body should be greater than or equal to 0"},
		{"nothing is applied", "PATCH", beta + "/none?fieldManager=n", "application/apply-patch+yaml", early("none", ``), 200, `"generation":2,`},
		{"the same is applied", "PATCH", beta + "/none?fieldManager=o", "application/apply-patch+yaml", early("none", `,"a":"other"`), 200, `"generation":2,`},
		{"deleted", "DELETE", beta + "/none", "", "", 200, `"status":"Success"`},
	})
	for path, want := range map[string]string{shopWidgets: "A", beta: "C"} {
		got := h.send("GET", path, "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if !strings.Contains(string(got.body), `"name":"`+want+`","type":"string"`) {
			t.Errorf("the table of %s has not the column %s: %s", path, want, got.body)
		}
	}
}

// The objects and the kind of a definition are deleted with it; another definition of the
// same name does not bring them back.
func TestDefinitionTakesObjectsAlong(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object"}`, "")
	for i := range 40 {
		h.create(shopWidgets, widget(fmt.Sprint("w", i), ""))
	}
	h.create(shopWidgets, strings.Replace(widget("held", ""), `"name":"held"`, `"name":"held","finalizers":["example.com/wait"]`, 1))
	watch := h.watch(shopWidgets + "?watch=true&fieldSelector=metadata.name%3Dheld")
	watch.expect("ADDED held")
	h.remove(definedAs, "").expect(t, http.StatusOK, "")
	watch.expect("MODIFIED held")
	h.await(shopWidgets, func(o contents) bool { return len(o) == 1 })
	h.post(shopWidgets, widget("late", "")).expect(t, http.StatusMethodNotAllowed, "MethodNotAllowed")
	h.mergePatch(shopWidgets+"/held", `{"metadata":{"finalizers":null}}`)
	watch.expect("DELETED held")
	h.awaitGone(definitionsPath, "widgets.shop.example.com")
	watch.ends()
	h.get(shopWidgets).expect(t, http.StatusNotFound, "")
	h.define(`{"type":"object"}`, "")
	if got := h.get(shopWidgets).field(t, "items"); len(got.([]any)) != 0 {
		t.Errorf("objects of another definition are there: %v", got)
	}
}

// Custom objects are deleted with their namespace and with their owners.
func TestCustomObjectsAreCollected(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	h.define(`{"type":"object"}`, "")
	h.create("/api/v1/namespaces", `{"metadata":{"name":"short"}}`)
	short := strings.Replace(shopWidgets, "default", "short", 1)
	h.create(short, widget("w", ""))
	h.remove("/api/v1/namespaces/short", "").expect(t, http.StatusOK, "")
	h.awaitGone("/api/v1/namespaces", "short")
	if got := h.get(short).field(t, "items"); len(got.([]any)) != 0 {
		t.Errorf("objects outlive their namespace: %v", got)
	}
	uid := h.post(shopWidgets, widget("owner", "")).field(t, "metadata.uid")
	owned := fmt.Sprintf(`"ownerReferences":[{"apiVersion":"shop.example.com/v1","kind":"Widget","name":"owner","uid":%q}]`, uid)
	h.create(shopWidgets, strings.Replace(widget("owned", ""), `"name":"owned"`, `"name":"owned",`+owned, 1))
	h.create("/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"owned",`+owned+`}}`)
	h.remove(shopWidgets+"/owner", "").expect(t, http.StatusOK, "")
	h.awaitGone(shopWidgets, "owned")
	h.awaitGone("/api/v1/namespaces/default/configmaps", "owned")
}

// The OpenAPI documents follow the served resources, in both versions and forms.
func TestCustomOpenAPI(t *testing.T) {
	h := startServer(t, nil)
	before := h.get("/openapi/v2").header.Get("Etag")
	h.define(widgetSchema, `,"subresources":{"status":{}}`)
	h.awaitCode("/openapi/v3/apis/shop.example.com/v1", http.StatusOK)
	third := h.get("/openapi/v3/apis/shop.example.com/v1")
	third.expect(t, http.StatusOK, "")
	for _, want := range []string{`"/apis/shop.example.com/v1/namespaces/{namespace}/widgets/{name}/status"`, `"com.example.shop.v1.Widget"`, `"com.example.shop.v1.WidgetList"`,
		`"listShopExampleComV1NamespacedWidget"`, `"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"`, `"minLength":2`} {
		if !strings.Contains(string(third.body), want) {
			t.Errorf("the document has no %s", want)
		}
	}
	for _, not := range []string{"Deployment", "/scale", "protobuf", "strategic"} {
		if strings.Contains(string(third.body), not) {
			at := strings.Index(string(third.body), not)
			t.Errorf("the document has %s: %s", not, third.body[max(at-80, 0):min(at+80, len(third.body))])
		}
	}
	second := h.get("/openapi/v2")
	if !json.Valid(second.body) || second.header.Get("Etag") == before {
		t.Error("the document of the second version is not another, or no JSON")
	}
	if got := second.field(t, "definitions"); got.(map[string]any)["com.example.shop.v1.Widget"] == nil || got.(map[string]any)["io.k8s.api.core.v1.Pod"] == nil {
		t.Error("the document of the second version lacks a kind")
	}
	binary := h.send(http.MethodGet, "/openapi/v2", "", nil, "Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	var doc openapi_v2.Document
	if err := proto.Unmarshal(binary.body, &doc); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range doc.Definitions.AdditionalProperties {
		names[d.Name] = true
	}
	if !names["com.example.shop.v1.Widget"] || !names["io.k8s.api.core.v1.Pod"] {
		t.Error("the binary form lacks a kind")
	}
	h.remove(definedAs, "").expect(t, http.StatusOK, "")
	h.awaitGone(definitionsPath, "widgets.shop.example.com")
	h.awaitCode("/openapi/v3/apis/shop.example.com/v1", http.StatusNotFound)
	if got := h.get("/openapi/v2").header.Get("Etag"); got != before {
		t.Errorf("the document is not as it was: %s, %s", got, before)
	}
}

// The status of a new object is that of the schema's default, whatever was sent.
func TestDefaultOfCustomStatus(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}},"status":{"type":"object","default":{"phase":"new"},
		"properties":{"phase":{"type":"string"},"count":{"type":"integer","default":1}}}}}`, `,"subresources":{"status":{}}`)
	made := h.create(shopWidgets, widget("a", `,"status":{"phase":"sent"},"spec":{"size":1}`))
	const want = "map[count:1 phase:new]"
	if got := fmt.Sprint(made.field(t, "status")); got != want {
		t.Errorf("a new object has the status %s, want %s", got, want)
	}
	if text := string(made.body); strings.Contains(text, "f:status") {
		t.Errorf("the creator owns the status: %s", text)
	}
	h.mergePatch(shopWidgets+"/a", `{"spec":{"size":2},"status":null}`)
	if got := fmt.Sprint(h.get(shopWidgets+"/a").field(t, "status")); got != want {
		t.Errorf("an update leaves the status %s, want %s", got, want)
	}
	h.mergePatch(shopWidgets+"/a/status", `{"status":{"phase":"old"}}`)
	if got := fmt.Sprint(h.get(shopWidgets+"/a").field(t, "status")); got != "map[count:1 phase:old]" {
		t.Errorf("a patch of the status leaves %s", got)
	}
}
