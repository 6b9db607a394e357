package custom_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

// Custom objects are migrated to their storage version: by a running server, which calls
// the webhook, and by a closed store where none is needed. Then the old version may go.
func TestMigrateCustomObjects(t *testing.T) {
	dir := t.TempDir()
	onDisk := func(c *server.Config) { c.InMemory, c.DataDir = false, dir }
	hook := harness.NewConversionHook(t)
	running := func(ctx context.Context, report func(operate.Step)) error {
		return operate.Client{DataDir: dir}.Migrate(ctx, report)
	}
	closed := func(ctx context.Context, report func(operate.Step)) error {
		return server.MigrateStore(ctx, server.Config{DataDir: dir}, report)
	}
	beta := strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1)
	t.Run("stored", func(t *testing.T) {
		h := harness.Start(t, onDisk)
		h.GaugesBy(hook)
		h.Create(harness.GaugesV1, harness.Gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
		h.Create(harness.GaugesV1, harness.Gauge("v1", "b", `,"spec":{"host":"h","port":"2"}`))
		h.MergePatch(harness.GaugesAs, `{"spec":{"versions":`+harness.GaugeVersions("v2")+`}}`)
		h.AwaitStorage("v2")
		h.Create(harness.GaugesV2, harness.Gauge("v2", "new", `,"spec":{"host":"h","number":"3"}`))
		const schema = `"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"}}}}`
		h.Define(`{"type":"object","properties":{"a":{"type":"string"}}}`, `},{"name":"v1beta1","served":true,"storage":false,`+schema)
		h.Create(harness.ShopWidgets, harness.Widget("w", `,"a":"x"`))
		h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":false,`+schema+`},{"name":"v1beta1","served":true,"storage":true,`+schema+`}]}}`)
		h.AwaitText(harness.DefinedAs, `"storedVersions":["v1","v1beta1"]`)
	})
	var problems []string
	err := closed(context.Background(), func(s operate.Step) {
		if s.Problem != "" {
			problems = append(problems, s.Problem)
		}
	})
	if err != nil || len(problems) != 2 || !strings.Contains(problems[0], "only a running server calls the conversion webhook") {
		t.Errorf("%v, problems %v", err, problems)
	}
	if got := storedText(t, dir, "shop.example.com/widgets/default/w"); !strings.Contains(got, `"apiVersion":"shop.example.com/v1beta1"`) || !strings.Contains(got, `"a":"x"`) {
		t.Errorf("a widget is stored as %s", got)
	}
	t.Run("running", func(t *testing.T) {
		h := harness.Start(t, onDisk)
		watch := h.Watch(harness.GaugesV1 + "?watch=true")
		watch.Expect("ADDED a")
		watch.Expect("ADDED b")
		watch.Expect("ADDED new")
		if got := harness.Migrated(t, running); got.Rewritten != 2 || got.Failed != 0 {
			t.Errorf("the migration: %+v", got)
		}
		for range 2 {
			if e := watch.Next(); e.Type != "MODIFIED" || !strings.Contains(string(e.Object), `"apiVersion":"lab.example.com/v1"`) || !strings.Contains(string(e.Object), `"port":`) {
				t.Errorf("a watch saw %s %s", e.Type, e.Object)
			}
		}
		before := hook.Calls.Load()
		h.Run(t, []harness.Step{
			{"read", "GET", harness.GaugesV2, "", "", 200, `"number":"1"`},
			{"again", "GET", beta + "/w", "", "", 200, `"a":"x"`},
			{"no old version is stored", "PATCH", harness.GaugesAs + "/status", harness.MergePatchMedia, `{"status":{"storedVersions":["v2"]}}`, 200, `"storedVersions":["v2"]`},
			{"so it may go", "PATCH", harness.GaugesAs, "application/json-patch+json", `[{"op":"remove","path":"/spec/versions/0"}]`, 200, ""},
		})
		if n := hook.Calls.Load() - before; n != 0 {
			t.Errorf("%d calls after the migration", n)
		}
		h.AwaitCode(harness.GaugesV1, http.StatusNotFound)
		if got := harness.Migrated(t, running); got.Rewritten != 0 {
			t.Errorf("the second migration: %+v", got)
		}
	})
	if got := storedText(t, dir, "lab.example.com/gauges/default/a"); !strings.Contains(got, `"number":"1"`) {
		t.Errorf("a gauge is stored as %s", got)
	}
}

// A definition that changes while its objects are migrated: none is stored in the earlier
// form afterwards.
func TestMigrateBesideChangedDefinition(t *testing.T) {
	h := harness.Start(t, nil)
	schema := func(more string) string {
		return `{"type":"object","properties":{"a":{"type":"string"}` + more + `}}`
	}
	change := func(more, want string) {
		h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+schema(more)+`}}]}}`).Expect(t, 200, "")
		h.AwaitText(harness.ShopWidgets+"/w", want)
	}
	const b, c = `,"b":{"type":"string","default":"of b"}`, `,"c":{"type":"string","default":"of c"}`
	h.Define(schema(""), "")
	h.Create(harness.ShopWidgets, harness.Widget("w", `,"a":"x"`))
	change(b, `"b":"of b"`)
	var last operate.Step
	err := h.Running.MigrateCustom(t.Context(), "shop.example.com/widgets/default/w", func() { change(b+c, `"c":"of c"`) }, func(s operate.Step) { last = s })
	if err != nil || last.Rewritten != 1 || last.Failed != 0 {
		t.Errorf("the migration: %+v, %v", last, err)
	}
	h.Get(harness.ShopWidgets+"/w").Expect(t, 200, "")
	body, err := h.Running.StoredBody(t.Context(), "shop.example.com/widgets/default/w")
	if err != nil || !strings.Contains(string(body), `"c":"of c"`) {
		t.Errorf("a widget is stored as %s, %v", body, err)
	}
}

// storedText is an object in the store of a data directory that no server uses.
func storedText(t *testing.T, dir, key string) string {
	t.Helper()
	s, err := store.OpenReadOnly(store.Config{Dir: operate.StoreDir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := s.Get(context.Background(), key)
	return fmt.Sprint(string(e.Body), err)
}
