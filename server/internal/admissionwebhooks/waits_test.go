package admissionwebhooks

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conversion"
	"github.com/capstan-dev/capstan/server/internal/matching"
	"github.com/capstan-dev/capstan/server/internal/policy"
)

// BenchmarkNoConfiguration is the whole cost of a write without webhooks.
func BenchmarkNoConfiguration(b *testing.B) {
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta())
	w, err := Open(context.Background(), Config{Store: s, Matcher: &matching.Matcher{Catalog: c}, Log: slog.Default()})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	pods := c.Snapshot().Core("pods").Resource
	r := &admission.Request{Operation: admission.Create, Resource: pods}
	b.ReportAllocs()
	for b.Loop() {
		if w.Waits(admission.Create, pods, "") {
			b.Fatal("it waits")
		}
		if _, again, err := w.Admit(context.Background(), r); again != nil || err != nil {
			b.Fatal(err)
		}
		if err := w.Check(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
}
