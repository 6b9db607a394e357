package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// Types that nothing uses are dropped, and compiled again when they are; watches go on.
func TestCustomTypesAreDropped(t *testing.T) {
	h := startServer(t, func(c *server.Config) {
		c.Shorten(func(d *server.Durations) { d.Types = time.Millisecond })
	})
	h.define(widgetSchema, "")
	watch := h.watch(shopWidgets + "?watch=true")
	for n := range 50 {
		h.create(shopWidgets, widget(fmt.Sprintf("w%d", n), `,"spec":{"name":"abc"}`))
		watch.expect(fmt.Sprintf("ADDED w%d", n))
	}
	h.post(shopWidgets, widget("x", `,"spec":{}`)).expect(t, http.StatusUnprocessableEntity, "Invalid")
}
