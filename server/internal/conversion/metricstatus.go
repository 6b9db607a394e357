package conversion

import (
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/document"
)

// metricStatus is the latest value of a metric in autoscaling/v2.
type metricStatus struct {
	Type              string        `json:"type"`
	Object            *sourceStatus `json:"object,omitempty"`
	Pods              *sourceStatus `json:"pods,omitempty"`
	Resource          *sourceStatus `json:"resource,omitempty"`
	ContainerResource *sourceStatus `json:"containerResource,omitempty"`
	External          *sourceStatus `json:"external,omitempty"`
}

// sourceStatus has the members of all sources of v2.
type sourceStatus struct {
	DescribedObject json.RawMessage `json:"describedObject,omitempty"`
	Name            string          `json:"name,omitempty"`
	Container       string          `json:"container,omitempty"`
	Metric          *identifier     `json:"metric,omitempty"`
	Current         measured        `json:"current"`
}

type measured struct {
	Value              json.RawMessage `json:"value,omitempty"`
	AverageValue       json.RawMessage `json:"averageValue,omitempty"`
	AverageUtilization *int32          `json:"averageUtilization,omitempty"`
}

// metricStatusV1 is the form in the annotation of autoscaling/v1.
type metricStatusV1 struct {
	Type              string                     `json:"type"`
	Object            *objectStatusV1            `json:"object,omitempty"`
	Pods              *podsStatusV1              `json:"pods,omitempty"`
	Resource          *resourceStatusV1          `json:"resource,omitempty"`
	ContainerResource *containerResourceStatusV1 `json:"containerResource,omitempty"`
	External          *externalStatusV1          `json:"external,omitempty"`
}

type objectStatusV1 struct {
	Target       json.RawMessage `json:"target"`
	MetricName   string          `json:"metricName"`
	CurrentValue json.RawMessage `json:"currentValue,omitempty"`
	Selector     json.RawMessage `json:"selector,omitempty"`
	AverageValue json.RawMessage `json:"averageValue,omitempty"`
	Use          *int32          `json:"currentAverageUtilization,omitempty"`
}

type podsStatusV1 struct {
	MetricName          string          `json:"metricName"`
	CurrentAverageValue json.RawMessage `json:"currentAverageValue,omitempty"`
	Selector            json.RawMessage `json:"selector,omitempty"`
	CurrentValue        json.RawMessage `json:"currentValue,omitempty"`
	Use                 *int32          `json:"currentAverageUtilization,omitempty"`
}

type resourceStatusV1 struct {
	Name                      string          `json:"name"`
	CurrentAverageUtilization *int32          `json:"currentAverageUtilization,omitempty"`
	CurrentAverageValue       json.RawMessage `json:"currentAverageValue,omitempty"`
	CurrentValue              json.RawMessage `json:"currentValue,omitempty"`
}

type containerResourceStatusV1 struct {
	resourceStatusV1
	Container string `json:"container"`
}

type externalStatusV1 struct {
	MetricName          string          `json:"metricName"`
	MetricSelector      json.RawMessage `json:"metricSelector,omitempty"`
	CurrentValue        json.RawMessage `json:"currentValue,omitempty"`
	CurrentAverageValue json.RawMessage `json:"currentAverageValue,omitempty"`
	Use                 *int32          `json:"currentAverageUtilization,omitempty"`
}

func readMetricStatus(v document.Value) (m metricStatus) {
	_ = json.Unmarshal(v.AppendJSON(nil), &m) // the schema guarantees the form
	return m
}

func (s *sourceStatus) identity() identifier {
	if s.Metric == nil {
		return identifier{}
	}
	return *s.Metric
}

func (m metricStatus) v1() metricStatusV1 {
	out := metricStatusV1{Type: m.Type}
	if s := m.Object; s != nil {
		id := s.identity()
		out.Object = &objectStatusV1{orElse(s.DescribedObject, noObject), id.Name, s.Current.Value, id.Selector, s.Current.AverageValue, s.Current.AverageUtilization}
	}
	if s := m.Pods; s != nil {
		id := s.identity()
		out.Pods = &podsStatusV1{id.Name, s.Current.AverageValue, id.Selector, s.Current.Value, s.Current.AverageUtilization}
	}
	if s := m.Resource; s != nil {
		out.Resource = s.resource()
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &containerResourceStatusV1{*s.resource(), s.Container}
	}
	if s := m.External; s != nil {
		id := s.identity()
		out.External = &externalStatusV1{id.Name, id.Selector, s.Current.Value, s.Current.AverageValue, s.Current.AverageUtilization}
	}
	return out
}

func (s *sourceStatus) resource() *resourceStatusV1 {
	return &resourceStatusV1{s.Name, s.Current.AverageUtilization, s.Current.AverageValue, s.Current.Value}
}

// stored is the value in v2.
func (m metricStatusV1) stored() metricStatus {
	out := metricStatus{Type: m.Type}
	if o := m.Object; o != nil {
		out.Object = &sourceStatus{DescribedObject: o.Target, Metric: &identifier{o.MetricName, o.Selector}, Current: measured{o.CurrentValue, o.AverageValue, o.Use}}
	}
	if p := m.Pods; p != nil {
		out.Pods = &sourceStatus{Metric: &identifier{p.MetricName, p.Selector}, Current: measured{p.CurrentValue, p.CurrentAverageValue, p.Use}}
	}
	if r := m.Resource; r != nil {
		out.Resource = r.stored()
	}
	if r := m.ContainerResource; r != nil {
		out.ContainerResource = r.stored()
		out.ContainerResource.Container = r.Container
	}
	if e := m.External; e != nil {
		out.External = &sourceStatus{Metric: &identifier{e.MetricName, e.MetricSelector}, Current: measured{e.CurrentValue, e.CurrentAverageValue, e.Use}}
	}
	return out
}

func (r *resourceStatusV1) stored() *sourceStatus {
	return &sourceStatus{Name: r.Name, Current: measured{r.CurrentValue, r.CurrentAverageValue, r.CurrentAverageUtilization}}
}
