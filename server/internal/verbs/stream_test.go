package verbs

import (
	"context"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	server "github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// TestFrameAllocations bounds the allocations of an event that a watch encodes first.
func TestFrameAllocations(t *testing.T) {
	row := server.New(catalog.New(policy.New(time.Now), conversion.Hooks{}), catalog.Meta()).Snapshot().Core("pods")
	requests := request.Requests{}
	requests.SetDefaults()
	v := &Verbs{gather: request.NewGatherRoom(1 << 20), env: request.New(request.Config{Requests: requests, Clock: time.Now})}
	e := &store.Entry{Key: "core/pods/n/a", Revision: 7, Value: store.Value{RevisionAt: -1, Body: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","resourceVersion":"7",` +
		`"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{"name":"c","image":"i","resources":{}}]},"status":{"phase":"Pending"}}`)}}
	for _, c := range []struct {
		form  codec.MediaType
		bound float64
	}{{codec.MediaType{}, 1}, {codec.MediaType{Format: codec.Binary}, 2}} {
		f := &streamForm{s: v, res: row, accept: c.form}
		n := testing.AllocsPerRun(100, func() {
			if _, err := f.frame(context.Background(), modified, e); err != nil {
				t.Fatal(err)
			}
		})
		if n > c.bound {
			t.Errorf("an event as %v makes %.0f allocations, the bound is %.0f", c.form.Format, n, c.bound)
		}
	}
}
