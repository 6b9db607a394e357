package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// Affinities, from 1.29 on, and spread constraints may name labels whose values on a new pod narrow the pods that they are
// about. The values become a part of their selectors when the pod is made.

// affinityTerms visits the terms of a pod about other pods.
func affinityTerms(spec document.Value, visit func(term document.Value)) {
	affinity := spec.Get("affinity")
	if !isSet(affinity) {
		return
	}
	for _, kind := range [...]string{"podAffinity", "podAntiAffinity"} {
		of := affinity.Get(kind)
		for _, term := range of.Get("requiredDuringSchedulingIgnoredDuringExecution").Elements() {
			visit(term)
		}
		for _, weighted := range of.Get("preferredDuringSchedulingIgnoredDuringExecution").Elements() {
			visit(weighted.Get("podAffinityTerm"))
		}
	}
}

// mergesKeys reports whether the selectors of spread constraints take in the values of labels, from 1.34 on.
func (p Policy) mergesKeys() bool {
	return p.on("MatchLabelKeysInPodTopologySpread") && p.on("MatchLabelKeysInPodTopologySpreadSelectorMerge")
}

// mergeLabelKeys makes the values of a new pod's labels a part of its selectors.
func (p Policy) mergeLabelKeys(pod document.Value) {
	spec, labels := pod.Get("spec"), pod.At("metadata", "labels")
	if p.on("MatchLabelKeysInPodAffinity") {
		affinityTerms(spec, func(term document.Value) {
			addKeys(term, "matchLabelKeys", "In", labels)
			addKeys(term, "mismatchLabelKeys", "NotIn", labels)
		})
	}
	if p.mergesKeys() {
		for _, constraint := range spec.Get("topologySpreadConstraints").Elements() {
			addKeys(constraint, "matchLabelKeys", "In", labels)
		}
	}
}

// addKeys adds the labels of a list to the selector of the same object. A missing selector matches nothing, and stays so.
func addKeys(of document.Value, list, operator string, labels document.Value) {
	selector := of.Get("labelSelector")
	if !isSet(selector) {
		return
	}
	for _, name := range of.Get(list).Elements() {
		if value := labels.Get(name.Text()); value.Exists() {
			requirement := selector.SetArray("matchExpressions").AppendObject()
			requirement.SetString("key", name.Text())
			requirement.SetString("operator", operator)
			requirement.SetArray("values").AppendString(value.Text())
		}
	}
}

// labelKeys checks the names of labels whose values a selector takes in.
func (c *causes) labelKeys(of document.Value) {
	match, mismatch, selector := of.Get("matchLabelKeys"), of.Get("mismatchLabelKeys"), of.Get("labelSelector")
	if match.Len() == 0 && mismatch.Len() == 0 {
		return
	}
	for _, list := range [...]document.Value{match, mismatch} {
		if list.Len() > 0 && !isSet(selector) {
			c.Forbidden(list.Path(), "must not be specified when labelSelector is not set")
			continue
		}
		for _, name := range list.Elements() {
			c.Format(name, "qualified-name")
		}
	}
	var seen document.Texts
	for name := range selector.Get("matchLabels").Members() {
		seen.Add(name)
	}
	for _, expression := range selector.Get("matchExpressions").Elements() {
		name := expression.Get("key").Text()
		if i := lastOf(match, name); i >= 0 && seen.Has(name) {
			c.InvalidText(element(of.Path(), i), name, "exists in both matchLabelKeys and labelSelector")
		}
		seen.Add(name)
	}
	for _, name := range match.Elements() {
		if mismatch.HasText(name.Text()) {
			c.Invalid(name, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
}

// lastOf is the place of the last text in a list that equals one; -1 for none.
func lastOf(list document.Value, text string) int {
	at := -1
	for i, v := range list.Elements() {
		if v.Equals(text) {
			at = i
		}
	}
	return at
}

// unmergedKeys checks the names of labels next to a selector that stays as it is.
func (c *causes) unmergedKeys(of document.Value) {
	keys, selector := of.Get("matchLabelKeys"), of.Get("labelSelector")
	if keys.Len() == 0 {
		return
	}
	if !isSet(selector) {
		c.Forbidden(keys.Path(), "must not be specified when labelSelector is not set")
	}
	for _, name := range keys.Elements() {
		c.Format(name, "qualified-name")
		if selector.Get("matchLabels").Get(name.Text()).Exists() || selector.Get("matchExpressions").ElementBy("key", name.Text()).Exists() {
			c.Invalid(name, "exists in both matchLabelKeys and labelSelector")
		}
	}
}
