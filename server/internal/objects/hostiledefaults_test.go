package objects_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestHostileDefaults: what defaults fill in counts while it is filled in, in a create, an
// update, a patch and an apply.
func TestHostileDefaults(t *testing.T) {
	harness.Measures(t)
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"type":"object","properties":{
		"a":{"type":"string","default":"`+strings.Repeat("a", 2048)+`"}}}}}}`, "")
	h.AwaitCode(harness.ShopWidgets, http.StatusOK)
	h.Create(harness.ShopWidgets, harness.Widget("few", `,"spec":{"k":{}}`))
	const (
		merge   = "application/merge-patch+json"
		applied = "application/apply-patch+yaml"
		most    = 160 << 20 // two hundred times the body would be 480 MiB
	)
	many := `,"spec":{` + harness.Entries(200_000, `"k%d":{}`, "") + `}`
	for _, c := range []struct{ name, method, path, media, body string }{
		{"create", "POST", harness.ShopWidgets, "application/json", harness.Widget("many", many)},
		{"update", "PUT", harness.ShopWidgets + "/few", "application/json", harness.Widget("few", many)},
		{"patch", "PATCH", harness.ShopWidgets + "/few", merge, `{` + many[1:] + `}`},
		{"apply", "PATCH", harness.ShopWidgets + "/other?fieldManager=m", applied, harness.Widget("other", many)},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun, before := time.Now(), allocated()
			got := h.Send(c.method, c.path, c.media, []byte(c.body))
			if used := allocated() - before; used > most {
				t.Errorf("%d after %s and %d MiB", got.Code, time.Since(begun), used>>20)
			}
			got.Expect(t, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
		})
	}
}
