package conversion

import (
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/document"
)

// bySource is a metric, or a measurement of one: its type, and one source of that type.
type bySource[Source any] struct {
	Type              string  `json:"type"`
	Object            *Source `json:"object,omitempty"`
	Pods              *Source `json:"pods,omitempty"`
	Resource          *Source `json:"resource,omitempty"`
	ContainerResource *Source `json:"containerResource,omitempty"`
	External          *Source `json:"external,omitempty"`
}

type (
	metric   bySource[source]   // in autoscaling/v2
	metricV1 bySource[sourceV1] // in an annotation of autoscaling/v1
)

// source has the members of all sources of v2. Quantities and selectors are passed on as
// they are.
type source struct {
	DescribedObject json.RawMessage `json:"describedObject,omitempty"`
	Name            string          `json:"name,omitempty"`
	Container       string          `json:"container,omitempty"`
	Metric          *identifier     `json:"metric,omitempty"`
	Target          *values         `json:"target,omitempty"`  // of a metric
	Current         *values         `json:"current,omitempty"` // of a measurement
}

type identifier struct {
	Name     string          `json:"name"`
	Selector json.RawMessage `json:"selector,omitempty"`
}

type values struct {
	Type               string          `json:"type,omitempty"` // of a target
	Value              json.RawMessage `json:"value,omitempty"`
	AverageValue       json.RawMessage `json:"averageValue,omitempty"`
	AverageUtilization *int32          `json:"averageUtilization,omitempty"`
}

// sourceV1 has the members of all sources of v1, in the order in which 1.25 writes those
// of each. Unset quantities are left out, where 1.25 writes 0 for some, and values that a
// target of its type does not need have a member here: so nothing is lost.
type sourceV1 struct {
	Target              json.RawMessage `json:"target,omitempty"`
	Name                *string         `json:"name,omitempty"`
	MetricName          *string         `json:"metricName,omitempty"`
	MetricSelector      json.RawMessage `json:"metricSelector,omitempty"`
	TargetUse           *int32          `json:"targetAverageUtilization,omitempty"`
	TargetValue         json.RawMessage `json:"targetValue,omitempty"`
	TargetAverageValue  json.RawMessage `json:"targetAverageValue,omitempty"`
	CurrentUse          *int32          `json:"currentAverageUtilization,omitempty"`
	CurrentValue        json.RawMessage `json:"currentValue,omitempty"`
	CurrentAverageValue json.RawMessage `json:"currentAverageValue,omitempty"`
	Selector            json.RawMessage `json:"selector,omitempty"`
	AverageValue        json.RawMessage `json:"averageValue,omitempty"` // of an object
	Container           *string         `json:"container,omitempty"`
}

func readMetric(v document.Value) (m metric) {
	_ = json.Unmarshal(v.AppendJSON(nil), &m) // the schema guarantees the form
	return m
}

// encode writes a list in the form of v1.
func encode(list []metric) []byte {
	out := make([]metricV1, len(list))
	for i, m := range list {
		out[i] = m.v1()
	}
	text, _ := json.Marshal(out) // it came from JSON
	return text
}

func (m metric) v1() metricV1 {
	out := metricV1{Type: m.Type}
	if s := m.Object; s != nil {
		out.Object = s.named()
		if out.Object.Target = s.DescribedObject; len(s.DescribedObject) == 0 {
			out.Object.Target = json.RawMessage(`{"kind":"","name":""}`) // v1 always has one
		}
		out.Object.moveAverage()
	}
	if s := m.Pods; s != nil {
		out.Pods = s.named()
	}
	if s := m.Resource; s != nil {
		out.Resource = s.v1()
		out.Resource.Name = &s.Name
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = s.v1()
		out.ContainerResource.Name, out.ContainerResource.Container = &s.Name, &s.Container
	}
	if s := m.External; s != nil {
		out.External = s.named()
		out.External.Selector, out.External.MetricSelector = nil, out.External.Selector
	}
	return out
}

// v1 has the values of a source.
func (s *source) v1() *sourceV1 {
	out := &sourceV1{}
	if t := s.Target; t != nil {
		out.TargetValue, out.TargetAverageValue, out.TargetUse = t.Value, t.AverageValue, t.AverageUtilization
	}
	if c := s.Current; c != nil {
		out.CurrentValue, out.CurrentAverageValue, out.CurrentUse = c.Value, c.AverageValue, c.AverageUtilization
	}
	return out
}

// named is v1 with the name and the selector of the metric, which are members of their
// own in v2.
func (s *source) named() *sourceV1 {
	out, id := s.v1(), identifier{}
	if s.Metric != nil {
		id = *s.Metric
	}
	out.MetricName, out.Selector = &id.Name, id.Selector
	return out
}

// moveAverage gives the average the name that only the source of an object has for it, in
// targets and measurements alike.
func (s *sourceV1) moveAverage() {
	if s.AverageValue = s.TargetAverageValue; s.AverageValue == nil {
		s.AverageValue = s.CurrentAverageValue
	}
	s.TargetAverageValue, s.CurrentAverageValue = nil, nil
}

// target is the metric in v2; typeTargets finds the type.
func (m metricV1) target() metric {
	return m.v2(func(s *sourceV1, out *source) {
		out.Target = &values{Type: "Value", Value: s.TargetValue, AverageValue: s.average(s.TargetAverageValue), AverageUtilization: s.TargetUse}
	})
}

// measurement is the measured metric in v2.
func (m metricV1) measurement() metric {
	return m.v2(func(s *sourceV1, out *source) {
		out.Current = &values{Value: s.CurrentValue, AverageValue: s.average(s.CurrentAverageValue), AverageUtilization: s.CurrentUse}
	})
}

// average undoes moveAverage.
func (s *sourceV1) average(usual json.RawMessage) json.RawMessage {
	if len(s.AverageValue) > 0 {
		return s.AverageValue
	}
	return usual
}

func (m metricV1) v2(addValues func(*sourceV1, *source)) metric {
	resource := func(s *sourceV1) *source {
		if s == nil {
			return nil
		}
		out := &source{Name: text(s.Name), Container: text(s.Container)}
		addValues(s, out)
		return out
	}
	named := func(s *sourceV1) *source {
		if s == nil {
			return nil
		}
		out := &source{DescribedObject: s.Target, Metric: &identifier{text(s.MetricName), s.Selector}}
		if len(s.MetricSelector) > 0 { // of an external metric
			out.Metric.Selector = s.MetricSelector
		}
		addValues(s, out)
		return out
	}
	return metric{m.Type, named(m.Object), named(m.Pods), resource(m.Resource), resource(m.ContainerResource), named(m.External)}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
