package selector

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/capstan-dev/capstan/internal/document"
)

// Labels are the labels of an object, for many selectors. Nil are none.
type Labels map[string][]byte

// ReadLabels reads the labels of an object. They share no memory with it.
func ReadLabels(set document.Value) Labels {
	if set.Len() == 0 {
		return nil
	}
	all := make(Labels, set.Len())
	for key, v := range set.Members() {
		all[strings.Clone(key)] = v.AppendText(nil)
	}
	return all
}

// Requirements are a label selector as an object has it: matchLabels and matchExpressions.
// Without any it selects everything. One with an unknown operator selects nothing.
type Requirements []labelRule

// operators are those of matchExpressions.
var operators = map[string]labelOp{"In": labelIn, "NotIn": labelNotIn, "Exists": labelExists, "DoesNotExist": labelAbsent}

// ReadRequirements reads a label selector, without checking its words.
func ReadRequirements(v document.Value) Requirements {
	all := ReadPlain(v.Get("matchLabels"))
	for _, e := range v.Get("matchExpressions").Elements() {
		r := labelRule{key: e.Get("key").Text(), op: operators[e.Get("operator").Text()], values: e.Get("values").Texts()}
		slices.Sort(r.values)
		all = append(all, r)
	}
	return all
}

// ReadPlain reads a selector that is a map of labels.
func ReadPlain(v document.Value) (all Requirements) {
	for key, value := range v.Members() {
		all = append(all, labelRule{key: strings.Clone(key), op: labelIn, values: []string{value.Text()}})
	}
	return all
}

// Match reports whether labels are selected.
func (s Requirements) Match(l Labels) bool {
	for i := range s {
		value, ok := l[s[i].key]
		if ok && !s[i].accepts(value) || !ok && !s[i].acceptsAbsent() {
			return false
		}
	}
	return true
}

// Checked reads a label selector whose parts have to be those of labels; an absent one
// selects nothing. It can write itself as the text of a query.
func Checked(v document.Value) (labels.Selector, error) {
	if v.Kind() != document.Object {
		return labels.Nothing(), nil
	}
	selector := labels.NewSelector()
	add := func(key string, op selection.Operator, values []string) error {
		r, err := labels.NewRequirement(key, op, values)
		if err == nil {
			selector = selector.Add(*r)
		}
		return err
	}
	for name, v := range v.Get("matchLabels").Members() {
		if err := add(name, selection.Equals, []string{v.Text()}); err != nil {
			return nil, err
		}
	}
	for _, e := range v.Get("matchExpressions").Elements() {
		op, known := checkedOperators[e.Get("operator").Text()]
		if !known {
			return nil, fmt.Errorf("%q is not a valid label selector operator", e.Get("operator").Text())
		}
		if err := add(e.Get("key").Text(), op, e.Get("values").Texts()); err != nil {
			return nil, err
		}
	}
	return selector, nil
}

var checkedOperators = map[string]selection.Operator{"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists,
	"DoesNotExist": selection.DoesNotExist}
