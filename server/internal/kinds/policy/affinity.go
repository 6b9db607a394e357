package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// spreadConstraints checks the spreading of pods over a topology.
func (p Policy) spreadConstraints(c *causes, list document.Value) {
	if list.Len() == 0 {
		return
	}
	left := map[string]int{}
	for _, constraint := range list.Elements() {
		left[spreadPair(constraint)]++
	}
	for _, constraint := range list.Elements() {
		pair := spreadPair(constraint)
		if left[pair]--; left[pair] > 0 { // all but the last are reported
			c.Add(schema.CauseDuplicate, member(constraint, "{topologyKey, whenUnsatisfiable}"), "Duplicate value: "+strconv.Quote(pair))
		}
		switch {
		case p.mergesKeys():
			c.labelKeys(constraint)
		case p.since("1.27"):
			c.unmergedKeys(constraint)
		}
		domains := constraint.Get("minDomains")
		if !isSet(domains) {
			continue
		}
		if !constraint.Get("whenUnsatisfiable").Equals("DoNotSchedule") {
			c.Invalid(domains, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "+constraint.Get("whenUnsatisfiable").Text())
		}
	}
}

// spreadPair is the part of a constraint that is unique in its pod.
func spreadPair(constraint document.Value) string {
	return constraint.Get("topologyKey").Text() + ", " + constraint.Get("whenUnsatisfiable").Text()
}
