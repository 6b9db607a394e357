package objects_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// spread is the schema of widgets with any number of parts, each with the default of the
// given size, and none for 0.
func spread(size int) string {
	value := ""
	if size > 0 {
		value = `,"default":"` + strings.Repeat("a", size) + `"`
	}
	return `{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"` + value + `}}}}}}`
}

// drained reads answers of the server to the end, so many at once, and returns the bytes of
// all.
func drained(h *harness.Server, n int, path, accept string) (size int64) {
	sizes := make([]int64, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			req, err := http.NewRequest(http.MethodGet, h.Running.URL()+path, nil)
			if err != nil {
				h.T.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
			req.Header.Set("Accept", accept)
			resp, err := h.HTTP.Do(req)
			if err != nil {
				h.T.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if sizes[i], err = io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
				h.T.Errorf("%s: %d, %v", path, resp.StatusCode, err)
			}
		}()
	}
	wait.Wait()
	for _, s := range sizes {
		size += s
	}
	return size
}

// TestHostileLaterDefaults: a definition gets a large default when there are objects. One
// that it makes too large is shown without defaults, so that it can be changed and deleted; a
// list of others, each of some megabytes, takes no more memory than a few of them.
func TestHostileLaterDefaults(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Define(spread(0), "")
	h.AwaitCode(harness.ShopWidgets, http.StatusOK)
	h.Create(harness.ShopWidgets, harness.Widget("many", `,"spec":{`+harness.Entries(40_000, `"k%d":{}`, "")+`}`))
	for i := range 30 {
		h.Create(harness.ShopWidgets, harness.Widget(fmt.Sprintf("few%d", i), `,"spec":{`+harness.Entries(1400, `"k%d":{}`, "")+`}`))
	}
	h.MergePatch(harness.DefinedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+spread(2048)+`}}]}}`).Expect(t, 200, "")
	h.AwaitText(harness.ShopWidgets+"/few1", "aaaaaa")
	for _, c := range []harness.Hostile{
		{"get", "GET", harness.ShopWidgets + "/many", "", "", 200},
		{"relabel", "PATCH", harness.ShopWidgets + "/many?dryRun=All", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 200},
		{"empty", "PATCH", harness.ShopWidgets + "/many?dryRun=All", harness.MergePatchMedia, `{"spec":null}`, 200},
		{"relabel a smaller one", "PATCH", harness.ShopWidgets + "/few2", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 413},
		{"apply", "PATCH", harness.ShopWidgets + "/few2?fieldManager=m", harness.ApplyMedia, harness.Widget("few2", `,"spec":{"k":{}}`), 413},
		{"delete", "DELETE", harness.ShopWidgets + "/many?dryRun=All", "application/json", "{}", 200},
		{"table", "GET", harness.ShopWidgets + "/many", "", "", 200},
	} {
		accept := "application/json"
		if c.Name == "table" {
			accept = asTable
		}
		expands(h, t, c, "", "Accept", accept)
	}
	if strings.Contains(string(h.Get(harness.ShopWidgets+"/many").Body), "aaaa") {
		t.Error("an object that its defaults make too large is shown with some")
	}
	used := peak(func() {
		if read := drained(h, 2, harness.ShopWidgets, "application/json"); read < 2*mostExpanded/3 {
			t.Errorf("two lists have %d bytes, the objects lack their defaults", read)
		}
	})
	if used > mostExpanded && !measured.Race {
		t.Errorf("two lists take %d MiB, at most %d are allowed", used>>20, mostExpanded>>20)
	}
	h.Delete(harness.ShopWidgets + "/many")
}

// TestHostileStorageDefaults: the stored version of a definition has a large default that the
// written one does not have.
func TestHostileStorageDefaults(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Create(harness.DefinitionsPath, `{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[
		{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":`+spread(0)+`}},{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":`+spread(8192)+`}}]}}`)
	h.AwaitCode(harness.ShopWidgets, http.StatusOK)
	many := harness.Widget("many", `,"spec":{`+harness.Entries(30_000, `"k%d":{}`, "")+`}`)
	for _, c := range []harness.Hostile{
		{"create", "POST", harness.ShopWidgets, "application/json", many, 413},
		{"apply", "PATCH", harness.ShopWidgets + "/many?fieldManager=m", harness.ApplyMedia, many, 413},
	} {
		expands(h, t, c, "too large")
	}
}

// TestHostileColumns: each of many columns shows a large object.
func TestHostileColumns(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
		`,"additionalPrinterColumns":[`+harness.Entries(300, `{"name":"c%d","type":"string","jsonPath":".spec"}`, "")+`]`)
	h.AwaitCode(harness.ShopWidgets, http.StatusOK)
	h.Create(harness.ShopWidgets, harness.Widget("large", `,"spec":{"a":"`+strings.Repeat("x", 1<<20)+`"}`))
	expands(h, t, harness.Hostile{"row", "GET", harness.ShopWidgets + "/large", "", "", 200}, ",null,null", "Accept", asTable)
	expands(h, t, harness.Hostile{"rows", "GET", harness.ShopWidgets, "", "", 200}, ",null,null", "Accept", asTable)
}

// TestHostileConvertedObjects: a conversion webhook answers with as many values as there is
// room for.
func TestHostileConvertedObjects(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	h.AwaitCode(harness.GaugesV1, http.StatusOK)
	h.Create(harness.GaugesV1, harness.Gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	large := strings.Repeat("0,", 1_400_000) + "0"
	hook.Do(func(w http.ResponseWriter, r *http.Request) bool {
		var review struct {
			APIVersion string
			Request    struct {
				UID     string
				Objects []struct{ Metadata json.RawMessage }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"ConversionReview","apiVersion":%q,"response":{"uid":%q,"result":{"status":"Success"},"convertedObjects":[
			{"kind":"Gauge","apiVersion":"lab.example.com/v2","metadata":%s,"spec":{"host":[%s]}}]}}`, review.APIVersion, review.Request.UID, review.Request.Objects[0].Metadata, large)
		return true
	})
	for _, c := range []harness.Hostile{
		{"get", "GET", harness.GaugesV2 + "/a", "", "", 500},
		{"list", "GET", harness.GaugesV2, "", "", 500},
		{"patch", "PATCH", harness.GaugesV2 + "/a", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 500},
	} {
		expands(h, t, c, " values, make it smaller")
	}
}

// TestHostileMutations: a webhook makes an object large, by copies and by defaults.
func TestHostileMutations(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Define(spread(8192), "")
	h.AwaitCode(harness.ShopWidgets, http.StatusOK)
	v := harness.NewMutator(t, func(_ string, request map[string]any) string {
		switch request["name"] {
		case "copies":
			return "[" + harness.Entries(40, `{"op":"copy","from":"/spec","path":"/spec/k%d"}`, "") + "]"
		case "large":
			return `[{"op":"add","path":"/spec/x","value":{"a":"` + strings.Repeat("y", 2<<20) + `"}}]`
		}
		return `[{"op":"add","path":"/spec","value":{` + harness.Entries(20_000, `"k%d":{}`, "") + `}}]`
	})
	h.MutateBy(v, "m", harness.ReviewRule(`"CREATE"`, "shop.example.com", "v1", "widgets"), "")
	for name, want := range map[string]harness.Hostile{"copies": {Code: 500, Body: "copies of the patch"}, "large": {Code: 413, Body: "too large"}, "defaults": {Code: 500, Body: "with its defaults"}} {
		expands(h, t, harness.Hostile{name, "POST", harness.ShopWidgets, "application/json", harness.Widget(name, `,"spec":{"k":{"a":"`+strings.Repeat("x", 1<<10)+`"}}`), want.Code}, want.Body)
	}
}
