package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHostileDefaults: what defaults fill in counts while it is filled in, in a create, an
// update, a patch and an apply.
func TestHostileDefaults(t *testing.T) {
	measures(t)
	h := startServer(t, evaluatedOnce)
	h.define(`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"type":"object","properties":{
		"a":{"type":"string","default":"`+strings.Repeat("a", 2048)+`"}}}}}}`, "")
	h.awaitCode(shopWidgets, http.StatusOK)
	h.create(shopWidgets, widget("few", `,"spec":{"k":{}}`))
	const (
		merge   = "application/merge-patch+json"
		applied = "application/apply-patch+yaml"
		most    = 160 << 20 // two hundred times the body would be 480 MiB
	)
	many := `,"spec":{` + entries(200_000, `"k%d":{}`, "") + `}`
	for _, c := range []struct{ name, method, path, media, body string }{
		{"create", "POST", shopWidgets, "application/json", widget("many", many)},
		{"update", "PUT", shopWidgets + "/few", "application/json", widget("few", many)},
		{"patch", "PATCH", shopWidgets + "/few", merge, `{` + many[1:] + `}`},
		{"apply", "PATCH", shopWidgets + "/other?fieldManager=m", applied, widget("other", many)},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun, before := time.Now(), allocated()
			got := h.send(c.method, c.path, c.media, []byte(c.body))
			if used := allocated() - before; used > most {
				t.Errorf("%d after %s and %d MiB", got.code, time.Since(begun), used>>20)
			}
			got.expect(t, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
		})
	}
}
