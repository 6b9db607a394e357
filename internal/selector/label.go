package selector

import (
	"sort"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/capstan-dev/capstan/internal/api"
)

// MaxText is the longest selector that is parsed, in bytes.
const MaxText = 64 << 10

// labelOp is the operator of a requirement on a label. The operators of the selector
// language (=, ==, in, !=, notin, …) reduce to these.
type labelOp uint8

const (
	labelNone   labelOp = iota // never met
	labelIn                    // present, value one of values
	labelNotIn                 // absent, or value not one of values
	labelExists                // present
	labelAbsent                // absent
	labelAbove                 // present, an integer above bound
	labelBelow                 // present, an integer below bound
)

// labelRule is one requirement. Invariant: values is sorted.
type labelRule struct {
	key    string
	op     labelOp
	values []string
	bound  int64
}

// parseLabels reads a label selector. The rules are sorted by key, as the
// labels in a header are.
func parseLabels(text string) ([]labelRule, error) {
	if len(text) > MaxText {
		return nil, api.BadRequest("unable to parse requirement: the label selector is %d bytes long, at most %d are allowed", len(text), MaxText)
	}
	parsed, err := labels.Parse(text)
	if err != nil {
		const prefix = "unable to parse requirement: "
		return nil, api.BadRequest("%s%s", prefix, strings.TrimPrefix(err.Error(), prefix))
	}
	requirements, _ := parsed.Requirements()
	rules := make([]labelRule, 0, len(requirements))
	for i := range requirements {
		rule, err := compileLabel(&requirements[i])
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	sort.SliceStable(rules, func(i, j int) bool { return rules[i].key < rules[j].key })
	return rules, nil
}

func compileLabel(r *labels.Requirement) (labelRule, error) {
	rule := labelRule{key: r.Key()}
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		rule.op = labelIn
	case selection.NotIn, selection.NotEquals:
		rule.op = labelNotIn
	case selection.Exists:
		rule.op = labelExists
	case selection.DoesNotExist:
		rule.op = labelAbsent
	case selection.GreaterThan:
		rule.op = labelAbove
	case selection.LessThan:
		rule.op = labelBelow
	default:
		return rule, api.BadRequest("unable to parse requirement: operator %q of label %q is not known", r.Operator(), rule.key)
	}
	rule.values = r.ValuesUnsorted()
	sort.Strings(rule.values)
	if rule.op == labelAbove || rule.op == labelBelow {
		bound, err := strconv.ParseInt(rule.values[0], 10, 64)
		if err != nil {
			return rule, api.BadRequest("unable to parse requirement: label %q is compared with %q, which is not a whole number", rule.key, rule.values[0])
		}
		rule.bound = bound
	}
	return rule, nil
}

// accepts reports whether an object that has the label with that value meets
// the rule.
func (r *labelRule) accepts(value []byte) bool {
	switch r.op {
	case labelIn:
		return r.lists(value)
	case labelNotIn:
		return !r.lists(value)
	case labelExists:
		return true
	case labelAbsent, labelNone:
		return false
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return false
	}
	if r.op == labelAbove {
		return n > r.bound
	}
	return n < r.bound
}

// acceptsAbsent reports whether an object without the label meets the rule.
func (r *labelRule) acceptsAbsent() bool { return r.op == labelNotIn || r.op == labelAbsent }

func (r *labelRule) lists(value []byte) bool {
	if len(r.values) == 1 {
		return r.values[0] == string(value)
	}
	lo, hi := 0, len(r.values)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if r.values[mid] < string(value) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(r.values) && r.values[lo] == string(value)
}
