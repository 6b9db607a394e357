package server

import (
	"context"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// newMetrics makes the metrics of the server and its store.
func newMetrics(s *Server, stats func() store.Stats) *metrics.Metrics {
	return metrics.New(metrics.Sources{Mutating: s.limits.Mutating.InUse.Load, Reading: s.limits.Reading.InUse.Load,
		Objects: s.countObjects, CountsAge: s.cfg.durations.Counts, Stats: stats, Features: s.features})
}

// openTracing begins to send spans of requests, if that is configured.
func (s *Server) openTracing() error {
	if s.cfg.TracingConfigFile == "" {
		return nil
	}
	figures := metrics.NewSpans()
	s.metrics.Add(figures)
	var err error
	s.spans, s.tracer, err = s.cfg.extras().Traces(s.cfg.TracingConfigFile, "kube-apiserver-"+uuid.NewString(), figures, s.log, s.cfg.durations.Spans)
	return err
}

// openFlowControl reads the flow schemas and priority levels. They share the numbers of
// reading and writing requests that may run at once.
func (s *Server) openFlowControl(ctx context.Context) (err error) {
	if s.cfg.DisablePriorityAndFairness {
		return nil
	}
	seats := max(s.cfg.MaxRequestsInflight, 0) + max(s.cfg.MaxMutatingRequestsInflight, 0)
	if seats == 0 {
		seats = unbounded
	}
	s.flow, err = flowcontrol.Open(ctx, flowcontrol.Config{Store: s.store, Catalog: s.catalog, Logger: s.log, Seats: seats, Wait: s.cfg.RequestTimeout / 4, Watchers: s.hub.Watchers})
	if s.flow != nil {
		s.metrics.Add(s.flow)
	}
	return err
}

// unbounded is a number of seats that requests do not take up.
const unbounded = 1 << 24

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
