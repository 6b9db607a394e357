package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
)

// DefaultHorizontalPodAutoscaler sets the usual metric, the use of the processor, on an
// autoscaler of autoscaling/v1 without metrics, as a default of the later versions does.
func (Policy) DefaultHorizontalPodAutoscaler(v document.Value) { conversion.DefaultTarget(v) }

// DefaultHorizontalPodAutoscalerBehavior fills in missing speed limits.
func (Policy) DefaultHorizontalPodAutoscalerBehavior(v document.Value) {
	up, down := v.SetObject("scaleUp"), v.SetObject("scaleDown")
	if !up.Get("stabilizationWindowSeconds").Exists() {
		up.SetInt("stabilizationWindowSeconds", 0)
	}
	policies := func(rules document.Value, types ...string) {
		defaultString(rules, "selectPolicy", "Max")
		if rules.Get("policies").Exists() {
			return
		}
		list := rules.SetArray("policies")
		for _, t := range types {
			p := list.AppendObject()
			p.SetString("type", t)
			p.SetInt("value", map[string]int64{"Pods": 4, "Percent": 100}[t])
			p.SetInt("periodSeconds", 15)
		}
	}
	policies(up, "Pods", "Percent")
	policies(down, "Percent")
}

// CreateHorizontalPodAutoscaler gives a new autoscaler the form that all versions
// can have.
func (p Policy) CreateHorizontalPodAutoscaler(obj document.Value) {
	p.UpdateHorizontalPodAutoscaler(obj, document.Value{})
}

// UpdateHorizontalPodAutoscaler does the same to a changed one. Refused metrics stay in
// their order, so that their author finds them there.
func (p Policy) UpdateHorizontalPodAutoscaler(obj, old document.Value) {
	conversion.DropAutoscalerAnnotations(obj)
	if p.since("1.27") { // stored as v2
		return
	}
	conversion.NormalMeasurements(obj.Get("status"))
	metrics := obj.At("spec", "metrics")
	refused := len(p.ValidateHorizontalPodAutoscaler(obj, old))+len(document.Validate(metrics, nil)) > 0
	for _, m := range metrics.Elements() {
		refused = refused || len(p.ValidateMetricSpec(m)) > 0
	}
	if !refused {
		conversion.NormalMetrics(metrics)
	}
}

// StatusHorizontalPodAutoscaler does so for measurements.
func (p Policy) StatusHorizontalPodAutoscaler(obj, _ document.Value) {
	if !p.since("1.27") {
		conversion.NormalMeasurements(obj.Get("status"))
	}
}
