package custom_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Warnings of custom objects come in the order of 1.25: repeated members, metadata, other
// fields by name, metadata of objects in it. Of objects of another kind or version only
// the metadata is known.
func TestCustomWarnings(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(harness.WidgetSchema, "")
	h.Create(harness.ShopWidgets, harness.Widget("w", ""))
	odd := `{"apiVersion":"shop.example.com/v1","kind":"Widget","z":1,"metadata":{"name":"w","z":1,"b":1},"spec":{"name":"abc","name":"abd","z":1,"b":1,"whole":{"apiVersion":"v1","kind":"A","metadata":{"z":1,"b":1}}}}`
	merge := "application/merge-patch+json"
	const fields = `unknown field "metadata.b", unknown field "metadata.z", unknown field "spec.b", unknown field "spec.z", unknown field "z", unknown field "spec.whole.metadata.b", unknown field "spec.whole.metadata.z"`
	for _, c := range []struct {
		name, method, path, media, body string
		code                            int
		want                            string
	}{
		{"create", "POST", harness.ShopWidgets + "?dryRun=All", "", strings.Replace(odd, `"w"`, `"x"`, 1), 201, `duplicate field "spec.name", ` + fields},
		{"YAML", "POST", harness.ShopWidgets + "?dryRun=All", "application/yaml", strings.Replace(odd, `"w"`, `"x"`, 1), 201, `line 1: key "name" already set in map, ` + fields},
		{"merge", "PATCH", harness.ShopWidgets + "/w?dryRun=All", merge, odd, 200, `duplicate field "spec.name", ` + fields},
		{"JSON patch", "PATCH", harness.ShopWidgets + "/w?dryRun=All", harness.JSONPatchMedia, `[{"op":"add","path":"/z","value":1},{"op":"add","path":"/a","value":1},{"op":"add","path":"/metadata/z","value":1}]`, 200,
			`unknown field "metadata.z", unknown field "a", unknown field "z"`},
		{"another kind", "POST", harness.ShopWidgets, "", strings.Replace(odd, `"Widget"`, `"Gadget"`, 1), 422, `duplicate field "spec.name", unknown field "metadata.b", unknown field "metadata.z"`},
		{"another version", "POST", harness.ShopWidgets, "", strings.Replace(odd, `/v1"`, `/v2"`, 1), 400, `duplicate field "spec.name", unknown field "metadata.b", unknown field "metadata.z"`},
		{"without a version", "POST", harness.ShopWidgets, "", strings.Replace(odd, `"apiVersion":"shop.example.com/v1",`, "", 1), 400, `duplicate field "spec.name", unknown field "metadata.b", unknown field "metadata.z"`},
		{"an empty version", "POST", harness.ShopWidgets, "", strings.Replace(odd, `"shop.example.com/v1"`, `""`, 1), 400, `duplicate field "spec.name", unknown field "metadata.b", unknown field "metadata.z"`},
		{"repeated members that are not known", "POST", harness.ShopWidgets + "?dryRun=All", "", strings.Replace(harness.Widget("x", `,"spec":{"name":"abc","z":{"a":[{"b":1,"b":2}]},"z":1}`), `"metadata":{`, `"metadata":{"y":1,"y":2,`, 1), 201,
			`duplicate field "metadata.y", duplicate field "spec.z.a[0].b", duplicate field "spec.z", unknown field "metadata.y", unknown field "spec.z"`},
		{"arrays for objects", "POST", harness.ShopWidgets, "", harness.Widget("x", `,"spec":[{"a":1},[{"b":[{}]}],2]`), 422, `unknown field "spec[0].a", unknown field "spec[1][0].b"`},
		{"arrays for other values", "POST", harness.ShopWidgets, "", harness.Widget("x", `,"spec":{"name":[{"a":1}],"size":{"b":1},"map":[{"c":1}],"port":[[{"d":1}]]}`), 422,
			`unknown field "spec.map[0].c", unknown field "spec.name[0].a", unknown field "spec.port[0][0].d", unknown field "spec.size.b"`},
		{"no version", "POST", harness.ShopWidgets, "", strings.Replace(odd, `"shop.example.com/v1"`, `"shop.example.com/v1","apiVersion":null`, 1), 400, ""},
		{"no version in a patch that leaves the kind", "PATCH", harness.ShopWidgets + "/w", harness.JSONPatchMedia, `[{"op":"remove","path":"/metadata"},{"op":"remove","path":"/apiVersion"}]`, 400, ""},
		{"another version in a patch", "PATCH", harness.ShopWidgets + "/w", merge, `{"apiVersion":"v1","z":1,"metadata":{"z":1}}`, 422, `unknown field "metadata.z"`},
		{"applied", "PATCH", harness.ShopWidgets + "/w?fieldManager=m&dryRun=All", harness.ApplyMedia, `{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"w","name":"w"},"spec":{"port":{"a":1}}}`, 422, `line 1: key "name" already set in map`},
		{"no kind", "POST", harness.ShopWidgets, "", strings.Replace(odd, `"Widget"`, `""`, 1), 400, ""},
		{"no version in a patch", "PATCH", harness.ConfigMaps + "/none", harness.JSONPatchMedia, `[{"op":"replace","path":"","value":{"name":"a","labels":{},"metadata":{}}}]`, 400, `unknown field "metadata"`},
	} {
		if strings.HasPrefix(c.path, harness.ConfigMaps) {
			h.Create(harness.ConfigMaps, harness.ConfigMap("none", "{}"))
		}
		got := h.Send(c.method, c.path, c.media, []byte(c.body))
		var warnings []string
		for _, w := range got.Header.Values("Warning") {
			warnings = append(warnings, strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(w, `299 - "`), `"`), `\"`, `"`))
		}
		if all := strings.Join(warnings, ", "); got.Code != c.code || all != c.want {
			t.Errorf("%s: %d %s\nwant %d %s\n%s", c.name, got.Code, all, c.code, c.want, got.Body)
		}
	}
}
