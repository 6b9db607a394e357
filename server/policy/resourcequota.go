package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// podQuotas are the resources that quotas of pods in a scope can count. In the
// scope BestEffort it is their number only.
var podQuotas = []string{"pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}

// quotaScopes are the names of what a quota can be limited to.
var quotaScopes = []string{"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"}

// ValidateResourceQuota checks that a quota counts things that can be counted,
// in scopes that exist.
func (Policy) ValidateResourceQuota(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	c.quotaAmounts(spec.Get("hard"))
	c.quotaScopes(spec)
	c.scopeSelector(spec)
	for _, name := range [...]string{"hard", "used"} {
		c.quotaAmounts(obj.At("status", name))
	}
	return c
}

func (c *causes) quotaAmounts(amounts document.Value) {
	for name, v := range amounts.Members() {
		c.resourceName(amounts, name)
		if !strings.Contains(name, "/") && !isQuotaResource(name) {
			c.invalidText(key(amounts, name), name, "must be a standard resource for quota")
		}
		c.resourceAmount(amounts, name, v)
	}
}

// quotaScopes checks the scopes, which are all reported at the list.
func (c *causes) quotaScopes(spec document.Value) {
	scopes := spec.Get("scopes")
	var seen names
	counts := countsIn(spec.Get("hard"))
	for _, scope := range scopes.Elements() {
		seen.add(scope.Text())
		if !contains(quotaScopes, scope.Text()) {
			c.invalid(scopes, "unsupported scope")
			continue
		}
		if !counts(scope.Text()) {
			c.invalid(scopes, "unsupported scope applied to resource")
		}
	}
	if conflicting(seen) {
		c.invalid(scopes, "conflicting scopes")
	}
}

// countsIn says whether all standard amounts can be counted in a scope.
func countsIn(hard document.Value) func(scope string) bool {
	ofPods, pods := true, true // nothing but amounts of pods, but their number
	for name := range hard.Members() {
		if isQuotaResource(name) {
			ofPods = ofPods && contains(podQuotas, name)
			pods = pods && name == "pods"
		}
	}
	return func(scope string) bool { return ofPods && (pods || scope != "BestEffort") }
}

func conflicting(scopes names) bool {
	return scopes.has("BestEffort") && scopes.has("NotBestEffort") || scopes.has("Terminating") && scopes.has("NotTerminating")
}

// scopeSelector checks the requirements on scopes. Their causes do not say which
// of them is wrong.
func (c *causes) scopeSelector(spec document.Value) {
	expressions := spec.At("scopeSelector", "matchExpressions")
	var seen names
	counts := countsIn(spec.Get("hard"))
	for _, e := range expressions.Elements() {
		scope, operator, values := e.Get("scopeName"), e.Get("operator"), e.Get("values")
		seen.add(scope.Text())
		if contains(quotaScopes, scope.Text()) && !counts(scope.Text()) {
			c.invalidAt(expressions.Path(), spec.Get("scopes"), "unsupported scope applied to resource")
		}
		if !scope.Equals("PriorityClass") && !operator.Equals("Exists") && operator.Text() != "" {
			c.invalidAt(member(expressions, "operator"), operator, "must be 'Exists' for scope "+scope.Text())
		}
		switch operator.Text() {
		case "In", "NotIn":
			if isEmpty(values) {
				c.required(member(expressions, "values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
			}
		case "Exists", "DoesNotExist":
			if !isEmpty(values) {
				c.invalidAt(member(expressions, "values"), values, "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector")
			}
		}
	}
	if conflicting(seen) {
		c.invalid(expressions, "conflicting scopes")
	}
}

// quotaText lists used and allowed amounts, of container limits or of all else.
func quotaText(obj document.Value, limits bool) string {
	hard, used := obj.At("status", "hard"), obj.At("status", "used")
	var text []byte
	for name, v := range hard.Members() {
		if strings.HasPrefix(name, "limits") != limits {
			continue
		}
		if len(text) > 0 {
			text = append(text, ", "...)
		}
		text = append(append(text, name...), ": "...)
		text = append(append(text, quantityText(used.Get(name))...), '/')
		text = append(text, v.Text()...)
	}
	return string(text)
}

// CellResourceQuotaRequest lists used and allowed amounts that are not limits.
func (Policy) CellResourceQuotaRequest(obj document.Value) any { return quotaText(obj, false) }

// CellResourceQuotaLimit lists used and allowed amounts of container limits.
func (Policy) CellResourceQuotaLimit(obj document.Value) any { return quotaText(obj, true) }
