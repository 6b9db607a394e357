package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Limits of an indexed job with a limit of failures per index: above manyCompletions completions at most fewParallel pods run
// at once, and at most fewParallel indexes fail.
const (
	manyCompletions = 100_000
	fewParallel     = 10_000
)

// jobPolicies checks the policies by which a job fails and succeeds.
func (c *causes) jobPolicies(spec document.Value) {
	indexed := spec.Get("completionMode").Equals("Indexed")
	if indexed && number(spec.Get("completions")) > manyCompletions && isSet(spec.Get("backoffLimitPerIndex")) {
		c.manyCompletions(spec)
	}
	for _, rule := range spec.At("podFailurePolicy", "rules").Elements() {
		c.podFailureRule(rule, spec.At("template", "spec"))
	}
	restart := spec.At("template", "spec", "restartPolicy")
	if isSet(spec.Get("podFailurePolicy")) && restart.Equals("OnFailure") {
		c.Invalid(restart, `only "Never" is supported when podFailurePolicy is specified`)
	}
	if indexed {
		for _, rule := range spec.At("successPolicy", "rules").Elements() {
			c.successRule(rule, number(spec.Get("completions")))
		}
	}
}

// manyCompletions checks the limits of a job with many indexes of which each may fail by itself.
func (c *causes) manyCompletions(spec document.Value) {
	failed, parallel := spec.Get("maxFailedIndexes"), spec.Get("parallelism")
	if !isSet(failed) {
		c.Required(member(spec, "maxFailedIndexes"), fmt.Sprintf("must be specified when completions is above %d", manyCompletions))
	}
	const limit = "must be less than or equal to %d when completions are above %d and used with backoff limit per index"
	for _, v := range [...]document.Value{parallel, failed} {
		if number(v) > fewParallel {
			c.Invalid(v, fmt.Sprintf(limit, fewParallel, manyCompletions))
		}
	}
}

// podFailureRule checks a rule about the failure of a pod. pod is the specification of the pod.
func (c *causes) podFailureRule(rule, pod document.Value) {
	codes, conditions := rule.Get("onExitCodes"), rule.Get("onPodConditions")
	if isSet(codes) {
		c.exitCodes(codes, pod)
	}
	switch {
	case isSet(codes) && conditions.Len() > 0:
		c.InvalidAt(rule.Path(), document.Value{}, "specifying both OnExitCodes and OnPodConditions is not supported")
	case !isSet(codes) && conditions.Len() == 0:
		c.InvalidAt(rule.Path(), document.Value{}, "specifying one of OnExitCodes and OnPodConditions is required")
	}
}

// exitCodes checks the codes with which a container ends.
func (c *causes) exitCodes(codes, pod document.Value) {
	if name := codes.Get("containerName"); isSet(name) && !pod.Get("containers").ElementBy("name", name.Text()).Exists() &&
		!pod.Get("initContainers").ElementBy("name", name.Text()).Exists() {
		c.Invalid(name, "must be one of the container or initContainer names in the pod template")
	}
	values := codes.Get("values")
	var sorted []int64
	for _, v := range values.Elements() {
		if codes.Get("operator").Equals("In") && number(v) == 0 {
			c.Invalid(v, "must not be 0 for the In operator")
		}
		sorted = append(sorted, number(v))
	}
	if !slices.IsSorted(sorted) {
		c.Invalid(values, "must be ordered")
	}
}

// successRule checks a rule by which a job of some number of completions succeeds.
func (c *causes) successRule(rule document.Value, completions int64) {
	indexes, count := rule.Get("succeededIndexes"), rule.Get("succeededCount")
	var total int64
	if isSet(indexes) {
		var err error
		if total, err = countIndexes(indexes.Text(), completions); err != nil {
			c.Invalid(indexes, "error parsing succeededIndexes: "+err.Error())
		}
	}
	if !isSet(count) {
		return
	}
	if number(count) > completions {
		c.Invalid(count, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions))
	}
	if isSet(indexes) && number(count) > total {
		c.Invalid(count, fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))
	}
}

// interval is a range of indexes, both ends inside.
type interval struct{ first, last int64 }

// countIndexes counts the indexes of a text like "1,3-5". The error names its mistake.
func countIndexes(text string, completions int64) (total int64, err error) {
	if text == "" {
		return 0, nil
	}
	before := int64(-1)
	for i, part := range strings.Split(text, ",") {
		in, err := readInterval(part, completions)
		if err != nil {
			return 0, err
		}
		if i > 0 && before >= in.first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", before, in.first)
		}
		total += in.last - in.first + 1
		before = in.last
	}
	return total, nil
}

// readInterval reads an index, or two with a dash between.
func readInterval(text string, completions int64) (interval, error) {
	parts := strings.Split(text, "-")
	if len(parts) > 2 {
		return interval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	var ends [2]int64
	for i, part := range parts {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return interval{}, fmt.Errorf("cannot convert string to integer for index: %q", part)
		}
		if n >= completions {
			return interval{}, fmt.Errorf("too large index: %q", part)
		}
		ends[i] = n
	}
	if len(parts) == 1 {
		return interval{ends[0], ends[0]}, nil
	}
	if ends[0] >= ends[1] {
		return interval{}, fmt.Errorf("non-increasing order, previous: %d, current: %d", ends[0], ends[1])
	}
	return interval{ends[0], ends[1]}, nil
}

// sharedIndex is the first index that is in two texts of indexes. Parts that cannot be read count as none.
func sharedIndex(one, other string, completions int64) (index int64, found bool) {
	for _, a := range strings.Split(one, ",") {
		x, err := readInterval(a, completions)
		if err != nil {
			continue
		}
		for _, b := range strings.Split(other, ",") {
			if y, err := readInterval(b, completions); err == nil && x.first <= y.last && y.first <= x.last {
				return max(x.first, y.first), true
			}
		}
	}
	return 0, false
}
