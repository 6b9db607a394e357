// Package quota holds the bounds of namespaces: limit ranges, for each of its objects, and
// resource quotas, for all of them together.
package quota

import (
	"context"
	"log/slog"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Config holds the dependencies.
type Config struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Log     *slog.Logger
}

// Quotas are the limit ranges and resource quotas of the cluster.
type Quotas struct {
	cfg      Config
	limits   *live.Collection[*limitRange]
	limitRow *catalog.Row
}

var _ admission.Quotas = &Quotas{}

// Open reads the stored ones, and follows them.
func Open(ctx context.Context, cfg Config) (*Quotas, error) {
	q := &Quotas{cfg: cfg, limitRow: cfg.Catalog.Snapshot().Core("limitranges")}
	var err error
	q.limits, err = live.Open(ctx, live.Config[*limitRange]{Store: cfg.Store, Prefixes: []string{q.limitRow.Prefix("")}, Decode: live.Read(q.limitRow, readLimitRange), Logger: cfg.Log})
	return q, err
}

// Close ends following.
func (q *Quotas) Close() {
	if q != nil && q.limits != nil {
		q.limits.Close()
	}
}

// forbid refuses a write.
func forbid(r *admission.Request, why string) error {
	name := r.Object.At("metadata", "name").Text()
	if name == "" {
		name = r.Object.At("metadata", "generateName").Text()
	}
	return api.Forbidden(r.Resource.GroupResource(), name, why)
}
