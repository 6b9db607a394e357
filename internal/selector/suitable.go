package selector

import "github.com/capstan-dev/capstan/internal/document"

// Suitable reports whether a label selector is valid: its parts can be those of labels,
// and its operators have their values.
func Suitable(selector document.Value) bool {
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
