package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateHorizontalPodAutoscaler checks the bounds, the metrics and the speed
// limits of an autoscaler.
func (Policy) ValidateHorizontalPodAutoscaler(obj, old document.Value) []schema.Cause {
	var c causes
	spec, status := obj.Get("spec"), obj.Get("status")
	least, most := spec.Get("minReplicas"), spec.Get("maxReplicas")
	lowest := int64(1)
	if v := old.At("spec", "minReplicas"); isSet(v) && number(v) == 0 {
		lowest = 0 // it was allowed to
	}
	if isSet(least) && number(least) < lowest {
		c.invalid(least, "must be greater than or equal to "+strconv.FormatInt(lowest, 10))
	}
	if number(most) < 1 {
		c.invalidAt("spec.maxReplicas", most, "must be greater than 0")
	}
	if isSet(least) && number(most) < number(least) {
		c.invalidAt("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
	}
	c.scaledObject(spec.Get("scaleTargetRef"))
	c.metrics(spec.Get("metrics"), isSet(least) && number(least) == 0)
	behavior := spec.Get("behavior")
	c.scalingRules(behavior.Get("scaleUp"))
	c.scalingRules(behavior.Get("scaleDown"))
	for _, name := range []string{"currentReplicas", "desiredReplicas"} {
		if v := status.Get(name); number(v) < 0 {
			c.invalid(v, "must be greater than or equal to 0")
		}
	}
	return c
}

// scaledObject checks that kind and name can be parts of a path. That they are
// there is in the schema.
func (c *causes) scaledObject(ref document.Value) {
	for _, name := range []string{"kind", "name"} {
		c.format(ref.Get(name), "path-segment")
	}
}

func (c *causes) metrics(metrics document.Value, fromZero bool) {
	outside := false
	for _, m := range metrics.Elements() {
		t := m.Get("type")
		outside = outside || t.Equals("Object") || t.Equals("External")
		c.metric(m)
	}
	if fromZero && !outside {
		c.forbidden("spec.metrics", "must specify at least one Object or External metric to support scaling to zero replicas")
	}
}

// metricSources are the members of a metric by its type, in the order in which
// they are looked at.
var metricSources = []struct {
	typ, member string
	check       func(c *causes, source document.Value)
}{
	{"Object", "object", (*causes).objectMetric},
	{"External", "external", (*causes).externalMetric},
	{"Pods", "pods", (*causes).podsMetric},
	{"Resource", "resource", (*causes).resourceMetric},
	{"ContainerResource", "containerResource", (*causes).containerMetric},
}

// metric checks that the member for the type is there, and no other.
func (c *causes) metric(m document.Value) {
	t := m.Get("type")
	if isEmpty(t) {
		c.required(member(m, "type"), "must specify a metric source type")
	}
	expected, first := "", ""
	for _, s := range metricSources {
		if t.Equals(s.typ) {
			expected = s.member
		}
	}
	unsupported := func() {
		if expected == "" {
			c.notSupportedAt(member(m, "type"), t, "ContainerResource", "External", "Object", "Pods", "Resource")
		}
	}
	unsupported()
	var present []string
	for _, s := range metricSources {
		source := m.Get(s.member)
		if !source.Exists() {
			continue
		}
		if present = append(present, s.member); first == "" {
			first = s.member
			s.check(c, source)
		}
	}
	unsupported() // 1.25 says it before the sources and after
	if expected != "" && !m.Get(expected).Exists() {
		c.required(member(m, expected), "must populate information for the given metric source")
	}
	if len(present) == 1 {
		return
	}
	for _, name := range present {
		if name != expected {
			c.forbidden(member(m, name), "must populate the given metric source only")
		}
	}
}

func (c *causes) objectMetric(s document.Value) {
	c.scaledObject(s.Get("describedObject"))
	c.metricIdentifier(s)
	c.metricTarget(s)
	if t := s.Get("target"); !isSet(t.Get("value")) && !isSet(t.Get("averageValue")) {
		c.required(member(s, "target", "averageValue"), "must set either a target value for metric or a per-pod target")
	}
}

func (c *causes) externalMetric(s document.Value) {
	c.metricIdentifier(s)
	c.metricTarget(s)
	value, average := isSet(s.At("target", "value")), isSet(s.At("target", "averageValue"))
	switch {
	case !value && !average:
		c.required(member(s, "target", "averageValue"), "must set either a target value for metric or a per-pod target")
	case value && average:
		c.forbidden(member(s, "target", "value"), "may not set both a target value for metric and a per-pod target")
	}
}

func (c *causes) podsMetric(s document.Value) {
	c.metricIdentifier(s)
	c.metricTarget(s)
	if !isSet(s.At("target", "averageValue")) {
		c.required(member(s, "target", "averageValue"), "must specify a positive target averageValue")
	}
}

func (c *causes) resourceMetric(s document.Value) {
	if isEmpty(s.Get("name")) {
		c.required(member(s, "name"), "must specify a resource name")
	}
	c.metricTarget(s)
	use, average := isSet(s.At("target", "averageUtilization")), isSet(s.At("target", "averageValue"))
	switch {
	case !use && !average:
		c.required(member(s, "target", "averageUtilization"), "must set either a target raw value or a target utilization")
	case use && average:
		c.forbidden(member(s, "target", "averageValue"), "may not set both a target raw value and a target utilization")
	}
}

func (c *causes) containerMetric(s document.Value) {
	if container := s.Get("container"); isEmpty(container) {
		c.required(member(s, "container"), "must specify a container")
	} else {
		c.format(container, "dns1123-label")
	}
	c.resourceMetric(s)
}

func (c *causes) metricTarget(s document.Value) {
	t := s.Get("target")
	typ := t.Get("type")
	if isEmpty(typ) {
		c.required(member(s, "target", "type"), "must specify a metric target type")
	}
	if !typ.Equals("Utilization") && !typ.Equals("Value") && !typ.Equals("AverageValue") {
		c.invalidAt(member(s, "target", "type"), typ, "must be either Utilization, Value, or AverageValue")
	}
	for _, name := range []string{"value", "averageValue"} {
		if v := t.Get(name); isSet(v) {
			if q := amount(v); q.Sign() <= 0 {
				c.invalid(v, "must be positive")
			}
		}
	}
	if v := t.Get("averageUtilization"); isSet(v) && number(v) < 1 {
		c.invalid(v, "must be greater than 0")
	}
}

func (c *causes) metricIdentifier(s document.Value) {
	name := s.At("metric", "name")
	if isEmpty(name) {
		c.required(member(s, "metric", "name"), "must specify a metric name")
		return
	}
	c.format(name, "path-segment")
}

// Bounds of speed limits, in seconds.
const (
	maxStabilization = 3600
	maxScalingPeriod = 1800
)

func (c *causes) scalingRules(rules document.Value) {
	if !isSet(rules) {
		return
	}
	if v := rules.Get("stabilizationWindowSeconds"); number(v) < 0 {
		c.invalid(v, "must be greater than or equal to zero")
	} else if number(v) > maxStabilization {
		c.invalid(v, "must be less than or equal to 3600")
	}
	if v := rules.Get("selectPolicy"); isSet(v) && !v.Equals("Max") && !v.Equals("Min") && !v.Equals("Disabled") {
		c.notSupported(v, "Disabled", "Max", "Min")
	}
	policies := rules.Get("policies")
	if policies.Len() == 0 {
		c.required(member(rules, "policies"), "must specify at least one Policy")
	}
	for _, p := range policies.Elements() {
		if t := p.Get("type"); !t.Equals("Pods") && !t.Equals("Percent") {
			c.notSupportedAt(member(p, "type"), t, "Percent", "Pods")
		}
		if v := p.Get("value"); number(v) <= 0 {
			c.invalidAt(member(p, "value"), v, "must be greater than zero")
		}
		period := p.Get("periodSeconds")
		if number(period) <= 0 {
			c.invalidAt(member(p, "periodSeconds"), period, "must be greater than zero")
		} else if number(period) > maxScalingPeriod {
			c.invalid(period, "must be less than or equal to 1800")
		}
	}
}
