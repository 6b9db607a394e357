package custom_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// Types that nothing uses are dropped, and compiled again when they are; watches go on.
func TestCustomTypesAreDropped(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.Shorten(c, func(d *seams.Durations) { d.Types = time.Millisecond })
	})
	h.Define(harness.WidgetSchema, "")
	watch := h.Watch(harness.ShopWidgets + "?watch=true")
	for n := range 50 {
		h.Create(harness.ShopWidgets, harness.Widget(fmt.Sprintf("w%d", n), `,"spec":{"name":"abc"}`))
		watch.Expect(fmt.Sprintf("ADDED w%d", n))
	}
	h.Post(harness.ShopWidgets, harness.Widget("x", `,"spec":{}`)).Expect(t, http.StatusUnprocessableEntity, "Invalid")
}
