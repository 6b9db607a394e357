package policy

import (
	"sort"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// labels checks labels, or a plain selector of labels, whose mistakes are reported for
// the whole map.
func (c *causes) labels(set document.Value) {
	for name, v := range set.Members() {
		for _, problem := range document.CheckFormat("qualified-name", name) {
			c.InvalidText(set.Path(), name, problem)
		}
		for _, problem := range document.CheckFormat("label-value", v.Text()) {
			c.InvalidAt(set.Path(), v, problem)
		}
	}
}

// canSelect reports whether a label selector is valid: its parts can be those of labels,
// and its operators have their values.
func canSelect(selector document.Value) bool {
	for name, v := range selector.Get("matchLabels").Members() {
		if !isLabel(name, v) {
			return false
		}
	}
	for _, e := range selector.Get("matchExpressions").Elements() {
		values, wantsValues := e.Get("values"), false
		switch e.Get("operator").Text() {
		case "In", "NotIn":
			wantsValues = true
		case "Exists", "DoesNotExist":
		default:
			return false
		}
		if wantsValues == (values.Len() == 0) || !isLabel(e.Get("key").Text(), document.Value{}) {
			return false
		}
		for _, v := range values.Elements() {
			if !isLabel("a", v) {
				return false
			}
		}
	}
	return true
}

// isLabel reports whether an object can have such a label.
func isLabel(name string, value document.Value) bool {
	return len(document.CheckFormat("qualified-name", name))+len(document.CheckFormat("label-value", value.Text())) == 0
}

// isNothing reports whether a label selector has no requirement.
func isNothing(selector document.Value) bool {
	return isEmpty(selector.Get("matchLabels")) && isEmpty(selector.Get("matchExpressions"))
}

const none = "<none>"

// mapText writes labels in the order of their keys: "a=b,c=d".
func mapText(set document.Value) string {
	if isEmpty(set) {
		return none
	}
	var parts []string
	for name, v := range set.Members() {
		parts = append(parts, name+"="+v.Text())
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}
