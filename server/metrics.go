package server

import (
	"context"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// newMetrics makes the metrics of the server and its store.
func newMetrics(s *Server, stats func() store.Stats) *metrics.Metrics {
	return metrics.New(metrics.Sources{Mutating: s.limits.Mutating.InUse.Load, Reading: s.limits.Reading.InUse.Load,
		Objects: s.countObjects, CountsAge: s.cfg.durations.Counts, Stats: stats, Features: s.features})
}

// countObjects counts the objects of every resource; nil when that fails.
func (s *Server) countObjects() map[string]int64 {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.RequestTimeout)
	defer cancel()
	reader, err := s.store.At(ctx, s.store.Current())
	if err != nil {
		return nil
	}
	defer reader.Close()
	all := map[string]int64{}
	for t := range s.catalog.Snapshot().Types() {
		if t.Stored == nil {
			continue
		}
		n, err := reader.Count(ctx, t.Prefix, "")
		if err != nil {
			return nil
		}
		all[t.Stored.GroupResource().String()] = n
	}
	return all
}
