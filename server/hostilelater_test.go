package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server"
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
func (h *harness) drained(n int, path, accept string) (size int64) {
	sizes := make([]int64, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Add(1)
		go func() {
			defer wait.Done()
			req, err := http.NewRequest(http.MethodGet, h.server.URL()+path, nil)
			if err != nil {
				h.t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+adminToken)
			req.Header.Set("Accept", accept)
			resp, err := h.client.Do(req)
			if err != nil {
				h.t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if sizes[i], err = io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
				h.t.Errorf("%s: %d, %v", path, resp.StatusCode, err)
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
	h := startServer(t, evaluatedOnce)
	h.define(spread(0), "")
	h.awaitCode(shopWidgets, http.StatusOK)
	h.create(shopWidgets, widget("many", `,"spec":{`+entries(40_000, `"k%d":{}`, "")+`}`))
	for i := range 30 {
		h.create(shopWidgets, widget(fmt.Sprintf("few%d", i), `,"spec":{`+entries(1400, `"k%d":{}`, "")+`}`))
	}
	h.mergePatch(definedAs, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+spread(2048)+`}}]}}`).expect(t, 200, "")
	h.awaitText(shopWidgets+"/few1", "aaaaaa")
	for _, c := range []hostile{
		{"get", "GET", shopWidgets + "/many", "", "", 200},
		{"relabel", "PATCH", shopWidgets + "/many?dryRun=All", mergePatch, `{"metadata":{"labels":{"a":"b"}}}`, 200},
		{"empty", "PATCH", shopWidgets + "/many?dryRun=All", mergePatch, `{"spec":null}`, 200},
		{"relabel a smaller one", "PATCH", shopWidgets + "/few2", mergePatch, `{"metadata":{"labels":{"a":"b"}}}`, 413},
		{"apply", "PATCH", shopWidgets + "/few2?fieldManager=m", applyPatch, widget("few2", `,"spec":{"k":{}}`), 413},
		{"delete", "DELETE", shopWidgets + "/many?dryRun=All", "application/json", "{}", 200},
		{"table", "GET", shopWidgets + "/many", "", "", 200},
	} {
		accept := "application/json"
		if c.name == "table" {
			accept = asTable
		}
		h.expands(t, c, "", "Accept", accept)
	}
	if strings.Contains(string(h.get(shopWidgets+"/many").body), "aaaa") {
		t.Error("an object that its defaults make too large is shown with some")
	}
	used := peak(func() {
		if read := h.drained(2, shopWidgets, "application/json"); read < 2*mostExpanded/3 {
			t.Errorf("two lists have %d bytes, the objects lack their defaults", read)
		}
	})
	if used > mostExpanded && !server.RaceEnabled {
		t.Errorf("two lists take %d MiB, at most %d are allowed", used>>20, mostExpanded>>20)
	}
	h.delete(shopWidgets + "/many")
}

// TestHostileStorageDefaults: the stored version of a definition has a large default that the
// written one does not have.
func TestHostileStorageDefaults(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	h.create(definitionsPath, `{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[
		{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":`+spread(0)+`}},{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":`+spread(8192)+`}}]}}`)
	h.awaitCode(shopWidgets, http.StatusOK)
	many := widget("many", `,"spec":{`+entries(30_000, `"k%d":{}`, "")+`}`)
	for _, c := range []hostile{
		{"create", "POST", shopWidgets, "application/json", many, 413},
		{"apply", "PATCH", shopWidgets + "/many?fieldManager=m", applyPatch, many, 413},
	} {
		h.expands(t, c, "too large")
	}
}

// TestHostileColumns: each of many columns shows a large object.
func TestHostileColumns(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	h.define(`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
		`,"additionalPrinterColumns":[`+entries(300, `{"name":"c%d","type":"string","jsonPath":".spec"}`, "")+`]`)
	h.awaitCode(shopWidgets, http.StatusOK)
	h.create(shopWidgets, widget("large", `,"spec":{"a":"`+strings.Repeat("x", 1<<20)+`"}`))
	h.expands(t, hostile{"row", "GET", shopWidgets + "/large", "", "", 200}, ",null,null", "Accept", asTable)
	h.expands(t, hostile{"rows", "GET", shopWidgets, "", "", 200}, ",null,null", "Accept", asTable)
}

// TestHostileConvertedObjects: a conversion webhook answers with as many values as there is
// room for.
func TestHostileConvertedObjects(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	h.awaitCode(gaugesV1, http.StatusOK)
	h.create(gaugesV1, gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	large := strings.Repeat("0,", 1_400_000) + "0"
	hook.do(func(w http.ResponseWriter, r *http.Request) bool {
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
	for _, c := range []hostile{
		{"get", "GET", gaugesV2 + "/a", "", "", 500},
		{"list", "GET", gaugesV2, "", "", 500},
		{"patch", "PATCH", gaugesV2 + "/a", mergePatch, `{"metadata":{"labels":{"a":"b"}}}`, 500},
	} {
		h.expands(t, c, " values, make it smaller")
	}
}

// TestHostileMutations: a webhook makes an object large, by copies and by defaults.
func TestHostileMutations(t *testing.T) {
	h := startServer(t, evaluatedOnce)
	h.define(spread(8192), "")
	h.awaitCode(shopWidgets, http.StatusOK)
	v := newMutator(t, func(_ string, request map[string]any) string {
		switch request["name"] {
		case "copies":
			return "[" + entries(40, `{"op":"copy","from":"/spec","path":"/spec/k%d"}`, "") + "]"
		case "large":
			return `[{"op":"add","path":"/spec/x","value":{"a":"` + strings.Repeat("y", 2<<20) + `"}}]`
		}
		return `[{"op":"add","path":"/spec","value":{` + entries(20_000, `"k%d":{}`, "") + `}}]`
	})
	h.mutateBy(v, "m", reviewRule(`"CREATE"`, "shop.example.com", "v1", "widgets"), "")
	for name, want := range map[string]hostile{"copies": {code: 500, body: "copies of the patch"}, "large": {code: 413, body: "too large"}, "defaults": {code: 500, body: "with its defaults"}} {
		h.expands(t, hostile{name, "POST", shopWidgets, "application/json", widget(name, `,"spec":{"k":{"a":"`+strings.Repeat("x", 1<<10)+`"}}`), want.code}, want.body)
	}
}
