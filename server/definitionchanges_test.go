package server_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// A changed definition takes effect: stored objects get its defaults, and must keep its
// rules when they are written again. Watches go on.
func TestDefinitionChanges(t *testing.T) {
	h := startServer(t, nil)
	h.define(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, "")
	h.create(shopWidgets, widget("w", `,"a":5,"b":"x"`))
	watch := h.watch(shopWidgets + "?watch=true")
	watch.expect("ADDED w")
	h.mergePatch(definedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"integer","maximum":3},"c":{"type":"string","default":"new"}}}}}]}}`)
	h.awaitText(shopWidgets+"/w", `"a":5,"c":"new"}`)
	h.run(t, []step{
		{"read", "GET", shopWidgets + "/w", "", "", 200, `"a":5,"c":"new"}`},
		{"wrong now, and untouched", "PATCH", shopWidgets + "/w?dryRun=All", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
		{"wrong now", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"a":4}`, 422, "less than or equal to 3"},
		{"mended", "PATCH", shopWidgets + "/w", "application/merge-patch+json", `{"a":2}`, 200, `"a":2,"c":"new"}`},
	})
	watch.expect("MODIFIED w")
}

// A write that was evaluated by a definition is not stored by it once the definition has
// changed: it is evaluated again.
func TestDefinitionChangesDuringAWrite(t *testing.T) {
	held, changed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h := startServer(t, func(c *server.Config) {
		c.LookOn(server.Onlooker{Admitting: func(r *admission.Request) error {
			if r.Resource.Plural == "widgets" && r.Object.At("metadata", "labels", "late").Exists() {
				once.Do(func() { close(held); <-changed })
			}
			return nil
		}})
	})
	h.define(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, "")
	h.create(shopWidgets, widget("w", `,"a":5,"b":"x"`))
	h.create(shopWidgets, widget("other", ""))
	answers := make(chan reply, 1)
	go func() {
		answers <- h.send("PATCH", shopWidgets+"/w", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"late":"1"}}}`))
	}()
	<-held
	h.mergePatch(definedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"integer"},"c":{"type":"string","default":"new"}}}}}]}}`)
	h.awaitText(shopWidgets+"/other", `"c":"new"}`)
	close(changed)
	if got := <-answers; got.code != 200 || !strings.Contains(string(got.body), `"late":"1"`) || !strings.Contains(string(got.body), `"a":5,"c":"new"}`) {
		t.Errorf("the patch: %d %s", got.code, got.body)
	}
	h.run(t, []step{{"read", "GET", shopWidgets + "/w", "", "", 200, `"a":5,"c":"new"}`}})
}
