package server

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/features"
)

// metrics are the figures at /metrics, of one server. Names and labels are those
// of kube-apiserver 1.25 where it has the figure; what is the store's own begins
// with capstan_.
//
// Invariants:
//
//	M1. The values of labels come from the catalog, the routes and the verbs, never
//	    from a request, so that their number is bounded.
//	M2. A request that was not let through counts under its method and code alone:
//	    somebody without rights makes a handful of series, not one per resource.
type metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.CounterVec
	durations    *prometheus.HistogramVec
	sizes        *prometheus.HistogramVec
	terminations *prometheus.CounterVec
	watching     *prometheus.GaugeVec
	events       *prometheus.CounterVec
	eventSizes   *prometheus.HistogramVec
	deprecated   *prometheus.GaugeVec

	mu     sync.RWMutex
	series map[seriesKey]*series
}

// seriesKey is what the figures of requests are kept apart by.
type seriesKey struct {
	resource catalog.Resource // of names, since rows may be replaced
	sub      string           // the subresource, or the place of an endpoint
	verb     string
	scope    string
	code     int
	dryRun   bool
}

// series are the figures of one key, found once.
type series struct {
	requests  prometheus.Counter
	durations prometheus.Observer
	sizes     prometheus.Observer // nil for what does not read
	ended     prometheus.Counter  // nil for what was answered in the end
}

// durationBuckets are upstream's, in seconds.
var durationBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

func newMetrics(s *Server, stats func() store.Stats) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_total",
			Help: "Requests that were answered, by verb, what they were about, and the code of the answer."},
			[]string{"code", "component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_request_duration_seconds",
			Help: "How long requests took, from the last byte of their headers to the last of the answer.", Buckets: durationBuckets},
			[]string{"component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"}),
		sizes: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_response_sizes",
			Help: "Bytes of the answers to gets and lists, as they were sent.", Buckets: prometheus.ExponentialBuckets(1000, 10, 7)},
			[]string{"component", "group", "resource", "scope", "subresource", "verb", "version"}),
		terminations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_terminations_total",
			Help: "Requests that the server gave up to protect itself: too many at once (429), or too long (504)."},
			[]string{"code", "component", "group", "resource", "scope", "subresource", "verb", "version"}),
		watching: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_longrunning_requests",
			Help: "Requests under way that last as long as the client wants: watches."},
			[]string{"component", "group", "resource", "scope", "subresource", "verb", "version"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_watch_events_total",
			Help: "Events that were written to watches, by the kind of the object."}, []string{"group", "kind", "version"}),
		eventSizes: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_watch_events_sizes",
			Help: "Bytes of the events that were written to watches, by the kind of the object.", Buckets: prometheus.ExponentialBuckets(1024, 2, 8)},
			[]string{"group", "kind", "version"}),
		deprecated: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_requested_deprecated_apis",
			Help: "1 for a deprecated API that somebody has asked for since the start, with the release that no longer has it."},
			[]string{"group", "removed_release", "resource", "subresource", "version"}),
		series: make(map[seriesKey]*series),
	}
	inflight := func(kind string, count func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "apiserver_current_inflight_requests",
			Help: "Requests under way that count against the limit of requests in flight.", ConstLabels: prometheus.Labels{"request_kind": kind}},
			func() float64 { return float64(count()) })
	}
	m.registry.MustRegister(m.requests, m.durations, m.sizes, m.terminations, m.watching, m.events, m.eventSizes, m.deprecated, buildFigure(),
		inflight("mutating", s.limits.mutating.inUse.Load), inflight("readOnly", s.limits.reading.inUse.Load),
		&objectCounts{server: s}, storeFigures{stats}, featureFigures(s.features),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// featureFigures reports of each gate with an effect whether it is on, as later
// releases of kube-apiserver do.
func featureFigures(on features.Gates) prometheus.Collector {
	enabled := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_feature_enabled",
		Help: "1 for a feature that is on, 0 for one that is off."}, []string{"name", "stage"})
	for name, stage := range features.Effective() {
		value := 0.0
		if on[name] {
			value = 1
		}
		enabled.WithLabelValues(name, stage).Set(value)
	}
	return enabled
}

// begin notes what a request is about that may be made, and that it is under way if
// it lasts; end is its counterpart.
func (m *metrics) begin(r *request) {
	r.figures = keyOfRequest(r)
	if r.lasts = r.longRunning(); r.lasts {
		m.long(&r.figures).Inc()
	}
}

func (m *metrics) long(k *seriesKey) prometheus.Gauge {
	group, version, resource, sub := k.names()
	return m.watching.WithLabelValues("apiserver", group, resource, k.scope, sub, k.verb, version)
}

// end notes that a request has been answered.
func (m *metrics) end(r *request) {
	k := r.figures
	if k.verb == "" { // it did not come to begin
		k.verb = r.knownMethod()
	}
	if r.lasts {
		m.long(&k).Dec()
	}
	k.code = r.status
	f := m.find(k)
	f.requests.Inc()
	f.durations.Observe(time.Since(r.start).Seconds())
	if f.sizes != nil {
		f.sizes.Observe(float64(r.bytes))
	}
	if f.ended != nil {
		f.ended.Inc()
	}
}

// useDeprecated notes that somebody who may has asked for what is deprecated,
// whatever the answer.
func (m *metrics) useDeprecated(k *seriesKey, d *api.Deprecation) {
	group, version, resource, sub := k.names()
	m.deprecated.WithLabelValues(group, d.RemovedIn, resource, sub, version).Set(1)
}

// find gives the series of a key. Its labels are put together once.
func (m *metrics) find(k seriesKey) *series {
	m.mu.RLock()
	f := m.series[k]
	m.mu.RUnlock()
	if f != nil {
		return f
	}
	group, version, resource, sub := k.names()
	dryRun := ""
	if k.dryRun {
		dryRun = "All"
	}
	f = &series{
		requests:  m.requests.WithLabelValues(strconv.Itoa(k.code), "apiserver", dryRun, group, resource, k.scope, sub, k.verb, version),
		durations: m.durations.WithLabelValues("apiserver", dryRun, group, resource, k.scope, sub, k.verb, version),
	}
	if k.verb == "GET" || k.verb == "LIST" {
		f.sizes = m.sizes.WithLabelValues("apiserver", group, resource, k.scope, sub, k.verb, version)
	}
	if k.code == http.StatusTooManyRequests || k.code == http.StatusGatewayTimeout {
		f.ended = m.terminations.WithLabelValues(strconv.Itoa(k.code), "apiserver", group, resource, k.scope, sub, k.verb, version)
	}
	m.mu.Lock()
	m.series[k] = f
	m.mu.Unlock()
	return f
}

// keyOfRequest says which figures a request belongs to, but for the code of its
// answer.
func keyOfRequest(r *request) seriesKey {
	t := &r.target
	k := seriesKey{verb: metricVerb(r)}
	if t.resource != nil {
		k.resource = catalog.Resource{Group: t.resource.GV.Group, Version: t.resource.GV.Version, Plural: t.resource.Plural}
	}
	if t.sub != nil {
		k.sub = t.sub.Name
	}
	switch {
	case t.resource == nil:
		k.sub = t.place
	case t.name != "":
		k.scope = "resource"
	case t.namespace != "":
		k.scope = "namespace"
	default:
		k.scope = "cluster"
	}
	if r.mutating() && r.query.get("dryRun") != "" {
		k.dryRun = true
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

// names are the labels that say what a request was about.
func (k *seriesKey) names() (group, version, resource, sub string) {
	return k.resource.Group, k.resource.Version, k.resource.Plural, k.sub
}

// eventFigures are the figures of the events of a resource's watches.
type eventFigures struct {
	count prometheus.Counter
	sizes prometheus.Observer
}

// written notes an event.
func (f *eventFigures) written(bytes int) {
	f.count.Inc()
	f.sizes.Observe(float64(bytes))
}

func (m *metrics) eventsOf(res *catalog.Row) eventFigures {
	labels := []string{res.GV.Group, res.Kind, res.GV.Version}
	return eventFigures{m.events.WithLabelValues(labels...), m.eventSizes.WithLabelValues(labels...)}
}

// buildFigure says by its labels what this binary is.
func buildFigure() prometheus.Collector {
	info := discovery.Release()
	built := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_build_info", Help: "1, with the release that is served and what the server was built of and by."},
		[]string{"build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version", "major", "minor", "platform"})
	built.WithLabelValues(info.BuildDate, info.Compiler, info.GitCommit, info.GitTreeState, info.GitVersion, info.GoVersion, info.Major, info.Minor, info.Platform).Set(1)
	return built
}

// serveMetrics answers /metrics in the text format that the client asks for.
func (s *Server) serveMetrics(r *request) error {
	families, err := s.metrics.registry.Gather()
	if err != nil {
		return api.Internal("the figures cannot be gathered: " + err.Error())
	}
	format := expfmt.NegotiateAccept(r.http.Header, expfmt.DefaultAcceptedFormats()...)
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, format)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return api.Internal("the figures cannot be written: " + err.Error())
		}
	}
	contentType, _, _ := strings.Cut(string(format), "; escaping=")
	return r.send(http.StatusOK, contentType, text.Bytes())
}

// objectCounts counts the objects of every resource, now and then, since that
// looks at every key.
type objectCounts struct {
	server *Server
	mu     sync.Mutex
	at     time.Time
	last   []prometheus.Metric
}

var objectsDesc = prometheus.NewDesc("apiserver_storage_objects", "Objects in the store, by resource, counted once a minute.", []string{"resource"}, nil)

// Describe implements prometheus.Collector.
func (*objectCounts) Describe(to chan<- *prometheus.Desc) { to <- objectsDesc }

// Collect implements prometheus.Collector. What cannot be counted is left out.
func (c *objectCounts) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.last == nil || now.Sub(c.at) >= c.server.cfg.durations.Counts {
		if last := c.server.countObjects(); last != nil {
			c.last, c.at = last, now
		}
	}
	for _, m := range c.last {
		to <- m
	}
}

func (s *Server) countObjects() (all []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.RequestTimeout)
	defer cancel()
	reader, err := s.store.At(ctx, s.store.Current())
	if err != nil {
		return nil
	}
	defer reader.Close()
	for t := range s.catalog.Snapshot().Types() {
		if t.Stored == nil {
			continue
		}
		n, err := reader.Count(ctx, t.Prefix, "")
		if err != nil {
			return nil
		}
		all = append(all, prometheus.MustNewConstMetric(objectsDesc, prometheus.GaugeValue, float64(n), t.Stored.GroupResource().String()))
	}
	return all
}
