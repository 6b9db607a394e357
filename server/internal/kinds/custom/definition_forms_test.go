package custom_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A change of a definition that does not concern its schema makes no object old, also
// after a restart; one of the schema makes those old that were there.
func TestFormsOfCustomObjects(t *testing.T) {
	disk := vfs.NewMem()
	on := func(c *server.Config) { c.InMemory, c.DataDir, c.FS = false, "data", disk }
	const schema = `{"type":"object","properties":{"size":{"type":"integer"%s}}}`
	const record = "capstan/stored-form.widgets.shop.example.com"
	second := ""
	t.Run("before", func(t *testing.T) {
		h := harness.Start(t, on)
		h.Define(fmt.Sprintf(schema, ""), "")
		h.Create(harness.ShopWidgets, harness.Widget("first", ""))
		h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+fmt.Sprintf(schema, `,"default":7`)+`}}]}}`)
		for n := 0; ; n++ { // until the catalog follows
			made := h.Create(harness.ShopWidgets, harness.Widget(fmt.Sprint("second", n), ""))
			if made.Field(t, "size") != nil {
				second = made.Field(t, "metadata.resourceVersion").(string)
				break
			}
		}
		h.MergePatch(harness.DefinedAs, `{"metadata":{"labels":{"changed":"twice"}}}`)
		h.MergePatch(harness.DefinedAs, `{"spec":{"names":{"categories":["all","more"]}}}`)
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := h.Running.StoredBody(t.Context(), record); err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	})
	t.Run("after", func(t *testing.T) {
		h := harness.Start(t, on)
		if got := h.Get(harness.ShopWidgets+"/first").Field(t, "size"); fmt.Sprint(got) != "7" {
			t.Errorf("an old object is shown with the size %v", got)
		}
		text, err := h.Running.StoredBody(t.Context(), record)
		if err != nil {
			t.Fatal(err)
		}
		var noted struct{ Since uint64 }
		if err := json.Unmarshal(text, &noted); err != nil {
			t.Fatal(err)
		}
		if made, _ := strconv.ParseUint(second, 10, 64); noted.Since == 0 || noted.Since >= made {
			t.Errorf("objects count as old up to %d, the first of the present form is at %d", noted.Since, made)
		}
		h.Remove(harness.DefinedAs, "").Expect(t, 200, "")
		h.AwaitGone(harness.DefinitionsPath, "widgets.shop.example.com")
		h.Define(fmt.Sprintf(schema, ""), "")
		h.Create(harness.ShopWidgets, harness.Widget("third", ""))
	})
}
