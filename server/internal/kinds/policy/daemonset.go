package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// templateGeneration is the annotation that counts the changes of a daemon set's
// template.
const templateGeneration = "deprecated.daemonset.template.generation"

// DefaultDaemonSetUpdateStrategy replaces one node's pod at a time. Settings of another
// strategy have no effect.
func (Policy) DefaultDaemonSetUpdateStrategy(strategy document.Value) {
	rolling, unavailable := strategy.Get("rollingUpdate"), int64(0)
	if !isSet(rolling) || isSet(rolling.Get("maxUnavailable")) {
		return
	}
	if strategy.Get("type").Equals("RollingUpdate") {
		unavailable = 1
	}
	rolling.SetInt("maxUnavailable", unavailable)
}

// DefaultDaemonSet restores the count of template changes in a body that leaves it out:
// its sender owns it, as in 1.25.
func (Policy) DefaultDaemonSet(obj document.Value) {
	if !obj.At("metadata", "annotations", templateGeneration).Exists() {
		setTemplateGeneration(obj, 0)
	}
}

// CreateDaemonSet begins to count the changes of the template.
func (Policy) CreateDaemonSet(obj document.Value) {
	setTemplateGeneration(obj, max(1, templateChanges(obj)))
}

// templateChanges is the known number of changes of the template.
func templateChanges(obj document.Value) int64 {
	n, _ := strconv.ParseInt(obj.At("metadata", "annotations", templateGeneration).Text(), 10, 64)
	return n
}

// UpdateDaemonSet counts the changes of the template.
func (Policy) UpdateDaemonSet(obj, old document.Value) {
	before := templateChanges(old)
	if !document.Equal(obj.At("spec", "template"), old.At("spec", "template")) {
		before++
	}
	setTemplateGeneration(obj, before)
}

// StatusDaemonSet keeps that count.
func (Policy) StatusDaemonSet(obj, old document.Value) {
	setTemplateGeneration(obj, templateChanges(old))
}

func setTemplateGeneration(obj document.Value, n int64) {
	obj.SetObject("metadata").SetObject("annotations").SetString(templateGeneration, strconv.FormatInt(n, 10))
}

// ValidateDaemonSet checks a daemon set.
func (p Policy) ValidateDaemonSet(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	template := spec.Get("template")
	c.selected(spec.Get("selector"), template, "daemonset")
	p.sharedDisks(&c, template, old.At("spec", "template"))
	c.alwaysRestarts(template, "DaemonSet")
	strategy := spec.Get("updateStrategy")
	if !strategy.Get("type").Equals("RollingUpdate") {
		return c.Causes
	}
	rolling := strategy.Get("rollingUpdate")
	if !isSet(rolling) {
		c.Required(member(strategy, "rollingUpdate"), "")
		return c.Causes
	}
	unavailable, surge := rolling.Get("maxUnavailable"), rolling.Get("maxSurge")
	for _, v := range [...]document.Value{unavailable, surge} {
		c.intOrPercent(v)
		c.atMostAll(v)
	}
	switch hasUnavailable, hasSurge := intOrPercent(unavailable) != 0, intOrPercent(surge) != 0; {
	case hasUnavailable && hasSurge:
		c.Invalid(surge, "may not be set when maxUnavailable is non-zero")
	case !hasUnavailable && !hasSurge:
		c.Required(member(rolling, "maxUnavailable"), "cannot be 0 when maxSurge is 0")
	}
	return c.Causes
}
