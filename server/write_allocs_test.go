package server

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/invariants"
	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// allocations are the allocations and bytes of a call in the best of some rounds, since other
// goroutines allocate now and then. The collector, which empties pools, does not run.
func allocations(call func(i int)) (count, bytes float64) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const rounds, calls = 5, 40
	call(0)
	var counts, sizes []float64
	for round := range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range calls {
			call(1 + round*calls + i)
		}
		runtime.ReadMemStats(&after)
		counts = append(counts, float64(after.Mallocs-before.Mallocs)/calls)
		sizes = append(sizes, float64(after.TotalAlloc-before.TotalAlloc)/calls)
	}
	return least(counts), least(sizes)
}

func least(all []float64) float64 {
	best := all[0]
	for _, n := range all {
		best = min(best, n)
	}
	return best
}

// TestWriteAllocations bounds the allocations of writes on the whole way of a request, from
// the route to the answer, and of its stages: a body is decoded; then validated, sealed and
// committed; and with its owner recorded.
func TestWriteAllocations(t *testing.T) {
	if measured.Race || invariants.Enabled {
		t.Skip("the checks of this build allocate")
	}
	configMap := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default","labels":{"app":"bench"}},"data":{"n":"1","text":%q}}`, name, strings.Repeat("0123456789abcdef", 120))
	}
	pod := func(name string) string { return string(benchPod(name)) }
	for _, c := range []struct {
		plural string
		body   func(name string) string
		patch  string
		bounds map[string][2]float64 // allocations, KiB
	}{
		{"configmaps", configMap, `{"data":{"n":"%d"}}`, map[string][2]float64{"create": {97, 34}, "update": {136, 39}, "patch": {112, 19}, "apply": {162, 43}, "delete": {62, 15},
			"decode": {18, 44}, "decode to commit": {64, 16}, "with the owner": {68, 17}}},
		{"pods", pod, `{"metadata":{"labels":{"n":"v%d"}}}`, map[string][2]float64{"create": {188, 64}, "update": {301, 82}, "patch": {562, 106}, "apply": {775, 98}, "delete": {105, 46},
			"decode": {32, 47}, "decode to commit": {133, 22}, "with the owner": {156, 28}}},
	} {
		var now atomic.Pointer[time.Time] // each step has one second of its own: an update in another second than the create renews the owner's time
		start := time.Now()
		now.Store(&start)
		s := startQuiet(t, func(c *Config) { c.Clock = func() time.Time { return *now.Load() } }) // whose files in memory are short: they grow by copies of themselves
		path := "/api/v1/namespaces/default/" + c.plural
		name := func(i int) string { return fmt.Sprintf("o-%d", i) }
		send := func(method, path, contentType, body string) { s.deliver(t, method, path, contentType, body) }
		row, made := s.catalog.Snapshot().Core(c.plural), 0
		kind := request.KindOf(row)
		decode := func(name string) *document.Document {
			doc, _, err := s.env.Parse([]byte(c.body(name)), kind, document.Value{})
			if err != nil {
				t.Fatal(err)
			}
			return doc
		}
		write := func(owned bool) {
			made++
			w := objects.Write{Ref: objects.Ref{Row: row, Namespace: "default"}, Opts: objects.Options{Manager: "bench", Applied: !owned}, Creates: true,
				Change: objects.NewObject(decode(fmt.Sprint("w-", made)), nil)}
			if _, err := s.objects.Write(context.Background(), &w); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			name string
			call func(i int)
		}{
			{"create", func(i int) { send(http.MethodPost, path, "application/json", c.body(name(i))) }},
			{"update", func(i int) {
				send(http.MethodPut, path+"/"+name(i), "application/json", strings.Replace(c.body(name(i)), `"bench"`, `"changed"`, 1))
			}},
			{"patch", func(i int) {
				send(http.MethodPatch, path+"/"+name(i), "application/merge-patch+json", fmt.Sprintf(c.patch, i))
			}},
			{"apply", func(i int) {
				send(http.MethodPatch, path+"/"+name(i)+"?fieldManager=bench&force=true", "application/apply-patch+yaml",
					strings.Replace(c.body(name(i)), `"bench"`, `"applied"`, 1))
			}},
			{"delete", func(i int) {
				send(http.MethodDelete, path+"/"+name(i)+"?gracePeriodSeconds=0", "application/json", "")
			}},
			{"decode", func(i int) { decode(name(i)) }},
			{"decode to commit", func(int) { write(false) }},
			{"with the owner", func(int) { write(true) }},
		} {
			later := now.Load().Add(time.Second)
			now.Store(&later)
			count, size := allocations(step.call)
			t.Logf("%s of %s: %.0f allocations, %.1f KiB", step.name, c.plural, count, size/1024)
			if b := c.bounds[step.name]; count > b[0] || size > b[1]*1024 {
				t.Errorf("%s of %s: %.0f allocations of %.1f KiB, the bounds are %.0f and %.0f", step.name, c.plural, count, size/1024, b[0], b[1])
			}
		}
	}
}
