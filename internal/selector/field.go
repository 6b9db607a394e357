package selector

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/capstan-dev/capstan/internal/api"
)

// Where a field rule finds its value, besides the slots of the header (>= 0).
const (
	inName      = -1 // metadata.name, from the key
	inNamespace = -2 // metadata.namespace, from the key
	inNothing   = -3 // a field that has no value to compare: always ""
)

const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// fieldRule is one requirement on a field: equal (or, negated, not equal) to
// value.
type fieldRule struct {
	slot   int // in the header, or one of the in… constants
	value  string
	absent string // the value where the header has no such slot
	negate bool
}

// parseFields reads a field selector for a resource with these selectable
// fields, whose headers hold the stored ones. The rules are sorted by slot.
func parseFields(text string, selectable, stored []api.Selectable) ([]fieldRule, error) {
	if len(text) > MaxText {
		return nil, api.BadRequest("invalid selector: the field selector is %d bytes long, at most %d are allowed", len(text), MaxText)
	}
	parsed, err := fields.ParseAndTransformSelector(text, func(name, value string) (string, string, error) {
		if _, ok := resolveField(name, selectable, stored); !ok {
			return "", "", api.BadRequest("field label not supported: %s (supported: %s)", name, strings.Join(fieldNames(selectable), ", "))
		}
		return name, value, nil
	})
	if err != nil {
		var refused *api.Error
		if errors.As(err, &refused) {
			return nil, refused
		}
		return nil, api.BadRequest("%v; write name=value, name==value or name!=value, separated by commas", err)
	}
	var rules []fieldRule
	for _, r := range parsed.Requirements() {
		rule, _ := resolveField(r.Field, selectable, stored)
		rule.value = r.Value
		rule.negate = r.Operator == selection.NotEquals
		rules = append(rules, rule)
	}
	slices.SortStableFunc(rules, func(a, b fieldRule) int { return a.slot - b.slot })
	return rules, nil
}

// resolveField says where the value of a named field is. An alias stands for
// the field that it names; aliases of aliases are not followed. The fields of a
// version that is not stored stand for stored ones.
func resolveField(name string, selectable, stored []api.Selectable) (fieldRule, bool) {
	target, known := name, name == nameField || name == namespaceField
	for i := range selectable {
		if f := &selectable[i]; f.Name == name {
			known = true
			if f.AliasOf != "" {
				target = f.AliasOf
				break
			}
		}
	}
	if !known {
		return fieldRule{}, false
	}
	switch target {
	case nameField:
		return fieldRule{slot: inName}, true
	case namespaceField:
		return fieldRule{slot: inNamespace}, true
	}
	var rule fieldRule
	found := false
	slots(stored, func(slot int, f *api.Selectable) {
		if f.Name == target && !found {
			rule, found = fieldRule{slot: slot, absent: f.Default}, true
		}
	})
	for i := range selectable {
		if f := &selectable[i]; f.Name == target && f.Never && !found {
			rule, found = fieldRule{slot: inNothing}, true
		}
	}
	return rule, found
}

// fieldNames lists what a selector may name, for messages.
func fieldNames(selectable []api.Selectable) []string {
	names := []string{nameField, namespaceField}
	for i := range selectable {
		names = append(names, selectable[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// accepts reports whether the value meets the rule.
func (r *fieldRule) accepts(value string) bool { return (value == r.value) != r.negate }

// acceptsBytes is accepts for a value inside a header.
func (r *fieldRule) acceptsBytes(value []byte) bool { return (string(value) == r.value) != r.negate }
