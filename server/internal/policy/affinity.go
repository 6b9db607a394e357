package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidatePodAffinityTerm checks the topology that a term is about.
func (Policy) ValidatePodAffinityTerm(term document.Value) []schema.Cause {
	var c causes
	if isEmpty(term.Get("topologyKey")) {
		c.formatText(member(term, "topologyKey"), "", "qualified-name") // the schema says that it is required
	}
	return c
}

// nodeOperators are the operators of requirements on nodes.
var nodeOperators = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}

// ValidateNodeSelectorTerm checks the requirements on nodes.
func (Policy) ValidateNodeSelectorTerm(term document.Value) []schema.Cause {
	var c causes
	for _, e := range term.Get("matchExpressions").Elements() {
		if operator := e.Get("operator"); !slices.Contains(nodeOperators, operator.Text()) {
			c.invalidAt(member(e, "operator"), operator, "not a valid selector operator")
		}
		c.operatorValues(e)
		c.formatText(member(e, "key"), e.Get("key").Text(), "qualified-name")
	}
	for _, e := range term.Get("matchFields").Elements() {
		c.fieldRequirement(e)
	}
	return c
}

// operatorValues checks that a requirement has as many values as its operator
// works with.
func (c *causes) operatorValues(e document.Value) {
	values := e.Get("values")
	count := values.Len()
	switch e.Get("operator").Text() {
	case "In", "NotIn":
		if count == 0 {
			c.required(member(e, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case "Exists", "DoesNotExist":
		if count > 0 {
			c.forbidden(values.Path(), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case "Gt", "Lt":
		if count != 1 {
			c.required(member(e, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	}
}

// fieldRequirement checks a requirement on a field of a node: its name is the
// only one.
func (c *causes) fieldRequirement(e document.Value) {
	operator, values, name := e.Get("operator"), e.Get("values"), e.Get("key")
	switch operator.Text() {
	case "In", "NotIn":
		if values.Len() != 1 {
			c.required(member(e, "values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
		}
	default:
		c.invalidAt(member(e, "operator"), operator, "not a valid selector operator")
	}
	if !name.Equals("metadata.name") {
		c.invalidAt(member(e, "key"), name, "not a valid field selector key")
		return
	}
	for _, v := range values.Elements() {
		c.format(v, "dns1123-subdomain")
	}
}

// tolerations checks which taints a pod bears.
func (c *causes) tolerations(list document.Value) {
	for _, t := range list.Elements() {
		operator, value, effect := t.Get("operator"), t.Get("value"), t.Get("effect")
		if isEmpty(t.Get("key")) && !operator.Equals("Exists") {
			c.invalidAt(member(t, "operator"), operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if isSet(t.Get("tolerationSeconds")) && !effect.Equals("NoExecute") {
			c.invalidAt(member(t, "effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		switch operator.Text() {
		case "", "Equal":
			if problems := document.CheckFormat("label-value", value.Text()); len(problems) > 0 {
				c.invalidAt(member(t, "operator"), value, strings.Join(problems, "; "))
			}
		case "Exists":
			if value.Text() != "" {
				c.invalid(operator, "value must be empty when `operator` is 'Exists'")
			}
		}
	}
}

// spreadConstraints checks how pods are spread over a topology.
func (c *causes) spreadConstraints(list document.Value) {
	if list.Len() == 0 {
		return
	}
	left := map[string]int{}
	for _, constraint := range list.Elements() {
		left[spreadPair(constraint)]++
	}
	for _, constraint := range list.Elements() {
		pair := spreadPair(constraint)
		if left[pair]--; left[pair] > 0 { // all but the last are told
			c.add(schema.CauseDuplicate, member(constraint, "{topologyKey, whenUnsatisfiable}"), "Duplicate value: "+strconv.Quote(pair))
		}
		domains := constraint.Get("minDomains")
		if !isSet(domains) {
			continue
		}
		if number(domains) <= 0 {
			c.invalid(domains, "must be greater than 0")
		}
		if !constraint.Get("whenUnsatisfiable").Equals("DoNotSchedule") {
			c.invalid(domains, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "+constraint.Get("whenUnsatisfiable").Text())
		}
	}
}

// spreadPair is what a constraint has alone among those of its pod.
func spreadPair(constraint document.Value) string {
	return constraint.Get("topologyKey").Text() + ", " + constraint.Get("whenUnsatisfiable").Text()
}
