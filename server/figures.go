package server

import (
	"context"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// newMetrics makes the figures of the server and its store.
func newMetrics(s *Server, stats func() store.Stats) *metrics.Metrics {
	return metrics.New(metrics.Sources{Mutating: s.limits.mutating.inUse.Load, Reading: s.limits.reading.inUse.Load,
		Objects: s.countObjects, CountsAge: s.cfg.durations.Counts, Stats: stats, Features: s.features})
}

// count notes the labels of a request that may be made, and that it is under way if it
// lasts.
func (s *Server) count(r *request) {
	r.figures = keyOfRequest(r)
	if r.lasts = r.longRunning(); r.lasts {
		s.metrics.Lasts(&r.figures)
	}
}

// counted notes that a request has been answered.
func (s *Server) counted(r *request) {
	k := r.figures
	if k.Verb == "" { // it did not come to count
		k.Verb = r.knownMethod()
	}
	k.Code = r.status
	s.metrics.End(&metrics.Request{Key: k, Lasts: r.lasts, Start: r.start, Bytes: r.bytes})
}

// keyOfRequest has the labels of a request, but for the code of its answer.
func keyOfRequest(r *request) metrics.Key {
	t := &r.target
	k := metrics.Key{Verb: metricVerb(r)}
	if t.resource != nil {
		k.Resource = catalog.Resource{Group: t.resource.GV.Group, Version: t.resource.GV.Version, Plural: t.resource.Plural}
	}
	if t.sub != nil {
		k.Sub = t.sub.Name
	}
	switch {
	case t.resource == nil:
		k.Sub = t.place
	case t.name != "":
		k.Scope = "resource"
	case t.namespace != "":
		k.Scope = "namespace"
	default:
		k.Scope = "cluster"
	}
	if r.mutating() && r.query.get("dryRun") != "" {
		k.DryRun = true
	}
	return k
}

// metricVerb is the verb of a request as upstream's figures spell it.
func metricVerb(r *request) string {
	if r.target.resource == nil {
		return r.knownMethod()
	}
	switch v := r.verb(); v {
	case "create":
		return "POST"
	case "update":
		return "PUT"
	case "patch":
		if r.applies() {
			return "APPLY"
		}
		return "PATCH"
	case "delete":
		return "DELETE"
	case "deletecollection":
		return "DELETECOLLECTION"
	case "list":
		return "LIST"
	case "watch":
		return "WATCH"
	}
	return "GET"
}

// knownMethods are the methods that some path answers.
var knownMethods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut}

// knownMethod is the method of a request for no resource, "other" for one that HTTP
// does not know.
func (r *request) knownMethod() string {
	for _, m := range knownMethods {
		if m == r.http.Method {
			return m
		}
	}
	return "other"
}

// serveMetrics answers /metrics.
func (s *Server) serveMetrics(r *request) error {
	contentType, text, err := s.metrics.Text(r.http.Header)
	if err != nil {
		return api.Internal(err.Error())
	}
	return r.send(http.StatusOK, contentType, text)
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
