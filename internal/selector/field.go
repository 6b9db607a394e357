package selector

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/capstan-dev/capstan/internal/api"
)

// The source of a field rule's value, besides the slots of the header (>= 0).
const (
	inName      = -1 // metadata.name, from the key
	inNamespace = -2 // metadata.namespace, from the key
	inNothing   = -3 // a field that has no value to compare: always ""
)

const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// fieldRule is one requirement on a field: equal (or, negated, not equal) to value.
type fieldRule struct {
	slot   int // in the header, or one of the in… constants
	value  string
	absent string // the value where the header has no such slot
	negate bool
}

// parseFields reads a field selector with any fields.
func parseFields(text string) (fields.Selector, error) {
	if len(text) > MaxText {
		return nil, api.BadRequest("invalid selector: the field selector is %d bytes long, at most %d are allowed", len(text), MaxText)
	}
	parsed, err := fields.ParseSelector(text)
	if err != nil {
		return nil, api.BadRequest("%v; write name=value, name==value or name!=value, separated by commas", err)
	}
	return parsed, nil
}

// ExactName is the name that a field selector requires, "" for none: a list of one object
// by its name is authorized like that object, if its label selector can be read, too.
func ExactName(text, labels string) string {
	if len(text) > MaxText || !strings.Contains(text, nameField) {
		return ""
	}
	if _, err := parseLabels(labels); err != nil {
		return ""
	}
	parsed, err := fields.ParseSelector(text)
	if err != nil {
		return ""
	}
	name, _ := parsed.RequiresExactMatch(nameField)
	return name
}

// resolve finds the fields of a selector among those of a resource, whose headers hold
// those of the storage version.
func (s *Selector) resolve(parsed fields.Selector, res *api.Resource) error {
	selectable, stored := res.Selectable, res.Storage().Selectable
	names := fieldNames(res)
	for _, r := range parsed.Requirements() {
		negate := r.Operator == selection.NotEquals
		if i := slices.IndexFunc(selectable, func(f api.Selectable) bool { return f.Served && f.Name == r.Field }); i >= 0 {
			s.values = append(s.values, valueRule{path: selectable[i].Path, value: r.Value, negate: negate})
			continue
		}
		rule, ok := resolveField(r.Field, selectable, stored)
		if !ok || !slices.Contains(names, r.Field) {
			return unknownField(r.Field, names, res.Definition != nil)
		}
		rule.value, rule.negate = r.Value, negate
		s.fields = append(s.fields, rule)
	}
	slices.SortStableFunc(s.fields, func(a, b fieldRule) int { return a.slot - b.slot })
	return nil
}

// resolveField finds the value of a named field. An alias stands for the field that it
// names; aliases of aliases are not followed. Fields of a served version stand for those
// of the storage version.
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

// fieldNames lists the fields that a selector may name. A cluster-scoped kind with fields
// of its own has no namespace, as in 1.25, nor has a cluster-scoped custom kind.
func fieldNames(res *api.Resource) []string {
	names := []string{nameField}
	if res.Namespaced || len(res.Selectable) == 0 && res.Definition == nil {
		names = append(names, namespaceField)
	}
	for i := range res.Selectable {
		names = append(names, res.Selectable[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknownField refuses a field that is none of a resource's, in the words of 1.25.
func unknownField(name string, known []string, custom bool) error {
	if custom {
		return api.BadRequest("field label not supported: %s", name)
	}
	if slices.Equal(known, []string{nameField, namespaceField}) {
		return api.BadRequest("%q is not a known field selector: only %q, %q", name, nameField, namespaceField)
	}
	return api.BadRequest("field label not supported: %s (supported: %s)", name, strings.Join(known, ", "))
}

// accepts reports whether the value meets the rule.
func (r *fieldRule) accepts(value string) bool { return (value == r.value) != r.negate }

// acceptsBytes is accepts for a value inside a header.
func (r *fieldRule) acceptsBytes(value []byte) bool { return (string(value) == r.value) != r.negate }
