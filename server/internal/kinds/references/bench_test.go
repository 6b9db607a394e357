package references_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	gencatalog "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/kinds/references"
)

// BenchmarkTo measures the question of a delete among 100,000 objects that refer to 1,000 others.
func BenchmarkTo(b *testing.B) {
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const many = 100_000
	keys := make([]string, 1000)
	for i := 0; i < many; i += len(keys) {
		for k := range keys {
			keys[k] = fmt.Sprintf("fleet.example.com/trucks/default/t%d", i+k)
		}
		_, err := s.UpdateAll(context.Background(), keys, func([]*store.Entry) ([]store.Write, error) {
			writes := make([]store.Write, len(keys))
			for k := range keys {
				body := fmt.Sprintf(`{"kind":"Truck","apiVersion":"fleet.example.com/v1","metadata":{"name":"t%d","namespace":"default"},"data":{"depot":"d%d"}}`, i+k, k)
				writes[k] = store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte(body), RevisionAt: -1}}
			}
			return writes, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	groups := harness.FleetAPI(nil, harness.RefersTo("depots", "Depot", "depot", api.MissingRefused, api.DeleteRestricted)).Groups()
	x, err := references.Open(context.Background(), references.Config{Store: s, Catalog: catalog.New(groups, gencatalog.Meta()), Logger: slog.Default()})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for _, c := range []struct {
		name, key string
		total     int
	}{{"nobody", "fleet.example.com/depots/default/free", 0}, {"hundred", "fleet.example.com/depots/default/d7", 100}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, total, _ := x.To(c.key); total != c.total {
					b.Fatalf("%d refer to it, want %d", total, c.total)
				}
			}
		})
	}
}
