package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
)

// A pod with scheduling gates, from 1.26 on, is not placed before they are gone. Until then it may be made to fit fewer nodes.

// gatedCondition says in the status of a new pod that its gates hold it back.
func (p Policy) gatedCondition(pod, status document.Value) {
	if isEmpty(pod.At("spec", "schedulingGates")) {
		return
	}
	condition := status.SetArray("conditions").AppendObject()
	condition.SetString("type", "PodScheduled")
	condition.SetString("status", "False")
	condition.SetNull("lastProbeTime")
	condition.SetNull("lastTransitionTime")
	if p.since("1.31") {
		condition.SetString("lastTransitionTime", p.now())
	}
	condition.SetString("reason", "SchedulingGated")
	condition.SetString("message", "Scheduling is blocked due to non-empty scheduling gates")
}

// keptGates checks that an update only takes scheduling gates away.
func (c *causes) keptGates(spec, old document.Value) {
	before := old.Get("schedulingGates")
	for _, gate := range spec.Get("schedulingGates").Elements() {
		if name := gate.Get("name"); !before.ElementBy("name", name.Text()).Exists() {
			c.Forbidden(member(gate, "name"), "scheduling gates can only be removed, and "+strconv.Quote(name.Text())+" is new")
		}
	}
}

// gatedUpdate checks the changes that a pod allows while it is gated, and names the members that it has checked.
func (p Policy) gatedUpdate(c *causes, spec, old document.Value) (checked []string) {
	checked = []string{"schedulingGates"}
	if !p.since("1.27") || isEmpty(old.Get("schedulingGates")) {
		return checked
	}
	c.addedSelectors(spec, old)
	now, before := spec.At("affinity", "nodeAffinity"), old.At("affinity", "nodeAffinity")
	if !document.Equal(now, before) {
		c.addedTerms(now, before)
	}
	if sameBut(spec.Get("affinity"), old.Get("affinity"), "nodeAffinity") {
		checked = append(checked, "affinity")
	}
	return append(checked, "nodeSelector")
}

// addedSelectors checks that a pod keeps the labels that its node needs.
func (c *causes) addedSelectors(spec, old document.Value) {
	now := spec.Get("nodeSelector")
	for name, v := range old.Get("nodeSelector").Members() {
		if !document.Equal(v, now.Get(name)) {
			c.InvalidAt(member(spec, "nodeSelector"), now, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
			return
		}
	}
}

// addedTerms checks that each term of a required affinity keeps its requirements.
func (c *causes) addedTerms(affinity, old document.Value) {
	const required = "requiredDuringSchedulingIgnoredDuringExecution"
	const path = "spec.affinity.nodeAffinity." + required + ".nodeSelectorTerms"
	now, before := affinity.At(required, "nodeSelectorTerms"), old.At(required, "nodeSelectorTerms")
	switch {
	case before.Len() == 0:
		return
	case before.Len() != now.Len():
		c.InvalidAt(path, now, "a list of terms keeps its length")
		return
	}
	for i, term := range before.Elements() {
		if !onlyAdds(now.Index(i), term) {
			c.InvalidAt(element(path, i), now.Index(i), "only additions are allowed (no mutations or deletions)")
		}
	}
}

// onlyAdds reports whether a term begins with the requirements of an earlier one. One without requirements matches nothing,
// and stays so.
func onlyAdds(term, old document.Value) bool {
	empty := true
	for _, list := range [...]string{"matchExpressions", "matchFields"} {
		now, before := term.Get(list), old.Get(list)
		empty = empty && before.Len() == 0
		if now.Len() < before.Len() {
			return false
		}
		for i, requirement := range before.Elements() {
			if !document.Equal(requirement, now.Index(i)) {
				return false
			}
		}
	}
	return !empty || term.Get("matchExpressions").Len()+term.Get("matchFields").Len() == 0
}
