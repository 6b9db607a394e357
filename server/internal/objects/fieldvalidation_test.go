package objects_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A patch is answered with problems in its own fields and in those of the result, each
// once.
func TestPatchFieldValidation(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.ConfigMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	for _, c := range []struct {
		name, media, body, want string
		refused                 bool // with 400, in any mode
	}{
		{"merge", "merge-patch", `{"data":{"k":"1","k":"2"},"nosuch":1}`, `duplicate field "data.k"; unknown field "nosuch"`, false},
		{"strategic", "strategic-merge-patch", `{"data":{"k":"1","k":"2"},"nosuch":1}`, `duplicate field "data.k"; unknown field "nosuch"`, false},
		{"in what is unknown", "strategic-merge-patch", `{"nosuch":[{"a":1,"a":2}]}`, `duplicate field "nosuch[0].a"; unknown field "nosuch"`, false},
		{"in what is unknown, merged", "merge-patch", `{"nosuch":[{"a":1,"a":2}]}`, `duplicate field "nosuch[0].a"; unknown field "nosuch"`, false},
		{"strategic, of another kind", "strategic-merge-patch", `{"apiVersion":"v2","kind":"Pod"}`, "", false},
		{"by name", "merge-patch", `{"zz":1,"nosuch":1,"metadata":{"b":1}}`, `unknown field "metadata.b"; unknown field "nosuch"; unknown field "zz"`, false},
		{"of no version", "merge-patch", `{"zz":1,"apiVersion":null,"kind":null}`, `unknown field "data"; unknown field "metadata"; unknown field "zz"`, true},
		{"JSON, in the order of what it adds", "json-patch", `[{"op":"add","path":"/metadata/managedFields","value":[{"zz":1,"b":1}]},{"op":"add","path":"/x","value":1},{"op":"add","path":"/a","value":1}]`,
			`unknown field "a"; unknown field "metadata.managedFields[0].zz"; unknown field "metadata.managedFields[0].b"; unknown field "x"`, false},
		{"JSON, of no version", "json-patch", `[{"op":"remove","path":"/apiVersion"}]`, `unknown field "data"; unknown field "metadata"`, true},
		{"JSON", "json-patch", `[{"op":"add","path":"/data/k","value":"3","foo":1},{"op":"add","path":"/nosuch","value":1}]`, `json patch unknown field "[0].foo"; unknown field "nosuch"`, false},
		{"JSON twice", "json-patch", ` [ {"op":"add","path":"/data/k","value":"3","value":"4","foo":1,"op":"add"}]`, `json patch duplicate field "[0].value"; json patch unknown field "[0].foo"; json patch duplicate field "[0].op"`, false},
		{"JSON, twice in a value", "json-patch", `[{"op":"add","path":"/data","value":{"k":"3","k":"4"}},{"op":"test","path":"/kind","value":"ConfigMap","foo":1}]`,
			`json patch duplicate field "[0].value.k"; json patch unknown field "[1].foo"; duplicate field "data.k"`, false},
		{"nothing", "merge-patch", `{"data":{"k":null}}`, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			media, code := "application/"+c.media+"+json", 200
			if c.refused {
				code = 400
			}
			warned := h.Send("PATCH", harness.ConfigMaps+"/a?dryRun=All", media, []byte(c.body))
			var got []string
			for _, w := range warned.Header.Values("Warning") {
				w = strings.TrimSuffix(strings.TrimPrefix(w, `299 - "`), `"`)
				got = append(got, strings.ReplaceAll(w, `\"`, `"`))
			}
			if text := strings.Join(got, "; "); warned.Code != code || text != c.want {
				t.Errorf("warned: %d %s, want %s", warned.Code, text, c.want)
			}
			strict := h.Send("PATCH", harness.ConfigMaps+"/a?dryRun=All&fieldValidation=Strict", media, []byte(c.body))
			if wantCode := map[bool]int{true: 200, false: 400}[c.want == ""]; strict.Code != wantCode {
				t.Errorf("strict: %d %s", strict.Code, strict.Body)
			}
			if quiet := h.Send("PATCH", harness.ConfigMaps+"/a?dryRun=All&fieldValidation=Ignore", media, []byte(c.body)); quiet.Code != code || quiet.Header.Get("Warning") != "" {
				t.Errorf("ignored: %d %v", quiet.Code, quiet.Header)
			}
		})
	}
}

// An unknown word of dryRun must not become a write.
func TestDryRunIsAllOrNothing(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.ConfigMaps, `{"metadata":{"name":"a"}}`).Expect(t, 201, "")
	for _, query := range []string{"dryRun", "dryRun=", "dryRun=all", "dryRun=All&dryRun=", "dryRun=true"} {
		for _, r := range []harness.Reply{
			h.Post(harness.ConfigMaps+"?"+query, `{"metadata":{"name":"b"}}`),
			h.Send("PUT", harness.ConfigMaps+"/a?"+query, "application/json", []byte(`{"metadata":{"name":"a"},"data":{"k":"v"}}`)),
			h.Send("PATCH", harness.ConfigMaps+"/a?"+query, "application/merge-patch+json", []byte(`{"data":{"k":"v"}}`)),
			h.Send("DELETE", harness.ConfigMaps+"/a?"+query, "", nil),
			h.Send("DELETE", harness.ConfigMaps+"?"+query, "", nil),
			h.Send("DELETE", harness.ConfigMaps+"/a?"+query, "application/json", []byte(`{"propagationPolicy":"Background"}`)),
		} {
			r.Expect(t, 422, "Invalid")
			if field := r.CauseOf(t); field != "dryRun" {
				t.Errorf("%s: the cause is at %v", query, field)
			}
		}
	}
	h.Send("DELETE", harness.ConfigMaps+"/a?dryRun=All", "application/json", []byte(`{"propagationPolicy":"Background"}`)).Expect(t, 200, "")
	if r := h.Get(harness.ConfigMaps + "/a"); r.Code != 200 || strings.Contains(string(r.Body), `"data"`) {
		t.Errorf("something was written: %d %s", r.Code, r.Body)
	}
}

// Unknown fields of a body in YAML are reported in the order of their names, whatever
// their order in it, and keys from a merge count as well.
func TestYAMLFieldValidation(t *testing.T) {
	h := harness.Start(t, nil)
	const body = "metadata:\n  name: a\n  zz: 1\nyy: 1\ndata: &d {k: dg==, k: dw==}\nbinaryData: {<<: *d}\nbb: 1\n"
	got := h.Send("POST", harness.ConfigMaps+"?fieldValidation=Strict", "application/yaml", []byte(body))
	got.Expect(t, 400, "BadRequest")
	const want = `strict decoding error: line 5: key \"k\" already set in map, unknown field \"bb\", unknown field \"metadata.zz\", unknown field \"yy\"`
	if !strings.Contains(string(got.Body), want) {
		t.Errorf("got %s, want %s", got.Body, want)
	}
}

// For an apply, repeated keys are reported by their lines, in any encoding of the body,
// unless it conflicts.
func TestApplyFieldValidation(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.ConfigMaps+"?fieldManager=first", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	for _, c := range []struct {
		name, query, body string
		code              int
		want              string
	}{
		{"JSON", "", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"a"}}`, 200, `299 - "line 1: key \"name\" already set in map"`},
		{"YAML", "", "apiVersion: v1\nkind: ConfigMap\ndata:\n  l: a\n  l: b\n", 200, `299 - "line 5: key \"l\" already set in map"`},
		{"conflict", "", "apiVersion: v1\nkind: ConfigMap\ndata:\n  k: a\n  k: b\n", 409, ""},
		{"invalid", "", "apiVersion: v1\nkind: ConfigMap\ndata:\n  -/: a\n  -/: b\n", 422, `299 - "line 5: key \"-/\" already set in map"`},
		{"strict", "&fieldValidation=Strict", "apiVersion: v1\nkind: ConfigMap\ndata:\n  l: a\n  l: b\n", 400, ""},
		{"strict, conflict", "&fieldValidation=Strict", "apiVersion: v1\nkind: ConfigMap\ndata:\n  k: a\n  k: b\n", 409, ""},
		{"ignore", "&fieldValidation=Ignore", "apiVersion: v1\nkind: ConfigMap\ndata:\n  l: a\n  l: b\n", 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := h.Send("PATCH", harness.ConfigMaps+"/a?dryRun=All&fieldManager=m"+c.query, "application/apply-patch+yaml", []byte(c.body))
			if warning := strings.Join(got.Header.Values("Warning"), "; "); got.Code != c.code || warning != c.want {
				t.Errorf("%d %s, want %d %s: %s", got.Code, warning, c.code, c.want, got.Body)
			}
		})
	}
}

// Odd members are read as in 1.25: the kind of the body in any case of letters; repeated
// members as one.
func TestOddMembers(t *testing.T) {
	h := harness.Start(t, nil)
	const json, yaml = "application/json", "application/yaml"
	revisions, merge := "/apis/apps/v1/namespaces/default/controllerrevisions", "application/merge-patch+json"
	h.Run(t, []harness.Step{
		{"a kind that is none", "POST", harness.ConfigMaps, json, `{"Kind":{},"metadata":{"name":"a"}}`, 400, "Kind has to be a string"},
		{"in YAML", "POST", harness.ConfigMaps, yaml, "ApiVersion: 1\nmetadata: {name: a}", 400, "ApiVersion has to be a string"},
		{"another kind", "POST", harness.ConfigMaps, json, `{"kind":"ConfigMap","KIND":"Pod","metadata":{"name":"a"}}`, 400, "Pod"},
		{"the last one counts", "POST", harness.ConfigMaps, json, `{"KIND":"Pod","kind":"ConfigMap","apiversion":null,"metadata":{"name":"a"}}`, 201, ""},
		{"by PUT", "PUT", harness.ConfigMaps + "/a", json, `{"apiversion":"v2","metadata":{"name":"a"}}`, 400, "v2"},
		{"by a patch", "PATCH", harness.ConfigMaps + "/a", merge, `{"KIND":[]}`, 422, "KIND has to be a string"},
		{"by a strategic patch", "PATCH", harness.ConfigMaps + "/a", "application/strategic-merge-patch+json", `{"KIND":[]}`, 200, ""},
		{"twice", "POST", harness.ConfigMaps, json, `{"metadata":{"labels":{"a":"b"},"name":"x"},"data":{"k":"v"},"metadata":{"labels":{"c":"d"},"name":"b"},"data":{"l":"w"}}`,
			201, `"labels":{"a":"b","c":"d"}`},
		{"twice in YAML", "POST", harness.ConfigMaps, yaml, "metadata: {name: c, labels: {a: b}}\nmetadata: {name: d}", 201, `"name":"d"`},
		{"strictly", "POST", harness.ConfigMaps + "?fieldValidation=Strict", json, `{"metadata":{"labels":{"a":"b"}},"metadata":{"name":"e"}}`, 400, `duplicate field \"metadata\"`},
		{"twice where anything may be", "POST", revisions + "?fieldValidation=Strict", json, `{"metadata":{"name":"a"},"revision":1,"data":{"a":1,"a":2}}`, 201, `"data":{"a":2}`},
		{"and in YAML", "POST", revisions + "?fieldValidation=Strict", yaml, "metadata: {name: b}\nrevision: 1\ndata: {a: 1, a: 2}", 400, `key \"a\" already set in map`},
		{"a version", "POST", harness.ConfigMaps, json, `{"metadata":{"name":"f","resourceVersion":"7"}}`, 400, "resourceVersion should not be set"},
		{"a version, and a mistake", "POST", harness.ConfigMaps, json, `{"metadata":{"name":"F","resourceVersion":"7"}}`, 422, "metadata.name"},
		{"what is no version", "POST", harness.ConfigMaps, json, `{"metadata":{"name":"f","resourceVersion":"-1"}}`, 201, ""},
	})
	if r := h.Get(harness.ConfigMaps + "/d"); strings.Contains(string(r.Body), "labels") {
		t.Errorf("YAML was joined: %s", r.Body)
	}
	if r := h.Get(harness.ConfigMaps + "/b"); !strings.Contains(string(r.Body), `"data":{"k":"v","l":"w"}`) {
		t.Errorf("data was not joined: %s", r.Body)
	}
}
