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
