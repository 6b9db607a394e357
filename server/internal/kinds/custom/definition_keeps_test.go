package custom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestWatchesBesideChangesOfTheirDefinition: a watch misses nothing while its definition gets
// and loses another version, and other schemas and columns. In 1.25 each such change ends
// the watches of all versions. Here a watch may end, properly, and goes on where it ended.
func TestWatchesBesideChangesOfTheirDefinition(t *testing.T) {
	const each = 15
	h := harness.Start(t, nil)
	first, second := h.Copies()
	defineWidgets(h)
	now := h.Get(harness.ShopWidgets).Field(t, "metadata.resourceVersion").(string)
	versions := func(columns, more string) string {
		const open = `"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true`
		return `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,` + open + more + `}}` + columns + `},{"name":"v1beta1","served":true,"storage":false,` + open + `}}}`
	}
	const v2 = `,{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`
	changes := []struct{ name, spec string }{
		{"a version more", versions("", "") + v2},
		{"another schema", versions("", `,"properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}`) + v2},
		{"a column", versions(`,"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"}]`, "") + v2},
		{"a version less", versions("", "")},
	}
	heard := make([]resumed, 6)
	var all sync.WaitGroup
	for i := range heard {
		of := []*harness.Server{first, second}[i%2]
		path := []string{harness.ShopWidgets, strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1), "/apis/shop.example.com/v1/widgets"}[i/2]
		all.Go(func() { heard[i] = follow(of, t.Context(), path, now, "last") })
	}
	for i, change := range changes {
		var writes sync.WaitGroup
		writes.Go(func() {
			harness.Parallel(each, func(n int) {
				if got := h.Post(harness.ShopWidgets, harness.Widget(fmt.Sprintf("w%d-%d", i, n), "")); got.Code != http.StatusCreated {
					t.Errorf("%s: %d %s", change.name, got.Code, got.Body)
				}
			})
		})
		h.MergePatch(harness.DefinedAs, change.spec+`]}}`)
		writes.Wait()
	}
	h.Create(harness.ShopWidgets, harness.Widget("last", ""))
	all.Wait()
	for i, f := range heard {
		if f.err != nil || len(f.seen) != each*len(changes)+1 || f.twice != "" {
			t.Errorf("watch %d saw %d of %d objects, %s twice, error %v", i, len(f.seen), each*len(changes)+1, f.twice, f.err)
		}
		t.Logf("watch %d ended %d times", i, f.ends)
	}
}

// resumed is the sum of the events of a client that opens its watch again when it ends.
type resumed struct {
	seen  map[string]bool
	twice string
	ends  int
	err   error
}

// follow watches a collection until an object is added.
func follow(h *harness.Server, ctx context.Context, path, since, last string) (f resumed) {
	f.seen = map[string]bool{}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for ; ; f.ends++ {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, h.Running.URL()+path+"?watch=1&resourceVersion="+since, nil)
		req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
		resp, err := h.HTTP.Transport.RoundTrip(req)
		if err != nil {
			f.err = err
			return f
		}
		for events := json.NewDecoder(resp.Body); resp.StatusCode == http.StatusOK; {
			var e struct {
				Type   string
				Object struct {
					Metadata struct{ Name, ResourceVersion string }
				}
			}
			if err := events.Decode(&e); err != nil {
				break
			}
			name := e.Object.Metadata.Name
			switch {
			case e.Type == "ERROR":
				f.err = fmt.Errorf("an error event after %s", since)
			case e.Type == "ADDED" && f.seen[name]:
				f.twice = name
			case e.Type == "ADDED":
				f.seen[name] = true
			}
			since = e.Object.Metadata.ResourceVersion
			if f.err != nil || name == last {
				_ = resp.Body.Close()
				return f
			}
		}
		_ = resp.Body.Close()
		if f.err = ctx.Err(); f.err != nil {
			return f
		}
	}
}
