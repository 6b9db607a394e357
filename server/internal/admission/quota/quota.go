package quota

import (
	"context"
	"log/slog"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Config holds the dependencies.
type Config struct {
	LimitedResources []admission.LimitedResource
	Store            store.Store
	Catalog          *catalog.Catalog
	Clock            func() time.Time
	Log              *slog.Logger
	// Since reports whether the release of the built-in kinds is a named one or a later one.
	Since func(release string) bool
	// Resizes is set where containers are resized while they run.
	Resizes bool
}

// Quotas are the limit ranges and resource quotas of the cluster.
type Quotas struct {
	cfg           Config
	limits        *live.Collection[*limitRange]
	quotas        *live.Collection[*resourceQuota]
	limitRow, row *catalog.Row
	none          *charge // of writes in namespaces without quotas
}

var _ admission.Quotas = &Quotas{}

// Open reads the stored ones, and follows them.
func Open(ctx context.Context, cfg Config) (*Quotas, error) {
	snapshot := cfg.Catalog.Snapshot()
	q := &Quotas{cfg: cfg, limitRow: snapshot.Core("limitranges"), row: snapshot.Core("resourcequotas")}
	q.none = &charge{quotas: q}
	var err error
	if q.limits, err = live.Open(ctx, live.Config[*limitRange]{Store: cfg.Store, Prefixes: []string{q.limitRow.Prefix("")},
		Decode: live.Read(q.limitRow, readLimitRange), Logger: cfg.Log}); err != nil {
		return nil, err
	}
	q.quotas, err = live.Open(ctx, live.Config[*resourceQuota]{Store: cfg.Store, Prefixes: []string{q.row.Prefix("")},
		Decode: live.Read(q.row, q.readQuota), Logger: cfg.Log})
	if err != nil {
		q.limits.Close()
		return nil, err
	}
	return q, nil
}

// Close ends following.
func (q *Quotas) Close() {
	if q != nil {
		q.limits.Close()
		q.quotas.Close()
	}
}

// nameOf is the name of an object in refusals.
func nameOf(obj document.Value) string {
	if name := obj.At("metadata", "name").Text(); name != "" {
		return name
	}
	return obj.At("metadata", "generateName").Text()
}
