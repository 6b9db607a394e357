package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateHorizontalPodAutoscaler checks that a workload scaled to zero can be scaled up
// again.
func (p Policy) ValidateHorizontalPodAutoscaler(obj, old document.Value) []schema.Cause {
	var c causes
	if p.since("1.34") {
		c.scaled(obj.At("spec", "scaleTargetRef"), old.At("spec", "scaleTargetRef"))
		for _, metric := range obj.At("spec", "metrics").Elements() {
			c.groupVersion(metric.At("object", "describedObject"), true)
		}
	}
	metrics, least := obj.At("spec", "metrics"), obj.At("spec", "minReplicas")
	if isSet(least) && number(least) == 0 && !metrics.ElementBy("type", "Object").Exists() && !metrics.ElementBy("type", "External").Exists() {
		c.Forbidden("spec.metrics", "must specify at least one Object or External metric to support scaling to zero replicas")
	}
	return c.Causes
}

// scaled checks the version of the scaled object, unless an update leaves it alone.
func (c *causes) scaled(ref, before document.Value) {
	if !before.Exists() || !document.Equal(ref.Get("apiVersion"), before.Get("apiVersion")) || !document.Equal(ref.Get("kind"), before.Get("kind")) {
		c.groupVersion(ref, ref.Get("kind").Equals("ReplicationController"))
	}
}

// groupVersion checks the version of a referenced object. core says whether one of the core group may be meant.
func (c *causes) groupVersion(ref document.Value, core bool) {
	version := ref.Get("apiVersion").Text()
	switch slashes := strings.Count(version, "/"); {
	case slashes > 1:
		c.InvalidAt(member(ref, "apiVersion"), ref.Get("apiVersion"), "unexpected GroupVersion string: "+version)
	case !core && (slashes == 0 || strings.HasPrefix(version, "/")):
		c.InvalidAt(member(ref, "apiVersion"), ref.Get("apiVersion"), "apiVersion must specify API group")
	}
}

// metricSources are the members of a metric by its type, in the order in which they are
// checked.
var metricSources = [...]struct{ typ, member string }{
	{"Object", "object"}, {"External", "external"}, {"Pods", "pods"}, {"Resource", "resource"}, {"ContainerResource", "containerResource"},
}

// SkipMetricSpec names the sources of a metric besides the first one.
func (Policy) SkipMetricSpec(m document.Value) (others []string) {
	first := true
	for _, s := range metricSources {
		if m.Get(s.member).Exists() {
			if !first {
				others = append(others, s.member)
			}
			first = false
		}
	}
	return others
}

// ValidateMetricSpec checks that the member for the type is present, and no other.
func (Policy) ValidateMetricSpec(m document.Value) []schema.Cause {
	var c causes
	t := m.Get("type")
	if isEmpty(t) {
		c.Required(member(m, "type"), "must specify a metric source type")
	}
	expected := ""
	var present []string
	for _, s := range metricSources {
		if t.Equals(s.typ) {
			expected = s.member
		}
		if m.Get(s.member).Exists() {
			present = append(present, s.member)
		}
	}
	unsupported := func() {
		if expected == "" {
			c.NotSupportedAt(member(m, "type"), t, "ContainerResource", "External", "Object", "Pods", "Resource")
		}
	}
	unsupported()
	before := len(c.Causes)
	unsupported() // 1.25 reports it before the sources and after
	if expected != "" && !m.Get(expected).Exists() {
		why := "must populate information for the given metric source"
		if expected == "containerResource" {
			why += " (only allowed when HPAContainerMetrics feature is enabled)"
		}
		c.Required(member(m, expected), why)
	}
	for _, name := range present {
		if name != expected && len(present) > 1 {
			c.Forbidden(member(m, name), "must populate the given metric source only")
		}
	}
	if len(present) > 0 {
		c.PlaceAt(before, member(m, present[0]))
	}
	return c.Causes
}
