package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// leastWebhookName is the least number of parts in the name of a webhook.
const leastWebhookName = 3

// ValidateMutatingWebhookConfiguration checks the webhooks.
func (Policy) ValidateMutatingWebhookConfiguration(obj, old document.Value) []schema.Cause {
	return webhookConfiguration(obj, old)
}

// ValidateValidatingWebhookConfiguration checks the webhooks.
func (Policy) ValidateValidatingWebhookConfiguration(obj, old document.Value) []schema.Cause {
	return webhookConfiguration(obj, old)
}

func webhookConfiguration(obj, old document.Value) []schema.Cause {
	var c causes
	hooks, before := obj.Get("webhooks"), old.Get("webhooks")
	// Values accepted by another release stay acceptable.
	strict := !old.Exists() || knownReviews(before)
	unique := !old.Exists() || uniqueNames(before)
	var seen names
	for _, hook := range hooks.Elements() {
		name := hook.Get("name")
		if !isEmpty(name) {
			c.qualifiedDomain(name)
		}
		if before := len(c); name.Text() != "" && !seen.add(name.Text()) && unique {
			c.duplicate(name)
			c.tellAt(before, hook.Path())
		}
		c.reviewVersions(hook.Get("admissionReviewVersions"), strict)
		for _, rule := range hook.Get("rules").Elements() {
			c.webhookRule(rule)
		}
		c.webhookClient(hook, "clientConfig")
	}
	return c
}

func uniqueNames(hooks document.Value) bool {
	var seen names
	for _, hook := range hooks.Elements() {
		if !seen.add(hook.Get("name").Text()) {
			return false
		}
	}
	return true
}

// knownReviews reports whether all webhooks accept a known version of reviews.
func knownReviews(hooks document.Value) bool {
	for _, hook := range hooks.Elements() {
		if !knownReview(hook.Get("admissionReviewVersions")) {
			return false
		}
	}
	return true
}

func knownReview(versions document.Value) bool {
	return versions.HasText("v1") || versions.HasText("v1beta1")
}

func (c *causes) qualifiedDomain(v document.Value) {
	if problems := document.CheckFormat("dns1123-subdomain", v.Text()); len(problems) > 0 {
		c.format(v, "dns1123-subdomain")
	} else if strings.Count(v.Text(), ".") < leastWebhookName-1 {
		c.invalid(v, "should be a domain with at least three segments separated by dots")
	}
}

// reviewVersions checks the versions of reviews that a webhook accepts; the schema
// requires one.
func (c *causes) reviewVersions(versions document.Value, strict bool) {
	var seen names
	for _, v := range versions.Elements() {
		if !seen.add(v.Text()) {
			c.invalid(v, "duplicate version")
			continue
		}
		c.format(v, "dns1035-label")
	}
	if strict && versions.Len() > 0 && !knownReview(versions) {
		c.invalid(versions, "must include at least one of v1, v1beta1")
	}
}

func (c *causes) webhookRule(rule document.Value) {
	for _, list := range [...]struct{ name, what string }{{"operations", "operations"}, {"apiGroups", "API groups"}, {"apiVersions", "API versions"}} {
		c.loneWildcard(rule.Get(list.name), list.what)
	}
	for _, v := range rule.Get("apiVersions").Elements() {
		if v.Equals("") {
			c.required(v.Path(), "")
		}
	}
	c.webhookResources(rule)
}

// webhookResources checks names of resources, none of which may be covered twice: by
// itself and by a wildcard.
func (c *causes) webhookResources(rule document.Value) {
	list := rule.Get("resources")
	var allOf, ofAll names // x of x/*, x of */x
	all, everything, plain := false, false, false
	for _, v := range list.Elements() {
		text := v.Text()
		if text == "" {
			c.required(v.Path(), "")
			continue
		}
		resource, sub, found := strings.Cut(text, "/")
		everything = everything || text == "*/*"
		all = all || text == "*"
		if !found {
			plain = plain || text != "*"
			continue
		}
		if allOf.has(resource) {
			c.invalid(v, "if '"+resource+"/*' is present, must not specify "+text)
		}
		if ofAll.has(sub) {
			c.invalid(v, "if '*/"+sub+"' is present, must not specify "+text)
		}
		if sub == "*" {
			allOf.add(resource)
		}
		if resource == "*" {
			ofAll.add(sub)
		}
	}
	if everything && list.Len() > 1 {
		c.invalid(list, "if '*/*' is present, must not specify other resources")
	}
	if all && plain {
		c.invalid(list, "if '*' is present, must not specify other resources without subresources")
	}
}
