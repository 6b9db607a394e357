package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// PodSecurity is the metrics of the plug-in PodSecurity, under the names of 1.25. A nil
// one counts nothing.
type PodSecurity struct {
	evaluations, exemptions, errors *prometheus.CounterVec
	free                            map[string]prometheus.Counter // pods in namespaces without rules, by operation
}

func newPodSecurity() *PodSecurity {
	p := &PodSecurity{
		evaluations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_evaluations_total",
			Help: "Pods and templates that were judged, by the decision."},
			[]string{"decision", "mode", "policy_level", "policy_version", "request_operation", "resource", "subresource"}),
		exemptions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_exemptions_total",
			Help: "Pods and templates that were exempt from judgment."},
			[]string{"request_operation", "resource", "subresource"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pod_security_errors_total",
			Help: "Pods and templates that were judged by other rules than intended, since those could not be read."},
			[]string{"fatal", "request_operation", "resource", "subresource"}),
		free: map[string]prometheus.Counter{},
	}
	for _, operation := range [...]string{"create", "update"} {
		p.free[operation] = p.evaluations.WithLabelValues("allow", "enforce", "privileged", "latest", operation, "pod", "")
		for _, about := range [...]string{"pod", "controller"} {
			p.exemptions.WithLabelValues(operation, about, "")
		}
	}
	return p
}

// PodJudgment is the result of the rules of one level for a write, in the words of the labels.
type PodJudgment struct {
	Decision, Mode, Level, Version string
	Operation, About, Subresource  string // of the write
}

// Evaluated notes a judgment.
func (p *PodSecurity) Evaluated(j PodJudgment) {
	switch {
	case p == nil:
	case j.Level == "privileged" && j.Decision == "allow" && j.About == "pod" && j.Subresource == "":
		p.free[j.Operation].Inc()
	default:
		p.evaluations.WithLabelValues(j.Decision, j.Mode, j.Level, j.Version, j.Operation, j.About, j.Subresource).Inc()
	}
}

// Exempted notes a write that was not judged.
func (p *PodSecurity) Exempted(operation, about, subresource string) {
	if p != nil {
		p.exemptions.WithLabelValues(operation, about, subresource).Inc()
	}
}

// Failed notes rules that could not be read; fatal: the write was refused.
func (p *PodSecurity) Failed(fatal bool, operation, about, subresource string) {
	if p != nil {
		p.errors.WithLabelValues(strconv.FormatBool(fatal), operation, about, subresource).Inc()
	}
}
