package load

import (
	"cmp"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// checkPairs finds the keys of a schema that do not go together.
func (r *reader) checkPairs(s *schema.Schema) {
	pairs := []struct {
		key   string
		wrong bool
		what  string
		fix   string
	}{
		{"format", s.Format != "" && !fits(s), "the type " + cmp.Or(s.Type, "any") + " cannot have the format " + s.Format, "change one of them"},
		{"format", s.FormatCheck != "" && textFormat(s.Format), "a format and a named check of one text", "keep one of them"},
		{"enum", len(s.Enum) > 0 && s.Type != "string", "an enum of texts on something that is not a string",
			"write type: string, or values of the type without quotes"},
		{"x-cluster-format", s.FormatCheck != "" && s.Type != "string", "a named check on something that is not a string", "write type: string, or drop it"},
		{"x-cluster-round-up", s.RoundUp && s.Format != "quantity", "x-cluster-round-up on something that is not a quantity", "write format: quantity, or drop it"},
		{"x-cluster-list-type", s.ListType != "" && s.Type != "array", "x-cluster-list-type on something that is not a list", "put it beside type: array"},
		{"x-cluster-list-map-keys", len(s.ListMapKeys) > 0 && s.ListType == "set", "list keys on a list that is not of type map", "write x-cluster-list-type: map"},
		{"x-cluster-list-type", s.ListType == "map" && len(s.ListMapKeys) == 0, "a list of type map has no keys", "add x-cluster-list-map-keys"},
		{"x-cluster-patch-merge-key", s.PatchMergeKey != "" && !slices.Contains(s.PatchStrategy, "merge"), "a merge key without the merge strategy",
			"add x-cluster-patch-strategy: [merge]"},
		{"x-cluster-map-type", s.MapType != "" && s.Type != "object" && s.Ref == "", "x-cluster-map-type on something that is neither an object nor a map",
			"put it beside type: object"},
		{"x-cluster-gate-value", s.GateValue != "" && s.FeatureGate == "", "a value for a gate that is not named", "add x-cluster-feature-gate"},
		{"x-cluster-gate-value", s.GateValue != "" && s.Type != "string", "a gate's value on something that is not a string", "drop it; the field is then dropped"},
		{"x-cluster-gate-holder", s.GateHolder && (s.FeatureGate == "" || s.GateValue != ""), "a field that no gate drops takes no object with it",
			"add x-cluster-feature-gate, without x-cluster-gate-value"},
		{"x-cluster-unique", s.Unique != nil && s.Type != "array", "x-cluster-unique on something that is not a list", "put it beside items"},
		{"x-cluster-max-bytes", s.MaxBytes != nil && s.Type != "string" && s.Additional == nil,
			"x-cluster-max-bytes on something that is neither a string nor a map", "count items with maxItems"},
		{"x-cluster-keys", s.KeyCheck != "" && s.Additional == nil, "x-cluster-keys on something that is not a map", "put it beside additionalProperties"},
		{"x-cluster-rules", s.Rules != nil && s.Type != "object", "x-cluster-rules on something that is not an object", "put them beside properties"},
		{"items", s.Items != nil && s.Type != "array", "items on something that is not a list", "write type: array"},
		{"properties", len(s.Properties) > 0 && s.Type != "object", "properties on something that is not an object", "write type: object"},
		{"additionalProperties", s.Additional != nil && s.Type != "object", "additionalProperties on something that is not a map", "write type: object"},
	}
	for _, p := range pairs {
		if p.wrong {
			r.fail(r.at(s, p.key), p.fix, "%s", p.what)
		}
	}
}
