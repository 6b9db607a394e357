package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Webhooks is the metrics of admission webhooks, by their names, which administrators
// make. The names are those of 1.25.
type Webhooks struct {
	durations                  *prometheus.HistogramVec
	requests, rejections, open *prometheus.CounterVec
}

func newWebhooks() Webhooks {
	return Webhooks{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_webhook_admission_duration_seconds",
			Help: "How long calls of admission webhooks took.", Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25}},
			[]string{"name", "operation", "rejected", "type"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_admission_webhook_request_total",
			Help: "Calls of admission webhooks, by the code of the answer."}, []string{"code", "name", "operation", "rejected", "type"}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_admission_webhook_rejection_count",
			Help: "Writes that admission webhooks refused, or that were refused because of them."},
			[]string{"error_type", "name", "operation", "rejection_code", "type"}),
		open: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_admission_webhook_fail_open_count",
			Help: "Calls of admission webhooks that failed, while the write went on."}, []string{"name", "type"}),
	}
}

// WebhookCall is a call of an admission webhook.
type WebhookCall struct {
	Name, Operation string
	Mutating        bool
	Took            time.Duration
	Code            int    // of the answer, or of the failure
	Rejected        bool   // the write was refused
	Problem         string // the kind of failure; "" for an answer
	Abandoned       bool   // the write's client has gone: neither a refusal nor a failure
}

// mostCode bounds the codes in labels, which webhooks choose.
const mostCode = 600

// Called notes a call.
func (w Webhooks) Called(c WebhookCall) {
	kind, rejected, code := "validating", strconv.FormatBool(c.Rejected), strconv.Itoa(min(c.Code, mostCode))
	if c.Mutating {
		kind = "admit"
	}
	w.durations.WithLabelValues(c.Name, c.Operation, rejected, kind).Observe(c.Took.Seconds())
	w.requests.WithLabelValues(code, c.Name, c.Operation, rejected, kind).Inc()
	switch problem := c.Problem; {
	case c.Abandoned:
	case c.Rejected:
		if problem == "" {
			problem = "no_error"
		}
		w.rejections.WithLabelValues(problem, c.Name, c.Operation, code, kind).Inc()
	case problem != "":
		w.open.WithLabelValues(c.Name, kind).Inc()
	}
}
