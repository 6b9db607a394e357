package policy

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/conversion"
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
func (Policy) StatusHorizontalPodAutoscaler(obj, _ document.Value) {
	conversion.NormalMeasurements(obj.Get("status"))
}

// CellHorizontalPodAutoscalerMinPods is the lower bound.
func (Policy) CellHorizontalPodAutoscalerMinPods(obj document.Value) any {
	if n, ok := obj.At("spec", "minReplicas").Int(); ok {
		return fmt.Sprint(n)
	}
	return "<unset>"
}

// shownMetrics bounds the metrics in a table.
const shownMetrics = 2

// CellHorizontalPodAutoscalerTargets shows measurements and targets: "<unknown>/80%, 3/10
// (avg) + 1 more...".
func (Policy) CellHorizontalPodAutoscalerTargets(obj document.Value) any {
	metrics, current := obj.At("spec", "metrics"), obj.At("status", "currentMetrics")
	if metrics.Len() == 0 {
		return "<none>"
	}
	var shown []string
	for i, m := range metrics.Elements() {
		if i < shownMetrics {
			shown = append(shown, metricText(m, current.Index(i)))
		}
	}
	text := strings.Join(shown, ", ")
	if more := metrics.Len() - shownMetrics; more > 0 {
		text += fmt.Sprintf(" + %d more...", more)
	}
	return text
}

// metricText shows one metric and its latest value.
func metricText(m, status document.Value) string {
	source := map[string]string{"External": "external", "Pods": "pods", "Object": "object", "Resource": "resource", "ContainerResource": "containerResource"}[m.Get("type").Text()]
	if source == "" {
		return "<unknown type>"
	}
	target, current := m.At(source, "target"), status.At(source, "current")
	use := source == "resource" || source == "containerResource"
	average := isSet(target.Get("averageValue"))
	field, suffix := "value", ""
	switch {
	case use && !average:
		return share(current, "<unknown>") + "/" + share(target, "<auto>")
	case use || source == "pods":
		field = "averageValue"
	case average:
		field, suffix = "averageValue", " (avg)"
	}
	now := "<unknown>"
	if current.Exists() {
		now = quantityText(current.Get(field))
	}
	return now + "/" + quantityText(target.Get(field)) + suffix
}

// share is a use in percent.
func share(v document.Value, none string) string {
	if n, ok := v.Get("averageUtilization").Int(); ok {
		return fmt.Sprintf("%d%%", n)
	}
	return none
}
