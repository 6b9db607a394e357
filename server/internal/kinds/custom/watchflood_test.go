package custom_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestUnreadWatchesOfAStorm: a client that watches each object of a storm of writes by
// itself, and reads nothing, delays nobody: writers, readers and a watch of all objects go
// on, and the server stops.
func TestUnreadWatchesOfAStorm(t *testing.T) {
	const watches, objects, rounds = 2000, 200, 4
	h := harness.Start(t, func(c *server.Config) {
		harness.EverybodyMay(c)
		c.DisablePriorityAndFairness = false
	})
	second := h.Small()
	now := h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion").(string)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	harness.Parallel(watches, func(i int) {
		path := fmt.Sprintf("%s?watch=1&resourceVersion=%s&fieldSelector=metadata.name%%3Dstorm-%d", harness.ConfigMaps, now, i%objects)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, h.Running.URL()+path, nil)
		req.Header.Set("Authorization", "Bearer bob-token")
		resp, err := second.HTTP.Transport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a watch was answered with %d", resp.StatusCode)
		}
	})
	all := h.Watch(harness.ConfigMaps + "?watch=1&resourceVersion=" + now)
	text := strings.Repeat("x", 40<<10) // more than a stream has room for, in two rounds
	begun := time.Now()
	var writes sync.WaitGroup
	defer writes.Wait()
	writes.Go(func() {
		harness.Parallel(objects, func(i int) {
			name := fmt.Sprint("storm-", i)
			h.Create(harness.ConfigMaps, harness.ConfigMap(name, "{}"))
			for round := range rounds {
				h.MergePatch(harness.ConfigMaps+"/"+name, fmt.Sprintf(`{"data":{"k":"%d%s"}}`, round, text))
			}
			h.Delete(harness.ConfigMaps + "/" + name)
		})
	})
	for range objects * (rounds + 2) {
		if e := all.Next(); e.Type == "ERROR" {
			t.Fatalf("the watch of all ended: %s", e.Object)
		}
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("the storm took %v", took)
	}
	for range 20 {
		begun := time.Now()
		h.Send("GET", harness.ConfigMaps, "", nil, harness.AsCarol...).Expect(t, http.StatusOK, "")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("a read beside the watches took %v", took)
		}
	}
}

// TestManyDefinitionsDeletedAtOnce: watches of a hundred kinds that go together see each
// deletion and end.
func TestManyDefinitionsDeletedAtOnce(t *testing.T) {
	const kinds, objects = 100, 3
	h := harness.Start(t, nil)
	first, second := h.Copies()
	plural := func(i int) string { return fmt.Sprintf("kind%dthings", i) }
	path := func(i int) string {
		return "/apis/many.example.com/v1/namespaces/default/" + plural(i)
	}
	harness.Parallel(kinds, func(i int) {
		h.Create(harness.DefinitionsPath, harness.Custom("many.example.com", plural(i), fmt.Sprintf(`"kind":"Kind%dThing"`, i)))
	})
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
		for i := range kinds {
			if !strings.Contains(harness.Conditions(o, plural(i)+".many.example.com"), "Established=True") {
				return false
			}
		}
		return true
	})
	harness.Parallel(kinds, func(i int) {
		for n := range objects {
			h.Create(path(i), fmt.Sprintf(`{"apiVersion":"many.example.com/v1","kind":"Kind%dThing","metadata":{"name":"a%d"}}`, i, n))
		}
	})
	var all sync.WaitGroup
	heard := make([]tale, 2*kinds)
	for i := range heard {
		watch := listen(first, second, i, path(i/2)+"?watch=1")
		all.Go(func() { heard[i] = watch("a") })
	}
	harness.Parallel(kinds, func(i int) {
		h.Remove(harness.DefinitionsPath+"/"+plural(i)+".many.example.com", "").Expect(t, http.StatusOK, "")
	})
	all.Wait()
	for i := range heard {
		heard[i].expect(t, fmt.Sprint("watch of ", plural(i/2)), objects)
	}
}
