package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ExternalJWT is the metrics of a program that signs the tokens of service accounts, under the names of
// kube-apiserver 1.32. It implements externaljwt.Figures.
type ExternalJWT struct {
	calls           *prometheus.HistogramVec
	signed, fetched *prometheus.CounterVec
	last, dated     *prometheus.GaugeVec
}

// NewExternalJWT makes the metrics.
func NewExternalJWT() *ExternalJWT {
	options := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "apiserver", Subsystem: "externaljwt", Name: name, Help: help}
	}
	return &ExternalJWT{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_externaljwt_request_duration_seconds",
			Help:    "How long calls of the external signer of tokens took, by the code of gRPC that they ended with.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}, []string{"method", "code"}),
		signed: prometheus.NewCounterVec(prometheus.CounterOpts(options("sign_request_total",
			"Tokens that the external signer was asked for, by the code of gRPC.")), []string{"code"}),
		fetched: prometheus.NewCounterVec(prometheus.CounterOpts(options("fetch_keys_request_total",
			"Questions for the keys of the external signer, by the code of gRPC.")), []string{"code"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts(options("fetch_keys_success_timestamp",
			"The time of the last answer with keys of the external signer.")), nil),
		dated: prometheus.NewGaugeVec(prometheus.GaugeOpts(options("fetch_keys_data_timestamp",
			"The time as of which the external signer knows its keys, by its last answer.")), nil),
	}
}

// Called implements externaljwt.Figures.
func (e *ExternalJWT) Called(method, code string, took time.Duration) {
	e.calls.WithLabelValues(method, code).Observe(took.Seconds())
}

// Signed implements externaljwt.Figures.
func (e *ExternalJWT) Signed(code string) { e.signed.WithLabelValues(code).Inc() }

// Fetched implements externaljwt.Figures.
func (e *ExternalJWT) Fetched(code string, now, dated time.Time) {
	e.fetched.WithLabelValues(code).Inc()
	if !dated.IsZero() {
		e.last.WithLabelValues().Set(seconds(now))
		e.dated.WithLabelValues().Set(seconds(dated))
	}
}

func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// Describe implements prometheus.Collector.
func (e *ExternalJWT) Describe(to chan<- *prometheus.Desc) {
	for _, c := range e.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (e *ExternalJWT) Collect(to chan<- prometheus.Metric) {
	for _, c := range e.all() {
		c.Collect(to)
	}
}

func (e *ExternalJWT) all() []prometheus.Collector {
	return []prometheus.Collector{e.calls, e.signed, e.fetched, e.last, e.dated}
}
