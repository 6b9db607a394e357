package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultStatefulSetUpdateStrategy defaults to rolling updates of all pods.
func (p Policy) DefaultStatefulSetUpdateStrategy(strategy document.Value) {
	if isEmpty(strategy.Get("type")) {
		strategy.SetString("type", "RollingUpdate")
		strategy.SetObject("rollingUpdate")
	}
	rolling := strategy.Get("rollingUpdate")
	if !strategy.Get("type").Equals("RollingUpdate") || !isSet(rolling) {
		return
	}
	if !isSet(rolling.Get("partition")) {
		rolling.SetInt("partition", 0)
	}
	if p.on("MaxUnavailableStatefulSet") && !isSet(rolling.Get("maxUnavailable")) {
		rolling.SetInt("maxUnavailable", 1)
	}
}

// DefaultStatefulSetSpec completes the claim templates: they are objects of
// their own.
func (p Policy) DefaultStatefulSetSpec(spec document.Value) {
	if p.on("StatefulSetAutoDeletePVC") {
		retention := spec.SetObject("persistentVolumeClaimRetentionPolicy")
		defaultString(retention, "whenDeleted", "Retain")
		defaultString(retention, "whenScaled", "Retain")
	}
	for _, claim := range spec.Get("volumeClaimTemplates").Elements() {
		defaultString(claim, "apiVersion", "v1")
		defaultString(claim, "kind", "PersistentVolumeClaim")
	}
}

// statefulMutable are the members of a stateful set's spec that may change.
var statefulMutable = []string{"replicas", "template", "updateStrategy", "minReadySeconds", "persistentVolumeClaimRetentionPolicy"}

// ValidateStatefulSet checks a stateful set, without the pods of its template: they may
// use volumes of the claim templates.
func (Policy) ValidateStatefulSet(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	template, selector := spec.Get("template"), spec.Get("selector")
	if c.selected(selector, template, "statefulset") {
		c.templateMetadata(template)
	} else {
		c.unselective(selector, template)
	}
	c.alwaysRestarts(template, "StatefulSet")
	if old.Exists() && !sameBut(spec, old.Get("spec"), statefulMutable...) {
		c.Forbidden(spec.Path(), "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', "+
			"'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")
	}
	return c.Causes
}
