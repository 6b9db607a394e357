package conversion

import (
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/document"
)

// metric is a metric of autoscaling/v2. Quantities and selectors are passed on as they
// are.
type metric struct {
	Type              string  `json:"type"`
	Object            *source `json:"object,omitempty"`
	Pods              *source `json:"pods,omitempty"`
	Resource          *source `json:"resource,omitempty"`
	ContainerResource *source `json:"containerResource,omitempty"`
	External          *source `json:"external,omitempty"`
}

// source has the members of all sources of v2.
type source struct {
	DescribedObject json.RawMessage `json:"describedObject,omitempty"`
	Name            string          `json:"name,omitempty"`
	Container       string          `json:"container,omitempty"`
	Metric          *identifier     `json:"metric,omitempty"`
	Target          target          `json:"target"`
}

type identifier struct {
	Name     string          `json:"name"`
	Selector json.RawMessage `json:"selector,omitempty"`
}

type target struct {
	Type               string          `json:"type"`
	Value              json.RawMessage `json:"value,omitempty"`
	AverageValue       json.RawMessage `json:"averageValue,omitempty"`
	AverageUtilization *int32          `json:"averageUtilization,omitempty"`
}

// metricV1 is a metric in the annotation of autoscaling/v1. Unset quantities are left
// out, where 1.25 writes 0 for some, and values that a target of its type does not need
// have a member here: so nothing is lost.
type metricV1 struct {
	Type              string               `json:"type"`
	Object            *objectV1            `json:"object,omitempty"`
	Pods              *podsV1              `json:"pods,omitempty"`
	Resource          *resourceV1          `json:"resource,omitempty"`
	ContainerResource *containerResourceV1 `json:"containerResource,omitempty"`
	External          *externalV1          `json:"external,omitempty"`
}

type objectV1 struct {
	Target       json.RawMessage `json:"target"`
	MetricName   string          `json:"metricName"`
	TargetValue  json.RawMessage `json:"targetValue,omitempty"`
	Selector     json.RawMessage `json:"selector,omitempty"`
	AverageValue json.RawMessage `json:"averageValue,omitempty"`
	Use          *int32          `json:"targetAverageUtilization,omitempty"`
}

type podsV1 struct {
	MetricName         string          `json:"metricName"`
	TargetAverageValue json.RawMessage `json:"targetAverageValue,omitempty"`
	Selector           json.RawMessage `json:"selector,omitempty"`
	TargetValue        json.RawMessage `json:"targetValue,omitempty"`
	Use                *int32          `json:"targetAverageUtilization,omitempty"`
}

type resourceV1 struct {
	Name                     string          `json:"name"`
	TargetAverageUtilization *int32          `json:"targetAverageUtilization,omitempty"`
	TargetAverageValue       json.RawMessage `json:"targetAverageValue,omitempty"`
	TargetValue              json.RawMessage `json:"targetValue,omitempty"`
}

type containerResourceV1 struct {
	resourceV1
	Container string `json:"container"`
}

type externalV1 struct {
	MetricName         string          `json:"metricName"`
	MetricSelector     json.RawMessage `json:"metricSelector,omitempty"`
	TargetValue        json.RawMessage `json:"targetValue,omitempty"`
	TargetAverageValue json.RawMessage `json:"targetAverageValue,omitempty"`
	Use                *int32          `json:"targetAverageUtilization,omitempty"`
}

func readMetric(v document.Value) (m metric) {
	_ = json.Unmarshal(v.AppendJSON(nil), &m) // the schema guarantees the form
	return m
}

// encode writes a list in the form of v1.
func encode[From, To any](list []From, v1 func(From) To) []byte {
	out := make([]To, len(list))
	for i, m := range list {
		out[i] = v1(m)
	}
	text, _ := json.Marshal(out) // it came from JSON
	return text
}

var noObject = json.RawMessage(`{"kind":"","name":""}`)

// orElse is text, or nothing where v1 always has a value.
func orElse(text, nothing json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return nothing
	}
	return text
}

// identity is the measured object; v1 has its members among the others.
func (s *source) identity() identifier {
	if s.Metric == nil {
		return identifier{}
	}
	return *s.Metric
}

func (m metric) v1() metricV1 {
	out := metricV1{Type: m.Type}
	if s := m.Object; s != nil {
		id := s.identity()
		out.Object = &objectV1{orElse(s.DescribedObject, noObject), id.Name, s.Target.Value, id.Selector, s.Target.AverageValue, s.Target.AverageUtilization}
	}
	if s := m.Pods; s != nil {
		id := s.identity()
		out.Pods = &podsV1{id.Name, s.Target.AverageValue, id.Selector, s.Target.Value, s.Target.AverageUtilization}
	}
	if s := m.Resource; s != nil {
		out.Resource = s.resource()
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &containerResourceV1{*s.resource(), s.Container}
	}
	if s := m.External; s != nil {
		id := s.identity()
		out.External = &externalV1{id.Name, id.Selector, s.Target.Value, s.Target.AverageValue, s.Target.AverageUtilization}
	}
	return out
}

func (s *source) resource() *resourceV1 {
	return &resourceV1{s.Name, s.Target.AverageUtilization, s.Target.AverageValue, s.Target.Value}
}

// stored is the metric in v2.
func (m metricV1) stored() metric {
	out := metric{Type: m.Type}
	if o := m.Object; o != nil {
		t := target{Type: "Value", Value: o.TargetValue, AverageValue: o.AverageValue, AverageUtilization: o.Use}
		if len(o.AverageValue) > 0 {
			t.Type = "AverageValue"
		}
		out.Object = &source{DescribedObject: o.Target, Metric: &identifier{o.MetricName, o.Selector}, Target: t}
	}
	if p := m.Pods; p != nil {
		t := target{Type: "AverageValue", Value: p.TargetValue, AverageValue: p.TargetAverageValue, AverageUtilization: p.Use}
		out.Pods = &source{Metric: &identifier{p.MetricName, p.Selector}, Target: t}
	}
	if r := m.Resource; r != nil {
		out.Resource = r.stored()
	}
	if r := m.ContainerResource; r != nil {
		out.ContainerResource = r.stored()
		out.ContainerResource.Container = r.Container
	}
	if e := m.External; e != nil {
		t := target{Type: "AverageValue", Value: e.TargetValue, AverageValue: e.TargetAverageValue, AverageUtilization: e.Use}
		if len(e.TargetValue) > 0 {
			t.Type = "Value"
		}
		out.External = &source{Metric: &identifier{e.MetricName, e.MetricSelector}, Target: t}
	}
	return out
}

func (r *resourceV1) stored() *source {
	t := target{Type: "AverageValue", Value: r.TargetValue, AverageValue: r.TargetAverageValue, AverageUtilization: r.TargetAverageUtilization}
	if r.TargetAverageUtilization != nil {
		t.Type = "Utilization"
	}
	return &source{Name: r.Name, Target: t}
}
