package custom_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A changed definition takes effect: stored objects get its defaults, and must keep its
// rules when they are written again. Watches go on.
func TestDefinitionChanges(t *testing.T) {
	h := harness.Start(t, nil)
	h.Define(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, "")
	h.Create(harness.ShopWidgets, harness.Widget("w", `,"a":5,"b":"x"`))
	watch := h.Watch(harness.ShopWidgets + "?watch=true")
	watch.Expect("ADDED w")
	h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"integer","maximum":3},"c":{"type":"string","default":"new"}}}}}]}}`)
	h.AwaitText(harness.ShopWidgets+"/w", `"a":5,"c":"new"}`)
	h.Run(t, []harness.Step{
		{"read", "GET", harness.ShopWidgets + "/w", "", "", 200, `"a":5,"c":"new"}`},
		{"wrong now, and untouched", "PATCH", harness.ShopWidgets + "/w?dryRun=All", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
		{"wrong now", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"a":4}`, 422, "less than or equal to 3"},
		{"mended", "PATCH", harness.ShopWidgets + "/w", "application/merge-patch+json", `{"a":2}`, 200, `"a":2,"c":"new"}`},
	})
	watch.Expect("MODIFIED w")
}

// A write that was evaluated by a definition is not stored by it once the definition has
// changed: it is evaluated again.
func TestDefinitionChangesDuringAWrite(t *testing.T) {
	held, changed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h := harness.Start(t, func(c *server.Config) {
		harness.LookOn(c, harness.Onlooker{Admitting: func(r *admission.Request) error {
			if r.Resource.Plural == "widgets" && r.Object.At("metadata", "labels", "late").Exists() {
				once.Do(func() { close(held); <-changed })
			}
			return nil
		}})
	})
	h.Define(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, "")
	h.Create(harness.ShopWidgets, harness.Widget("w", `,"a":5,"b":"x"`))
	h.Create(harness.ShopWidgets, harness.Widget("other", ""))
	answers := make(chan harness.Reply, 1)
	go func() {
		answers <- h.Send("PATCH", harness.ShopWidgets+"/w", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"late":"1"}}}`))
	}()
	<-held
	h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"integer"},"c":{"type":"string","default":"new"}}}}}]}}`)
	h.AwaitText(harness.ShopWidgets+"/other", `"c":"new"}`)
	close(changed)
	if got := <-answers; got.Code != 200 || !strings.Contains(string(got.Body), `"late":"1"`) || !strings.Contains(string(got.Body), `"a":5,"c":"new"}`) {
		t.Errorf("the patch: %d %s", got.Code, got.Body)
	}
	h.Run(t, []harness.Step{{"read", "GET", harness.ShopWidgets + "/w", "", "", 200, `"a":5,"c":"new"}`}})
}
