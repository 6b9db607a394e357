package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// podQuotas are the resources that quotas of pods in a scope can count. In the scope
// BestEffort it is their number only.
var podQuotas = []string{"pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}

// quotaScopes are the names of the scopes.
var quotaScopes = []string{"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", claimScope}

// claimScope is the scope of claims for volumes; the others are scopes of pods.
const claimScope = "VolumeAttributesClass"

// claimQuotas are the resources that quotas of claims in a scope can count.
var claimQuotas = []string{"persistentvolumeclaims", "requests.storage"}

// ValidateResourceQuota checks that a quota counts known resources in known scopes.
func (Policy) ValidateResourceQuota(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	c.quotaAmounts(spec.Get("hard"))
	c.quotaScopes(spec)
	if old.Exists() {
		now, before := scopeSet(spec), scopeSet(old.Get("spec"))
		if !maps.Equal(now, before) {
			c.InvalidAt("spec.scopes", spec.Get("scopes"), "field is immutable")
		}
	}
	c.scopeSelector(spec)
	for _, name := range [...]string{"hard", "used"} {
		c.quotaAmounts(obj.At("status", name))
	}
	return c.Causes
}

func scopeSet(spec document.Value) document.Texts {
	var set document.Texts
	for _, scope := range spec.Get("scopes").Elements() {
		set.Add(scope.Text())
	}
	return set
}

func (c *causes) quotaAmounts(amounts document.Value) {
	for name, v := range amounts.Members() {
		field := key(amounts, name)
		c.resourceName(field, name)
		if !strings.Contains(name, "/") && !isQuotaResource(name) {
			c.InvalidText(field, name, "must be a standard resource for quota")
		}
		c.resourceAmount(field, name, v)
	}
}

// quotaScopes checks the scopes, which are all reported at the list.
func (c *causes) quotaScopes(spec document.Value) {
	scopes := spec.Get("scopes")
	var seen document.Texts
	for _, scope := range scopes.Elements() {
		first := seen.Add(scope.Text())
		if !slices.Contains(quotaScopes, scope.Text()) {
			c.Invalid(scopes, "unsupported scope")
		} else if first {
			c.countsInScope(scopes.Path(), spec, scope.Text())
		}
	}
	if conflicting(seen) {
		c.Invalid(scopes, "conflicting scopes")
	}
}

// countsInScope checks that all standard amounts can be counted in a scope. Each scope is
// checked once, so that the work does not grow with the product of both lists.
func (c *causes) countsInScope(field string, spec document.Value, scope string) {
	counted := podQuotas
	if scope == claimScope {
		counted = claimQuotas
	}
	for name := range spec.Get("hard").Members() {
		if isQuotaResource(name) && (!slices.Contains(counted, name) || scope == "BestEffort" && name != "pods") {
			c.InvalidAt(field, spec.Get("scopes"), "unsupported scope applied to resource")
		}
	}
}

func conflicting(scopes document.Texts) bool {
	return scopes.Has("BestEffort") && scopes.Has("NotBestEffort") || scopes.Has("Terminating") && scopes.Has("NotTerminating")
}

// scopeSelector checks the scopes of the requirements.
func (c *causes) scopeSelector(spec document.Value) {
	expressions := spec.At("scopeSelector", "matchExpressions")
	var seen document.Texts
	before := len(c.Causes)
	for _, e := range expressions.Elements() {
		if scope := e.Get("scopeName").Text(); seen.Add(scope) && slices.Contains(quotaScopes, scope) {
			c.countsInScope(expressions.Path(), spec, scope)
		}
	}
	c.PlaceAt(before, member(expressions, "scopeName"))
	if conflicting(seen) {
		c.Invalid(expressions, "conflicting scopes")
	}
}
