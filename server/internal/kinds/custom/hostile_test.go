package custom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// badDefinition is a definition of one kind with a schema.
func badDefinition(group, plural, kind, scope, schema string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%[2]s.%[1]s","annotations":{"api-approved.kubernetes.io":"unapproved, a trial"}},"spec":{"group":"%[1]s","scope":%[4]q,"names":{"plural":%[2]q,"kind":%[3]q},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%[5]s}}]}}`, group, plural, kind, scope, schema)
}

// Schemas that are hard to read are answered in bounded time, and the server goes on.
func TestHostileDefinitions(t *testing.T) {
	h := harness.Start(t, nil)
	nested := func(depth int, before, after string) string {
		return strings.Repeat(before, depth) + `{"type":"string"}` + strings.Repeat(after, depth)
	}
	wide := strings.Builder{}
	for n := range 20_000 {
		fmt.Fprintf(&wide, `,"field%d":{"type":"string","description":"What it is for, in so many words."}`, n)
	}
	const object = `{"type":"object","properties":{"a":`
	for _, c := range []struct {
		name, schema string
		code         int // 0: any but a failure of the server
	}{
		{"a reference to itself", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, 422},
		{"references in a circle", `{"type":"object","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`, 422},
		{"wide", `{"type":"object","properties":{` + wide.String()[1:] + `}}`, 0},
		{"deep", nested(200, object, "}}"), 201},
		{"very deep", nested(9_000, object, "}}"), 0},
		{"deep lists", `{"type":"object","properties":{"a":` + nested(2_000, `{"type":"array","items":`, "}") + "}}", 0},
		{"deep conditions", `{"type":"object","not":` + strings.Repeat(`{"not":`, 3_000) + "{}" + strings.Repeat("}", 3_001), 0},
		{"wide conditions", `{"type":"object","anyOf":[{}` + strings.Repeat(`,{"required":["a"]}`, 30_000) + `]}`, 0},
		{"a wrong pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`, 422},
		{"a large pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"` + strings.Repeat("(", 1_500) + strings.Repeat(")", 1_500) + `"}}}`, 0},
		{"a repeated pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"((((a{1,100}){1,100}){1,100}){1,100})"}}}`, 422},
		{"large numbers", `{"type":"object","properties":{"a":{"type":"integer","minimum":1e308,"multipleOf":1e-300}}}`, 0},
		{"a default that is larger than the schema", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"},"default":[{}` + strings.Repeat(",{}", 100_000) + `]}}}`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			answer := h.Post(harness.DefinitionsPath, badDefinition("bad.example.com", "things", "Thing", "Namespaced", c.schema))
			took := time.Since(begin)
			if c.code != 0 && answer.Code != c.code || answer.Code >= 500 {
				t.Errorf("%d %.300s", answer.Code, answer.Body)
			}
			if took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			t.Logf("%d in %v: %.120s", answer.Code, took, answer.Body)
			if answer.Code != http.StatusCreated {
				return
			}
			const things = "/apis/bad.example.com/v1/namespaces/default/things"
			h.AwaitCode(things, http.StatusOK)
			if made := h.Post(things, `{"apiVersion":"bad.example.com/v1","kind":"Thing","metadata":{"name":"a"},"a":"b"}`); made.Code >= 500 {
				t.Errorf("an object: %d %.300s", made.Code, made.Body)
			}
			h.AwaitCode("/openapi/v3/apis/bad.example.com/v1", http.StatusOK)
			h.Remove(harness.DefinitionsPath+"/things.bad.example.com", "").Expect(t, http.StatusOK, "")
			h.AwaitGone(harness.DefinitionsPath, "things.bad.example.com")
		})
	}
	h.Create(harness.ConfigMaps, harness.ConfigMap("others", `{"are":"untouched"}`))
}

// A pattern that other engines take exponential time for is matched in linear time.
func TestHostilePattern(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"},"b":{"type":"string","pattern":"^(a|a?)+$"}}}`, "")
	begin := time.Now()
	many := strings.Repeat("a", 200_000)
	h.Post(harness.ShopWidgets, harness.Widget("w", fmt.Sprintf(`,"a":%q,"b":%q`, many, many+"!"))).Expect(t, http.StatusUnprocessableEntity, "Invalid")
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// A definition takes nothing from built-in kinds.
func TestDefinitionsOfBuiltInGroups(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.DefinitionsPath, badDefinition("apps", "deployments", "Deployment", "Namespaced", `{"type":"object"}`)).Expect(t, http.StatusUnprocessableEntity, "Invalid")
	h.Create(harness.DefinitionsPath, badDefinition("networking.k8s.io", "ingresses", "Ingress", "Cluster", `{"type":"object"}`))
	h.Create(harness.DefinitionsPath, badDefinition("networking.k8s.io", "others", "IngressClass", "Cluster", `{"type":"object"}`))
	h.Create(harness.DefinitionsPath, badDefinition("networking.k8s.io", "more", "More", "Cluster", `{"type":"object"}`))
	h.AwaitCode("/apis/networking.k8s.io/v1/more", http.StatusOK)
	const ingress = `{"metadata":{"name":"web"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`
	h.Create("/apis/networking.k8s.io/v1/namespaces/default/ingresses", ingress)
	h.Post("/apis/networking.k8s.io/v1/namespaces/default/ingresses", strings.Replace(ingress, `"spec"`, `"speck"`, 1)).Expect(t, http.StatusUnprocessableEntity, "Invalid")
	h.Get("/apis/networking.k8s.io/v1/others").Expect(t, http.StatusNotFound, "NotFound")
	for _, name := range []string{"ingresses", "others"} {
		h.Remove(harness.DefinitionsPath+"/"+name+".networking.k8s.io", "").Expect(t, http.StatusOK, "")
		h.AwaitGone(harness.DefinitionsPath, name+".networking.k8s.io")
	}
	if got := h.Get("/apis/networking.k8s.io/v1/namespaces/default/ingresses").Field(t, "items"); len(got.([]any)) != 1 {
		t.Errorf("the end of the definition took built-in objects along: %v", got)
	}
}

// Lists show the objects of their kind only, and the scope of a kind is that of its paths.
func TestKindsOfOneGroup(t *testing.T) {
	h := harness.Start(t, nil)
	const group = "/apis/bad.example.com/v1/"
	for _, c := range []struct{ plural, kind, scope string }{{"things", "Thing", "Namespaced"}, {"thingsets", "ThingSet", "Namespaced"}, {"spheres", "Sphere", "Cluster"}} {
		h.Create(harness.DefinitionsPath, badDefinition("bad.example.com", c.plural, c.kind, c.scope, `{"type":"object"}`))
		h.AwaitCode(group+c.plural, http.StatusOK)
		path := group + c.plural
		if c.scope == "Namespaced" {
			path = group + "namespaces/default/" + c.plural
		}
		h.Create(path, fmt.Sprintf(`{"apiVersion":"bad.example.com/v1","kind":%q,"metadata":{"name":"one"}}`, c.kind))
	}
	for path, kind := range map[string]string{"things": "Thing", "thingsets": "ThingSet", "spheres": "Sphere", "namespaces/default/things": "Thing", "namespaces/default/thingsets": "ThingSet"} {
		list := h.Get(group + path)
		if items := list.Field(t, "items").([]any); len(items) != 1 || list.Field(t, "items.0.kind") != kind || list.Field(t, "kind") != kind+"List" {
			t.Errorf("%s: %s", path, list.Body)
		}
	}
	for _, answer := range []harness.Reply{h.Get(group + "namespaces/default/spheres"), h.Get(group + "namespaces/default/spheres/one"),
		h.Post(group+"namespaces/default/spheres", `{"apiVersion":"bad.example.com/v1","kind":"Sphere","metadata":{"name":"two"}}`)} {
		if answer.Code != http.StatusNotFound {
			t.Errorf("a kind of the cluster in a namespace: %d %s", answer.Code, answer.Body)
		}
	}
}

// A version in which objects may be stored stays in its definition.
func TestStoredVersionStays(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object"}`, "")
	h.Create(harness.ShopWidgets, harness.Widget("w", ""))
	const versions = `{"spec":{"versions":[{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	h.Send(http.MethodPatch, harness.DefinedAs, "application/merge-patch+json", []byte(versions)).Expect(t, http.StatusUnprocessableEntity, "Invalid")
	h.Get(harness.ShopWidgets+"/w").Expect(t, http.StatusOK, "")
}

// Objects may be as deep as in 1.25, and cost no more than their bytes.
func TestDeepObjects(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, "")
	nested := func(levels int, begin string) string {
		return strings.Repeat(begin, levels) + "1" + strings.Repeat("}", levels)
	}
	deep, deeper := nested(9_900, `{"a":`), nested(10_001, `{"a":`)
	begin := time.Now()
	h.Run(t, []harness.Step{
		{"created", "POST", harness.ShopWidgets, "", harness.Widget("w", `,"spec":`+deep), 201, ""},
		{"patched", "PATCH", harness.ShopWidgets + "/w", harness.MergePatchMedia, `{"spec":{"b":` + deep + `}}`, 200, `"f:b":{`},
		{"patched by its path", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"remove","path":"/spec/b` + strings.Repeat("/a", 9_900) + `"}]`, 200, ""},
		{"read", "GET", harness.ShopWidgets + "/w", "", "", 200, strings.Repeat(`"f:a":{".":{},`, 9_000)},
		{"as YAML", "POST", harness.ShopWidgets, "application/yaml", harness.Widget("y", `,"spec":`+deep), 201, ""},
		{"applied", "PATCH", harness.ShopWidgets + "/a?fieldManager=m", harness.ApplyMedia, harness.Widget("a", `,"spec":`+deep), 201, ""},
		{"applied again", "PATCH", harness.ShopWidgets + "/a?fieldManager=m", harness.ApplyMedia, harness.Widget("a", `,"spec":{"b":`+deep+`}`), 200, ""},
		{"with duplicates", "POST", harness.ShopWidgets + "?fieldValidation=Warn", "", harness.Widget("d", `,"spec":`+nested(9_900, `{"a":1,"a":`)), 201, ""},
		{"too deep", "POST", harness.ShopWidgets, "", harness.Widget("t", `,"spec":`+deeper), 400, "more than 10000 levels"},
		{"too deep in YAML", "POST", harness.ShopWidgets, "application/yaml", harness.Widget("t", `,"spec":`+deeper), 400, "more than 10000 levels"},
		{"listed", "GET", harness.ShopWidgets, "", "", 200, ""},
		{"deleted", "DELETE", harness.ShopWidgets, "", "", 200, ""},
	})
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
