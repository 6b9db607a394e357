package metrics

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// Metrics are the metrics of one server at /metrics. Names and labels are those of
// kube-apiserver 1.25 where it has the metric; the store's own begin with capstan_.
//
// Invariants:
//
//	M1. The values of labels come from the catalog, the routes and the verbs, never
//	    from a request, so that their number is bounded.
//	M2. An unauthorized request counts under its method and code alone: a user without
//	    rights makes a handful of series, not one per resource.
type Metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.CounterVec
	durations    *prometheus.HistogramVec
	sizes        *prometheus.HistogramVec
	terminations *prometheus.CounterVec
	watching     *prometheus.GaugeVec
	events       *prometheus.CounterVec
	eventSizes   *prometheus.HistogramVec
	deprecated   *prometheus.GaugeVec
	Extensions   Availability
	Webhooks     Webhooks
	PodSecurity  *PodSecurity
	Policies     *Policies
	Admission    *Admission
	Audit        *Audit
	// Impersonation is nil in releases without.
	Impersonation *Impersonation

	mu     ranks.RWMutex[ranks.Derived]
	series map[Key]*series
}

// Key is the labels of request metrics.
type Key struct {
	Resource catalog.Resource // names, since rows may be replaced
	Sub      string           // the subresource, or the path of an endpoint
	Verb     string
	Scope    string // resource, namespace or cluster
	Code     int    // of the answer; 0 before it
	DryRun   bool
}

// series are the metrics of one key, looked up once.
type series struct {
	requests  prometheus.Counter
	durations prometheus.Observer
	sizes     prometheus.Observer // nil for writes
	ended     prometheus.Counter  // nil for requests that were answered in the end
}

// durationBuckets are those of kube-apiserver, in seconds.
var durationBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

// Sources provide metrics when they are scraped.
type Sources struct {
	Mutating, Reading func() int64 // requests in flight
	// Objects counts the objects in the store, by resource; -1 for those that cannot be counted.
	// It is called when the last counts are older than CountsAge, and never for a negative one.
	Objects   func() map[string]int64
	CountsAge time.Duration
	Stats     func() store.Stats
	Features  options.Gates
	Release   string // of the built-in kinds: "1.25"
	// Impersonation adds the metrics of requests that act as another user.
	Impersonation bool
}

// New makes the metrics of one server.
func New(from Sources) *Metrics {
	m := &Metrics{
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
		Extensions:  newAvailability(),
		Webhooks:    newWebhooks(),
		PodSecurity: newPodSecurity(),
		Policies:    newPolicies(),
		Admission:   &Admission{},
		series:      make(map[Key]*series),
		Audit:       newAudit(),
	}
	inflight := func(kind string, count func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "apiserver_current_inflight_requests",
			Help: "Requests under way that count against the limit of requests in flight.", ConstLabels: prometheus.Labels{"request_kind": kind}},
			func() float64 { return float64(count()) })
	}
	m.registry.MustRegister(m.requests, m.durations, derivedDurations{m.durations}, m.sizes, m.terminations, m.watching, m.events, m.eventSizes, m.deprecated,
		m.Extensions.unavailable, m.Extensions.turned, buildFigure(from.Release),
		m.Audit.events, m.Audit.refused, m.Audit.failed, m.Audit.levels,
		m.Webhooks.durations, m.Webhooks.requests, m.Webhooks.rejections, m.Webhooks.open,
		m.Admission, m.PodSecurity.evaluations, m.PodSecurity.exemptions, m.PodSecurity.errors,
		inflight("mutating", from.Mutating), inflight("readOnly", from.Reading),
		&objectCounts{from: &from}, storeFigures{from.Stats}, featureFigures(from.Features, from.Release),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.Policies.all()...)
	if from.Impersonation {
		m.Impersonation = newImpersonation()
		m.registry.MustRegister(m.Impersonation.all()...)
	}
	return m
}

// Add adds the metrics of another room.
func (m *Metrics) Add(c prometheus.Collector) { m.registry.MustRegister(c) }

// Count adds a counter that is read when the metrics are.
func (m *Metrics) Count(name, help string, value *atomic.Int64) {
	m.Add(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value.Load()) }))
}

// featureFigures reports for each gate with an effect whether it is on, as later releases
// of kube-apiserver do.
func featureFigures(on options.Gates, release string) prometheus.Collector {
	enabled := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_feature_enabled",
		Help: "1 for a feature that is on, 0 for one that is off."}, []string{"name", "stage"})
	for name, stage := range options.Effective(release) {
		value := 0.0
		if on[name] {
			value = 1
		}
		enabled.WithLabelValues(name, stage).Set(value)
	}
	return enabled
}

// BeginLongRunning notes the begin of a long-running request, until End.
func (m *Metrics) BeginLongRunning(k *Key) { m.long(k).Inc() }

func (m *Metrics) long(k *Key) prometheus.Gauge {
	group, version, resource, sub := k.names()
	return m.watching.WithLabelValues("apiserver", group, resource, k.Scope, sub, k.Verb, version)
}

// Request is an answered request.
type Request struct {
	Key         Key
	LongRunning bool // BeginLongRunning was called for it
	Took        time.Duration
	Bytes       int64 // of the body of the answer
}

// End notes that a request has been answered.
func (m *Metrics) End(r *Request) {
	if r.LongRunning {
		m.long(&r.Key).Dec()
	}
	f := m.find(r.Key)
	f.requests.Inc()
	f.durations.Observe(r.Took.Seconds())
	if f.sizes != nil {
		f.sizes.Observe(float64(r.Bytes))
	}
	if f.ended != nil {
		f.ended.Inc()
	}
}

// UseDeprecated notes an authorized request for a deprecated resource, whatever the
// answer.
func (m *Metrics) UseDeprecated(k *Key, d *api.Deprecation) {
	group, version, resource, sub := k.names()
	m.deprecated.WithLabelValues(group, d.RemovedIn, resource, sub, version).Set(1)
}

// find returns the series of a key. Its labels are assembled once.
func (m *Metrics) find(k Key) *series {
	m.mu.RLock()
	f := m.series[k]
	m.mu.RUnlock()
	if f != nil {
		return f
	}
	group, version, resource, sub := k.names()
	dryRun := ""
	if k.DryRun {
		dryRun = "All"
	}
	f = &series{
		requests:  m.requests.WithLabelValues(strconv.Itoa(k.Code), "apiserver", dryRun, group, resource, k.Scope, sub, k.Verb, version),
		durations: m.durations.WithLabelValues("apiserver", dryRun, group, resource, k.Scope, sub, k.Verb, version),
	}
	if k.Verb == "GET" || k.Verb == "LIST" {
		f.sizes = m.sizes.WithLabelValues("apiserver", group, resource, k.Scope, sub, k.Verb, version)
	}
	if k.Code == http.StatusTooManyRequests || k.Code == http.StatusGatewayTimeout {
		f.ended = m.terminations.WithLabelValues(strconv.Itoa(k.Code), "apiserver", group, resource, k.Scope, sub, k.Verb, version)
	}
	m.mu.Lock()
	m.series[k] = f
	m.mu.Unlock()
	return f
}

// names are the labels of the resource.
func (k *Key) names() (group, version, resource, sub string) {
	return k.Resource.Group, k.Resource.Version, k.Resource.Plural, k.Sub
}

// Events are the metrics of a resource's watch events.
type Events struct {
	count prometheus.Counter
	sizes prometheus.Observer
}

// Written notes an event.
func (f *Events) Written(bytes int) {
	f.count.Inc()
	f.sizes.Observe(float64(bytes))
}

// EventsOf are the metrics of the watches of a row.
func (m *Metrics) EventsOf(res *catalog.Row) Events {
	labels := []string{res.GV.Group, res.Kind, res.GV.Version}
	return Events{m.events.WithLabelValues(labels...), m.eventSizes.WithLabelValues(labels...)}
}

// buildFigure names this binary by its labels.
func buildFigure(release string) prometheus.Collector {
	info := discovery.Release(release)
	built := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_build_info",
		Help: "1, with the release that is served and what the server was built of and by."},
		[]string{"build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version", "major", "minor", "platform"})
	built.WithLabelValues(info.BuildDate, info.Compiler, info.GitCommit, info.GitTreeState, info.GitVersion, info.GoVersion, info.Major,
		info.Minor, info.Platform).Set(1)
	return built
}

// objectCounts counts the objects of every resource, periodically, since that reads every
// key.
type objectCounts struct {
	from *Sources
	mu   ranks.Mutex[ranks.Operation]
	at   time.Time
	last []prometheus.Metric
}

var objectsDesc = prometheus.NewDesc("apiserver_storage_objects", "Objects in the store, by resource, when they were last counted; -1 for those that could not be.", []string{"resource"}, nil)

// Describe implements prometheus.Collector.
func (*objectCounts) Describe(to chan<- *prometheus.Desc) { to <- objectsDesc }

// Collect implements prometheus.Collector.
func (c *objectCounts) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.from.CountsAge >= 0 && (c.last == nil || now.Sub(c.at) >= c.from.CountsAge) {
		c.last, c.at = nil, now
		for resource, n := range c.from.Objects() {
			c.last = append(c.last, prometheus.MustNewConstMetric(objectsDesc, prometheus.GaugeValue, float64(n), resource))
		}
	}
	for _, m := range c.last {
		to <- m
	}
}

// Text returns all metrics in the text format that a client with these headers accepts,
// with its media type.
func (m *Metrics) Text(h http.Header) (contentType string, text []byte, err error) {
	families, err := m.registry.Gather()
	if err != nil {
		return "", nil, fmt.Errorf("the figures cannot be gathered: %w", err)
	}
	format := expfmt.NegotiateAccept(h, expfmt.DefaultAcceptedFormats()...)
	var buffer bytes.Buffer
	encoder := expfmt.NewEncoder(&buffer, format)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return "", nil, fmt.Errorf("the figures cannot be written: %w", err)
		}
	}
	contentType, _, _ = strings.Cut(string(format), "; escaping=")
	return contentType, buffer.Bytes(), nil
}
