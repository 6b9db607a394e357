package authz

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// maxSelector bounds the text of a selector, in bytes.
const maxSelector = 1 << 16

var errLongSelector = fmt.Errorf("the selector is longer than %d bytes", maxSelector)

// operators are those of selectors in the form of access reviews. Selectors only narrow a request, so that a requirement with any other
// may be left out.
var operators = map[selection.Operator]string{selection.Equals: "In", selection.DoubleEquals: "In", selection.In: "In", selection.NotEquals: "NotIn",
	selection.NotIn: "NotIn", selection.Exists: "Exists", selection.DoesNotExist: "DoesNotExist"}

// ParseFields reads a field selector.
func ParseFields(text string) (all []Requirement, err error) {
	if len(text) > maxSelector {
		return nil, errLongSelector
	}
	parsed, err := fields.ParseSelector(text)
	if err != nil {
		return nil, err
	}
	for _, r := range parsed.Requirements() {
		all = append(all, Requirement{r.Field, operators[r.Operator], []string{r.Value}})
	}
	return all, nil
}

// ParseLabels reads a label selector.
func ParseLabels(text string) (all []Requirement, err error) {
	if len(text) > maxSelector {
		return nil, errLongSelector
	}
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, _ := parsed.Requirements()
	for i := range requirements {
		r := &requirements[i]
		if op := operators[r.Operator()]; op != "" {
			all = append(all, Requirement{r.Key(), op, slices.Sorted(slices.Values(r.ValuesUnsorted()))})
		}
	}
	return all, nil
}

// CheckFields are those requirements of a field selector that fields can have. The error is about the others.
func CheckFields(asked []Requirement) (all []Requirement, err error) {
	var wrong []error
	for _, r := range asked {
		switch {
		case len(r.Values) > 1:
			wrong = append(wrong, errors.New("fieldSelectors do not yet support multiple values"))
		case r.Operator != "In" && r.Operator != "NotIn":
			wrong = append(wrong, fmt.Errorf("fieldSelectors do not yet support %s", r.Operator))
		case len(r.Values) != 1:
			wrong = append(wrong, errors.New("fieldSelectors must have one value"))
		default:
			all = append(all, r)
		}
	}
	return all, utilerrors.NewAggregate(wrong)
}

// CheckLabels are those requirements of a label selector that labels can have. The error is about the others.
func CheckLabels(asked []Requirement) (all []Requirement, err error) {
	var wrong []error
	known := map[string]selection.Operator{"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist}
	for _, r := range asked {
		op, ok := known[r.Operator]
		if !ok {
			wrong = append(wrong, fmt.Errorf("%q is not a valid label selector operator", r.Operator))
		} else if _, err := labels.NewRequirement(r.Key, op, r.Values); err != nil {
			wrong = append(wrong, err)
		} else {
			all = append(all, r)
		}
	}
	return all, utilerrors.NewAggregate(wrong)
}
