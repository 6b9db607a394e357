package quota

import (
	"log/slog"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/storetest"
	"github.com/capstan-dev/capstan/server/internal/admission"
	rows "github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// BenchmarkFreeNamespace measures what a create costs in a namespace without bounds.
func BenchmarkFreeNamespace(b *testing.B) {
	all := rows.New(catalog.New(policy.New(time.Now), conversion.Hooks{}), catalog.Meta())
	q, err := Open(b.Context(), Config{Store: store.Store(storetest.NewModel()), Catalog: all, Clock: time.Now, Log: slog.Default()})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	pods := all.Snapshot().Core("pods").Resource
	b.ReportAllocs()
	for b.Loop() {
		r := admission.Request{Operation: admission.Create, Resource: pods, Namespace: "default"}
		if q.FillLimits(b.Context(), &r) != nil || q.CheckLimits(b.Context(), &r) != nil || q.Charge(b.Context(), &r) != nil || !stands(r.Charge) {
			b.Fatal("bounded")
		}
	}
}

func stands(c admission.Charge) bool {
	_, stand := c.Stands("default", nil)
	return stand
}
