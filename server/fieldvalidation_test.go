package server_test

import (
	"strings"
	"testing"
)

// A patch is told of its own fields and of those that it gives the object, each
// once.
func TestPatchFieldValidation(t *testing.T) {
	h := startServer(t, nil)
	h.post(configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	for _, c := range []struct{ name, media, body, want string }{
		{"merge", "merge-patch", `{"data":{"k":"1","k":"2"},"nosuch":1}`, `duplicate field "data.k"; unknown field "nosuch"`},
		{"strategic", "strategic-merge-patch", `{"data":{"k":"1","k":"2"},"nosuch":1}`, `duplicate field "data.k"; unknown field "nosuch"`},
		{"JSON", "json-patch", `[{"op":"add","path":"/data/k","value":"3","foo":1},{"op":"add","path":"/nosuch","value":1}]`, `json patch unknown field "[0].foo"; unknown field "nosuch"`},
		{"nothing", "merge-patch", `{"data":{"k":null}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			media := "application/" + c.media + "+json"
			warned := h.send("PATCH", configMaps+"/a?dryRun=All", media, []byte(c.body))
			var got []string
			for _, w := range warned.header.Values("Warning") {
				w = strings.TrimSuffix(strings.TrimPrefix(w, `299 - "`), `"`)
				got = append(got, strings.ReplaceAll(w, `\"`, `"`))
			}
			if text := strings.Join(got, "; "); warned.code != 200 || text != c.want {
				t.Errorf("warned: %d %s, want %s", warned.code, text, c.want)
			}
			strict := h.send("PATCH", configMaps+"/a?dryRun=All&fieldValidation=Strict", media, []byte(c.body))
			if wantCode := map[bool]int{true: 200, false: 400}[c.want == ""]; strict.code != wantCode {
				t.Errorf("strict: %d %s", strict.code, strict.body)
			}
			if quiet := h.send("PATCH", configMaps+"/a?dryRun=All&fieldValidation=Ignore", media, []byte(c.body)); quiet.code != 200 || quiet.header.Get("Warning") != "" {
				t.Errorf("ignored: %d %v", quiet.code, quiet.header)
			}
		})
	}
}
