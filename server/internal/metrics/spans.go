package metrics

import "github.com/prometheus/client_golang/prometheus"

// Spans counts the spans of requests by their end. It implements tracing.Figures.
type Spans struct{ *prometheus.CounterVec }

// NewSpans makes the metric of spans.
func NewSpans() Spans {
	return Spans{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "capstan_tracing_spans_total",
		Help: "Spans of requests: sent to the collector, dropped while too many waited, or failed to be accepted."}, []string{"result"})}
}

// Spans implements tracing.Figures.
func (s Spans) Spans(end string, count int) { s.WithLabelValues(end).Add(float64(count)) }
