package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Policies is the metrics of admission policies and of match conditions, by the names of
// policies and webhooks, which administrators make. Names, labels and buckets are those of
// kube-apiserver 1.34. A nil one counts nothing.
type Policies struct {
	checks, mutations, conditionErrors, exclusions *prometheus.CounterVec
	checkTimes, mutationTimes, conditionTimes      *prometheus.HistogramVec
}

func newPolicies() *Policies {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	times := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	expressions, subject := []float64{0.0000005, 0.001, 0.01, 0.1, 1}, []string{"name", "kind", "type", "operation"}
	return &Policies{
		checks: counter("apiserver_validating_admission_policy_check_total", "Validations of admission policies that were broken or had no value, by what followed.",
			"policy", "policy_binding", "error_type", "enforcement_action"),
		checkTimes: times("apiserver_validating_admission_policy_check_duration_seconds", "How long these validations took.", expressions,
			"policy", "policy_binding", "error_type", "enforcement_action"),
		mutations: counter("apiserver_mutating_admission_policy_check_total", "Mutations of admission policies.", "policy", "policy_binding", "error_type"),
		mutationTimes: times("apiserver_mutating_admission_policy_check_duration_seconds", "How long mutations of admission policies took.", expressions, "policy",
			"policy_binding", "error_type"),
		conditionErrors: counter("apiserver_admission_match_condition_evaluation_errors_total",
			"Match conditions without a value, by the webhook or policy that has them.", subject...),
		exclusions: counter("apiserver_admission_match_condition_exclusions_total", "Webhooks that were not called because of their match conditions.", subject...),
		conditionTimes: times("apiserver_admission_match_condition_evaluation_seconds", "How long match conditions took that did not match.",
			[]float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, subject...),
	}
}

func (p *Policies) all() []prometheus.Collector {
	return []prometheus.Collector{p.checks, p.checkTimes, p.mutations, p.mutationTimes, p.conditionErrors, p.exclusions, p.conditionTimes}
}

// problem is the kind of a failure, by its words.
func problem(failure string) string {
	switch {
	case failure == "":
		return "no_error"
	case strings.HasPrefix(failure, "compilation"):
		return "compile_error"
	case strings.HasPrefix(failure, "validation failed due to running out of cost budget"):
		return "out_of_budget"
	}
	return "invalid_error"
}

// Checked notes a validation that was broken or had no value, with the words about it. The
// action is allow if the failure is ignored, else one of the binding.
func (p *Policies) Checked(policy, binding, action, failure string, took time.Duration) {
	if p != nil {
		p.checks.WithLabelValues(policy, binding, problem(failure), strings.ToLower(action)).Inc()
		p.checkTimes.WithLabelValues(policy, binding, problem(failure), strings.ToLower(action)).Observe(took.Seconds())
	}
}

// Mutated notes a mutation, with the words about its failure if any.
func (p *Policies) Mutated(policy, binding, failure string, took time.Duration) {
	if p != nil {
		p.mutations.WithLabelValues(policy, binding, problem(failure)).Inc()
		p.mutationTimes.WithLabelValues(policy, binding, problem(failure)).Observe(took.Seconds())
	}
}

// Conditions identifies the match conditions of a webhook or policy.
type Conditions struct {
	Name string
	Kind string // webhook or policy
	Type string // validating or admit of webhooks, validate of policies
}

// Judged notes an evaluation of match conditions, and how many had no value.
func (p *Policies) Judged(of Conditions, operation string, matches bool, failed int, took time.Duration) {
	if p == nil {
		return
	}
	if failed > 0 {
		p.conditionErrors.WithLabelValues(of.Name, of.Kind, of.Type, operation).Add(float64(failed))
	}
	if !matches {
		p.conditionTimes.WithLabelValues(of.Name, of.Kind, of.Type, operation).Observe(took.Seconds())
	}
}

// Excluded notes a webhook that is not called because of its match conditions.
func (p *Policies) Excluded(of Conditions, operation string) {
	if p != nil {
		p.exclusions.WithLabelValues(of.Name, of.Kind, of.Type, operation).Inc()
	}
}
