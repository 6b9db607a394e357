package conversion

import (
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The annotations in which autoscaling/v1 keeps values without a field.
const (
	annotationPrefix         = "autoscaling.alpha." + profile.LabelDomain + "/"
	metricsAnnotation        = annotationPrefix + "metrics"
	currentMetricsAnnotation = annotationPrefix + "current-metrics"
	conditionsAnnotation     = annotationPrefix + "conditions"
	behaviorAnnotation       = annotationPrefix + "behavior"
)

// AutoscalingV2HorizontalPodAutoscalerToV1 shows a target of processor use as v1's
// one field for it. The rest goes into annotations.
func (Hooks) AutoscalingV2HorizontalPodAutoscalerToV1(from, to document.Value) {
	spec, status := from.Get("spec"), from.Get("status")
	keep := func(name string, text []byte) {
		to.SetObject("metadata").SetObject("annotations").SetString(name, string(text))
	}
	main := processorMetric(spec.Get("metrics"))
	others := make([]metric, 0, spec.Get("metrics").Len())
	for i, m := range spec.Get("metrics").Elements() {
		if i != main {
			others = append(others, readMetric(m))
		}
	}
	if main >= 0 {
		n, _ := spec.Get("metrics").Index(main).At("resource", "target", "averageUtilization").Int()
		to.SetObject("spec").SetInt("targetCPUUtilizationPercentage", n)
	}
	if len(others) > 0 {
		keep(metricsAnnotation, encode(others))
	}
	current := make([]metric, 0, status.Get("currentMetrics").Len())
	for _, m := range status.Get("currentMetrics").Elements() {
		current = append(current, readMetric(m))
		if use := m.At("resource", "current", "averageUtilization"); m.Get("type").Equals("Resource") && m.At("resource", "name").Equals("cpu") && use.Exists() {
			n, _ := use.Int()
			to.SetObject("status").SetInt("currentCPUUtilizationPercentage", n)
		}
	}
	if len(current) > 0 {
		keep(currentMetricsAnnotation, encode(current))
	}
	if conditions := status.Get("conditions"); conditions.Len() > 0 {
		keep(conditionsAnnotation, conditions.AppendJSON(nil))
	}
	var b behavior
	if v := spec.Get("behavior"); v.Exists() && json.Unmarshal(v.AppendJSON(nil), &b) == nil && b != (behavior{}) {
		if text, err := json.Marshal(internalBehavior{b.ScaleUp.internal(), b.ScaleDown.internal()}); err == nil {
			keep(behaviorAnnotation, text)
		}
	}
}

// AutoscalingV1HorizontalPodAutoscalerToV2 merges the fields of v1 with its
// annotations. Unreadable annotations are ignored. An object without metrics gets the
// usual one already here, as in 1.25: so a manager that applied the target in v1, and
// leaves it out in v2, does not remove it, for the object has metrics without it too.
func (Hooks) AutoscalingV1HorizontalPodAutoscalerToV2(from, to document.Value) {
	annotations := from.At("metadata", "annotations")
	spec, status := to.SetObject("spec"), to.SetObject("status")
	var metrics []metric
	for _, m := range keptMetrics(annotations) {
		metrics = append(metrics, m.target())
	}
	if n, ok := from.At("spec", "targetCPUUtilizationPercentage").Int(); ok {
		use := int32(n)
		metrics = append(metrics, metric{Type: "Resource", Resource: &source{Name: "cpu", Target: &values{Type: "Utilization", AverageUtilization: &use}}})
	}
	set(spec, "metrics", metrics, len(metrics))
	normalTargets(spec.Get("metrics"))
	DefaultMetrics(spec)
	var current []metric
	if n, ok := from.At("status", "currentCPUUtilizationPercentage").Int(); ok {
		use := int32(n)
		current = []metric{{Type: "Resource", Resource: &source{Name: "cpu", Current: &values{AverageUtilization: &use}}}}
	}
	var keptStatus []metricV1
	if json.Unmarshal([]byte(annotations.Get(currentMetricsAnnotation).Text()), &keptStatus) == nil {
		current = nil
		for _, m := range keptStatus {
			current = append(current, m.measurement())
		}
	}
	set(status, "currentMetrics", current, len(current))
	var conditions []json.RawMessage
	if json.Unmarshal([]byte(annotations.Get(conditionsAnnotation).Text()), &conditions) == nil {
		set(status, "conditions", conditions, len(conditions))
	}
	var b internalBehavior
	if json.Unmarshal([]byte(annotations.Get(behaviorAnnotation).Text()), &b) == nil && b != (internalBehavior{}) {
		set(spec, "behavior", behavior{b.ScaleUp.rules(), b.ScaleDown.rules()}, 1)
	}
	NormalMeasurements(status)
	DropAutoscalerAnnotations(to)
}

// DefaultMetrics sets the usual metric, the use of the processor, on an autoscaler
// without metrics.
func DefaultMetrics(spec document.Value) {
	if spec.Get("metrics").Len() > 0 {
		return
	}
	m := spec.SetArray("metrics").AppendObject()
	m.SetString("type", "Resource")
	resource := m.SetObject("resource")
	resource.SetString("name", "cpu")
	target := resource.SetObject("target")
	target.SetString("type", "Utilization")
	target.SetInt("averageUtilization", usualTarget)
}

// usualTarget is the target of the usual metric, in percent of the requested processor
// time.
const usualTarget = 80

// DefaultTarget is DefaultMetrics for an autoscaler in autoscaling/v1.
func DefaultTarget(obj document.Value) {
	spec := obj.SetObject("spec")
	if !spec.Get("targetCPUUtilizationPercentage").Exists() && len(keptMetrics(obj.At("metadata", "annotations"))) == 0 {
		spec.SetInt("targetCPUUtilizationPercentage", usualTarget)
	}
}

// keptMetrics are the metrics without a field in v1; none if they are unreadable.
func keptMetrics(annotations document.Value) []metricV1 {
	var kept []metricV1
	if text := annotations.Get(metricsAnnotation); !text.Exists() || json.Unmarshal([]byte(text.Text()), &kept) != nil {
		return nil
	}
	return kept
}

// set writes a non-empty value; one that the field cannot hold is left out.
func set(obj document.Value, name string, value any, length int) {
	if length == 0 {
		return
	}
	if text, err := json.Marshal(value); err == nil {
		_ = obj.SetRaw(name, text)
	}
}

// DropAutoscalerAnnotations removes the annotations that only v1 has.
func DropAutoscalerAnnotations(obj document.Value) {
	annotations := obj.At("metadata", "annotations")
	had := annotations.Len() > 0
	for _, name := range []string{metricsAnnotation, currentMetricsAnnotation, conditionsAnnotation, behaviorAnnotation} {
		annotations.Remove(name)
	}
	if had && annotations.Len() == 0 {
		obj.Get("metadata").Remove("annotations")
	}
}

// processorMetric is the index of the metric for v1's field: the last with a target for
// the use of cpu in percent. -1 for none.
func processorMetric(metrics document.Value) int {
	found := -1
	for i, m := range metrics.Elements() {
		target := m.At("resource", "target")
		plain := m.Len() == 2 && target.Len() == 2 // with no other members
		if plain && m.Get("type").Equals("Resource") && m.At("resource", "name").Equals("cpu") && target.Get("averageUtilization").Exists() {
			found = i
		}
	}
	return found
}

// NormalMetrics gives the metrics of v2 the form that a conversion to v1 and back gives
// them, so that nothing is lost in v1: the metric for v1's field is the last one, and
// targets have the type of their value, and no value that v1 does not have.
func NormalMetrics(metrics document.Value) {
	if main := processorMetric(metrics); main >= 0 && main < metrics.Len()-1 {
		metrics.AppendValue(metrics.Index(main))
		metrics.RemoveIndex(main)
	}
	normalTargets(metrics)
}

// normalTargets gives targets the type of their value, and removes values that v1 does not
// have.
func normalTargets(metrics document.Value) {
	for _, m := range metrics.Elements() {
		for _, source := range metricSources {
			target := m.At(source.name, "target")
			if !target.Exists() {
				continue
			}
			source.dropForeign(target)
			switch was, typ := target.Get("type").Text(), source.typ(target); was {
			case typ:
			case "Utilization", "Value", "AverageValue": // others are refused
				target.SetString("type", typ)
			}
		}
	}
}

// metricSource is a member of a metric that says where its values come from.
type metricSource struct {
	name    string
	typ     func(target document.Value) string // the type of a target by its values
	always  string                             // the value that measurements have in v1
	foreign []string                           // the values that v1 does not have
}

var metricSources = []metricSource{
	{"resource", useType, "averageValue", []string{"value"}},
	{"containerResource", useType, "averageValue", []string{"value"}},
	{"pods", averageType, "averageValue", []string{"value", "averageUtilization"}},
	{"object", objectType, "value", []string{"averageUtilization"}},
	{"external", externalType, "value", []string{"averageUtilization"}},
}

// dropForeign removes the values that v1 does not have.
func (s *metricSource) dropForeign(values document.Value) {
	for _, name := range s.foreign {
		values.Remove(name)
	}
}

// NormalMeasurements gives the measurements in a status the values that v1 has for them:
// one that v1 always writes is 0 when absent.
func NormalMeasurements(status document.Value) {
	for _, m := range status.Get("currentMetrics").Elements() {
		for _, source := range metricSources {
			measured := m.Get(source.name)
			if !measured.Exists() || measured.IsNull() {
				continue
			}
			current := measured.SetObject("current")
			source.dropForeign(current)
			if v := current.Get(source.always); !v.Exists() || v.IsNull() {
				current.SetString(source.always, "0")
			}
		}
	}
}

func useType(target document.Value) string {
	if target.Get("averageUtilization").Exists() {
		return "Utilization"
	}
	return "AverageValue"
}

func averageType(document.Value) string { return "AverageValue" }

func objectType(target document.Value) string {
	if target.Get("averageValue").Exists() {
		return "AverageValue"
	}
	return "Value"
}

func externalType(target document.Value) string {
	if target.Get("value").Exists() {
		return "Value"
	}
	return "AverageValue"
}
