package status

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Figures are computed from the metrics of a server.
type Figures struct {
	Began    time.Time `json:"began"`
	Interval float64   `json:"intervalSeconds"` // of the rates
	Requests float64   `json:"requestsPerSecond"`
	// P99 is the time in which 99 of 100 requests were answered, in seconds, without watches; 0 when there were
	// none. It is the bound of a bucket.
	P99      float64 `json:"p99Seconds"`
	CPU      float64 `json:"cpu"` // cores in use
	Resident float64 `json:"residentBytes"`
	Running  float64 `json:"running"` // requests, without watches
	Queued   float64 `json:"queued"`
	Watches  float64 `json:"watches"`
	// Busy are the priority levels with requests that wait.
	Busy    []Count `json:"queues,omitempty"`
	Objects float64 `json:"objects"`
	Most    []Count `json:"most,omitempty"` // resources with the most objects
	Store   Store   `json:"store"`
	// Failures are the requests that were answered with 5xx since the server began.
	Failures []Count `json:"failures,omitempty"`
}

// Store has the figures of the store, or of the replica of an etcd.
type Store struct {
	Healthy  bool    `json:"healthy"`
	Revision float64 `json:"revision"`
	Oldest   float64 `json:"oldestRevision"`
	Disk     float64 `json:"diskBytes"`
	Etcd     float64 `json:"etcdBytes,omitempty"` // the largest of the databases of members
}

// Count is a number of something with a name.
type Count struct {
	Name   string  `json:"name"`
	Number float64 `json:"number"`
}

// sample is the part of the metrics that is used, at a moment.
type sample struct {
	at       time.Time
	requests float64
	cpu      float64
	buckets  map[float64]float64 // of durations of requests, by their bounds: the number up to there
	figures  Figures
}

type families map[string]*dto.MetricFamily

// each visits the metrics of a family.
func (f families) each(name string, visit func(m *dto.Metric, value float64)) {
	family := f[name]
	if family == nil {
		return
	}
	for _, m := range family.Metric {
		visit(m, m.GetCounter().GetValue()+m.GetGauge().GetValue()+m.GetUntyped().GetValue())
	}
}

// sum is the sum of the metrics of a family.
func (f families) sum(name string) (sum float64) {
	f.each(name, func(_ *dto.Metric, value float64) { sum += value })
	return sum
}

// label is the value of a label of a metric; "" for none.
func label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

const startTime = "process_start_time_seconds"

// newSample reads the metrics.
func newSample(all families, at time.Time) sample {
	s := sample{at: at, cpu: all.sum("process_cpu_seconds_total"), buckets: map[float64]float64{}}
	f := &s.figures
	f.Began = time.Unix(int64(all.sum(startTime)), 0)
	f.Resident, f.Running = all.sum("process_resident_memory_bytes"), all.sum("apiserver_current_inflight_requests")
	f.Queued, f.Watches = all.sum("apiserver_flowcontrol_current_inqueue_requests"), all.sum("apiserver_longrunning_requests")
	f.Store = Store{Healthy: all.sum("capstan_store_healthy") > 0, Revision: all.sum("capstan_store_revision"), Oldest: all.sum("capstan_store_oldest_revision"),
		Disk: all.sum("capstan_store_disk_bytes")}
	all.each("etcd_db_total_size_in_bytes", func(_ *dto.Metric, v float64) { f.Store.Etcd = max(f.Store.Etcd, v) })
	busy, objects, failures := map[string]float64{}, map[string]float64{}, map[string]float64{}
	all.each("apiserver_flowcontrol_current_inqueue_requests", func(m *dto.Metric, v float64) { busy[label(m, "priority_level")] += v })
	all.each("apiserver_storage_objects", func(m *dto.Metric, v float64) {
		f.Objects += max(v, 0) // -1 for what cannot be counted
		objects[label(m, "resource")] += v
	})
	all.each("apiserver_request_total", func(m *dto.Metric, v float64) {
		s.requests += v
		if code := label(m, "code"); len(code) == 3 && code[0] == '5' {
			failures[code+" "+label(m, "verb")+" "+label(m, "resource")] += v
		}
	})
	f.Busy, f.Most, f.Failures = top(busy, 5), top(objects, 5), top(failures, 5)
	all.each("apiserver_request_duration_seconds", func(m *dto.Metric, _ float64) {
		if verb := label(m, "verb"); verb == "WATCH" || verb == "CONNECT" {
			return
		}
		for _, b := range m.GetHistogram().GetBucket() {
			s.buckets[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
	})
	return s
}

// since are the figures of the sample, with rates since an earlier one; a zero one is the begin of the server.
func (s sample) since(last sample) Figures {
	f := s.figures
	begin := last.at
	if begin.IsZero() || last.requests > s.requests { // the server was started again
		last, begin = sample{}, f.Began
	}
	f.Interval = max(s.at.Sub(begin).Seconds(), 1e-3)
	f.Requests = (s.requests - last.requests) / f.Interval
	f.CPU = (s.cpu - last.cpu) / f.Interval
	all := s.buckets[math.Inf(1)] - last.buckets[math.Inf(1)]
	least := math.Inf(1)
	for bound, n := range s.buckets {
		if all > 0 && n-last.buckets[bound] >= 0.99*all {
			least = min(least, bound)
		}
	}
	if !math.IsInf(least, 1) {
		f.P99 = least
	}
	return f
}
