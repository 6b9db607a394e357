package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
)

// UpdateDeployment makes a change of the annotations a new generation as well: they
// are copied to the replica sets.
func (Policy) UpdateDeployment(obj, old document.Value) { countMetadata(obj, old, "annotations") }

// ValidateDeployment checks a deployment.
func (p Policy) ValidateDeployment(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	p.replicated(&c, spec, old.Get("spec"), "deployment")
	strategy := spec.Get("strategy")
	rolling := strategy.Get("rollingUpdate")
	if strategy.Get("type").Equals("RollingUpdate") && isSet(rolling) {
		unavailable, surge := rolling.Get("maxUnavailable"), rolling.Get("maxSurge")
		c.intOrPercent(unavailable)
		c.intOrPercent(surge)
		if intOrPercent(unavailable) == 0 && intOrPercent(surge) == 0 {
			c.InvalidAt(member(rolling, "maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0")
		}
		c.atMostAll(unavailable)
	}
	return c.Causes
}

// SkipDeploymentSpec and SkipReplicaSetSpec leave out the template while the selector is
// invalid.
func (Policy) SkipDeploymentSpec(spec document.Value) []string { return unaskedTemplate(spec) }
func (Policy) SkipReplicaSetSpec(spec document.Value) []string { return unaskedTemplate(spec) }

func unaskedTemplate(spec document.Value) []string {
	if selector.Suitable(spec.Get("selector")) {
		return nil
	}
	return []string{"template"}
}

// replicated checks the selector and the template of a kind that keeps a number
// of equal pods running.
func (p Policy) replicated(c *causes, spec, before document.Value, kind string) {
	template, selector := spec.Get("template"), spec.Get("selector")
	if !c.selected(selector, template, kind) {
		c.unselective(selector, template)
		return
	}
	if number(spec.Get("replicas")) > 1 {
		p.sharedDisks(c, template, before.Get("template"))
	}
	c.alwaysRestarts(template, "ReplicaSet")
}
