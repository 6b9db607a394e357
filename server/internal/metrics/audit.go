package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/capstan-dev/capstan/internal/audit"
)

// Audit is the metrics of audit events, under the names of 1.25. It implements
// audit.Figures.
type Audit struct {
	events, refused prometheus.Counter
	failed          *prometheus.CounterVec
	levels          *prometheus.CounterVec
	byLevel         [audit.RequestResponse + 1]prometheus.Counter
}

func newAudit() *Audit {
	a := &Audit{
		events: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_audit_event_total", Help: "Audit events that were made."}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_audit_requests_rejected_total",
			Help: "Requests that were refused because they could not be recorded."}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_audit_error_total",
			Help: "Audit events that were lost, by the part that lost them."}, []string{"plugin"}),
		levels: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_audit_level_total",
			Help: "Requests by the level of their audit events."}, []string{"level"}),
	}
	for l := range a.byLevel {
		a.byLevel[l] = a.levels.WithLabelValues(audit.Level(l).String())
	}
	return a
}

// Recorded implements audit.Figures.
func (a *Audit) Recorded() { a.events.Inc() }

// Decided implements audit.Figures.
func (a *Audit) Decided(l audit.Level) { a.byLevel[l].Inc() }

// Refused implements audit.Figures.
func (a *Audit) Refused() { a.refused.Inc() }

// Failed implements audit.Figures.
func (a *Audit) Failed(part string, events int) { a.failed.WithLabelValues(part).Add(float64(events)) }
