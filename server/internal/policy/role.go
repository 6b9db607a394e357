package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateRole checks the rules of a role, which can be about resources only.
func (Policy) ValidateRole(obj, _ document.Value) []schema.Cause {
	var c causes
	c.policyRules(obj.Get("rules"), true)
	return c
}

// ValidateClusterRole checks the rules of a cluster role, and from which others
// it takes rules.
func (Policy) ValidateClusterRole(obj, _ document.Value) []schema.Cause {
	var c causes
	c.policyRules(obj.Get("rules"), false)
	if aggregation := obj.Get("aggregationRule"); isSet(aggregation) {
		selectors := aggregation.Get("clusterRoleSelectors")
		if selectors.Len() == 0 {
			c.required(member(aggregation, "clusterRoleSelectors"), "at least one clusterRoleSelector required if aggregationRule is non-nil")
		}
		for _, s := range selectors.Elements() {
			if !canSelect(s) {
				c.invalid(s, "invalid label selector.")
			}
		}
	}
	return c
}

func (c *causes) policyRules(rules document.Value, namespaced bool) {
	for _, rule := range rules.Elements() {
		if rule.Get("verbs").Len() == 0 {
			c.required(member(rule, "verbs"), "verbs must contain at least one value")
		}
		if urls := rule.Get("nonResourceURLs"); urls.Len() > 0 {
			if namespaced {
				c.invalid(urls, "namespaced rules cannot apply to non-resource URLs")
			}
			if rule.Get("apiGroups").Len()+rule.Get("resources").Len()+rule.Get("resourceNames").Len() > 0 {
				c.invalid(urls, "rules cannot apply to both regular resources and non-resource URLs")
			}
			continue
		}
		if rule.Get("apiGroups").Len() == 0 {
			c.required(member(rule, "apiGroups"), "resource rules must supply at least one api group")
		}
		if rule.Get("resources").Len() == 0 {
			c.required(member(rule, "resources"), "resource rules must supply at least one resource")
		}
	}
}
