package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Impersonation is the metrics of requests that act as another user, in releases where that takes rights for single verbs, under
// the names of kube-apiserver 1.36. A nil one counts nothing.
type Impersonation struct {
	attempts, checks         *prometheus.CounterVec
	attemptTimes, checkTimes *prometheus.HistogramVec
}

func newImpersonation() *Impersonation {
	labels, buckets := []string{"mode", "decision"}, prometheus.ExponentialBuckets(0.001, 2, 15)
	return &Impersonation{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_impersonation_attempts_total",
			Help: "Requests to act as another user, by the mode that allowed it, and the decision."}, labels),
		attemptTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_impersonation_attempts_duration_seconds",
			Help: "How long these decisions took.", Buckets: buckets}, labels),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_impersonation_authorization_attempts_total",
			Help: "Questions to the authorizers about requests to act as another user, by the mode and the answer."}, labels),
		checkTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_impersonation_authorization_attempts_duration_seconds",
			Help: "How long the authorizers took.", Buckets: buckets}, labels),
	}
}

func (i *Impersonation) all() []prometheus.Collector {
	return []prometheus.Collector{i.attempts, i.attemptTimes, i.checks, i.checkTimes}
}

func decision(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

// Tried notes a request to act as another user, with the mode that allowed it; "" for none.
func (i *Impersonation) Tried(mode string, took time.Duration) {
	if i != nil {
		i.attempts.WithLabelValues(mode, decision(mode != "")).Inc()
		i.attemptTimes.WithLabelValues(mode, decision(mode != "")).Observe(took.Seconds())
	}
}

// Asked notes a question to the authorizers about a mode.
func (i *Impersonation) Asked(mode string, allowed bool, took time.Duration) {
	if i != nil {
		i.checks.WithLabelValues(mode, decision(allowed)).Inc()
		i.checkTimes.WithLabelValues(mode, decision(allowed)).Observe(took.Seconds())
	}
}
