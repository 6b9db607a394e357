package admission_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A mutating webhook may change the owners of fields, but what no server can have written
// is left as it was, with a warning, as in 1.25.
func TestMutatingWebhooksChangeOwners(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewMutator(t, func(_ string, request map[string]any) string {
		data, _ := request["object"].(map[string]any)["data"].(map[string]any)
		return `[{"op":"add","path":"/metadata/managedFields","value":` + data["owners"].(string) + `},{"op":"remove","path":"/data"}]`
	})
	h.MutateBy(v, "m", harness.ReviewRule(`"CREATE","UPDATE"`, "", "v1", "configmaps"), "")
	entry := func(changed ...string) string {
		return strings.NewReplacer(changed...).Replace(`{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}`)
	}
	for name, c := range map[string]struct{ owners, warning string }{
		"good":        {"[" + entry() + "]", ""},
		"of-nothing":  {"[" + entry(`{"f:data":{}}`, `null`) + "]", ""},
		"none":        {"[]", ""},
		"operation":   {"[" + entry(`Update`, `Create`) + "]", "operation must be `Apply` or `Update`"},
		"empty":       {"[{}]", "operation must be `Apply` or `Update`"},
		"version":     {"[" + entry(`"v1",`, `"",`) + "]", "apiVersion must not be empty"},
		"no-type":     {"[" + entry() + "," + entry(`"FieldsV1"`, `""`) + "]", "missing fieldsType in managed fields entry 1"},
		"type":        {"[" + entry(`"FieldsV1"`, `"FieldsV2"`) + "]", `invalid fieldsType \"FieldsV2\" in managed fields entry 0`},
		"fields":      {"[" + entry(`{"f:data":{}}`, `{"f:data":5}`) + "]", "error decoding set"},
		"other-words": {"[" + entry(`f:data`, `q:data`) + "]", ""},
	} {
		const words = ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: "
		body := harness.ToJSON(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"owners": c.owners}})
		for _, way := range [][3]string{{"POST", "", ""}, {"PUT", "/" + name, ""}, {"PATCH", "/" + name + "?fieldManager=applier&force=true", harness.ApplyMedia}} {
			got := h.Send(way[0], harness.ConfigMaps+way[1], way[2], []byte(body))
			warning := got.Header.Get("Warning")
			kept := strings.Contains(string(got.Body), `"f:owners"`)
			if got.Code >= 300 || kept != (c.warning != "") || c.warning == "" && warning != "" || c.warning != "" && !strings.HasPrefix(warning, `299 - "`+words+c.warning) {
				t.Errorf("%s %s: %d %s\nwarning %s", way[0], name, got.Code, got.Body, warning)
			}
		}
	}
}

// Patches that are none refuse a write whatever the policy for failures; those of another
// type are a failed call, unless they are empty.
func TestPatchesOfOtherTypes(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, func(_ string, request, response map[string]any) {
		data := request["object"].(map[string]any)["data"].(map[string]any)
		response["patch"], response["patchType"] = base64.StdEncoding.EncodeToString([]byte(data["patch"].(string))), data["type"]
	})
	h.MutateBy(v, "m", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	ask := func(patch, patchType string) string {
		return harness.ToJSON(map[string]any{"metadata": map[string]any{"generateName": "x-"}, "data": map[string]any{"patch": patch, "type": patchType}})
	}
	for _, policy := range []string{"Fail", "Ignore"} {
		h.MergePatch(harness.MutatingPath+"/m", `{"webhooks":[`+strings.Replace(harness.ToJSON(h.Get(harness.MutatingPath+"/m").Field(t, "webhooks").([]any)[0]), `"failurePolicy":"Fail"`, `"failurePolicy":"`+policy+`"`, 1)+`]}`)
		unsupported := map[string]int{"Fail": 500, "Ignore": 201}[policy]
		h.Run(t, []harness.Step{
			{"an object", "POST", harness.ConfigMaps, "", ask(`{}`, "MergePatch"), 500, "cannot unmarshal object"},
			{"an object as a JSON patch", "POST", harness.ConfigMaps, "", ask(`{}`, "JSONPatch"), 500, "cannot unmarshal object"},
			{"nothing", "POST", harness.ConfigMaps, "", ask(`[]`, "MergePatch"), 201, ""},
			{"another type", "POST", harness.ConfigMaps, "", ask(`[{"op":"remove","path":"/data"}]`, "MergePatch"), unsupported, ""},
		})
	}
}

// Warnings are sent as they are, with quotes and backslashes escaped; those with control
// characters are not.
func TestWarningsAreQuoted(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, func(_ string, _, response map[string]any) {
		response["warnings"] = []any{`a "b" \c`, "\u202e rtl", "👩\u200d🚀", "é", "tab\t", "\u0085"}
	})
	h.ValidateBy(v, "v", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	got := h.Post(harness.ConfigMaps, harness.ConfigMap("a", `{}`)).Header.Values("Warning")
	if want := []string{`299 - "a \"b\" \\c"`, "299 - \"\u202e rtl\"", "299 - \"👩\u200d🚀\"", `299 - "é"`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
