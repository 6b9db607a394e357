package policy

import (
	"encoding/json"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
)

// leastWebhookName is the least number of parts in the name of a webhook.
const leastWebhookName = 3

// ValidateMutatingWebhookConfiguration checks the webhooks.
func (p Policy) ValidateMutatingWebhookConfiguration(obj, old document.Value) []schema.Cause {
	return p.webhookConfiguration(obj, old)
}

// ValidateValidatingWebhookConfiguration checks the webhooks.
func (p Policy) ValidateValidatingWebhookConfiguration(obj, old document.Value) []schema.Cause {
	return p.webhookConfiguration(obj, old)
}

// UpdateMutatingWebhookConfiguration counts empty authorities.
func (Policy) UpdateMutatingWebhookConfiguration(obj, old document.Value) {
	countEmptyAuthorities(obj, old)
}

// UpdateValidatingWebhookConfiguration counts empty authorities.
func (Policy) UpdateValidatingWebhookConfiguration(obj, old document.Value) {
	countEmptyAuthorities(obj, old)
}

// countEmptyAuthorities makes the object a new generation when empty authorities (caBundle)
// are applied to a webhook that had none, as in 1.25: empty and absent are different there. They
// are stored alike, so what tells them apart is whether a manager owns them.
func countEmptyAuthorities(obj, old document.Value) {
	for _, hook := range obj.Get("webhooks").Elements() {
		name := hook.Get("name").Text()
		if isEmpty(hook.At("clientConfig", "caBundle")) && ownsAuthorities(obj, name) && !ownsAuthorities(old, name) {
			nextGeneration(obj, old)
			return
		}
	}
}

// ownsAuthorities reports whether a manager owns the authorities of a webhook.
func ownsAuthorities(obj document.Value, webhook string) bool {
	name, err := json.Marshal(map[string]string{"name": webhook})
	if err != nil {
		return false // never: it is a text
	}
	for _, entry := range obj.At("metadata", "managedFields").Elements() {
		if entry.At("fieldsV1", "f:webhooks", "k:"+string(name), "f:clientConfig", "f:caBundle").Exists() {
			return true
		}
	}
	return false
}

func (p Policy) webhookConfiguration(obj, old document.Value) []schema.Cause {
	var c causes
	allowed := p.expressions.Since(old.Get("webhooks"))
	hooks, before := obj.Get("webhooks"), old.Get("webhooks")
	// Values accepted by another release stay acceptable.
	strict := !old.Exists() || knownReviews(before)
	unique := !old.Exists() || uniqueNames(before)
	same := hooks.Len() == before.Len()
	for i, hook := range hooks.Elements() {
		same = same && document.Equal(hook.Get("matchConditions"), before.Index(i).Get("matchConditions"))
	}
	var seen document.Texts
	for _, hook := range hooks.Elements() {
		name := hook.Get("name")
		if !isEmpty(name) {
			c.qualifiedDomain(name)
		}
		if before := len(c.Causes); name.Text() != "" && !seen.Add(name.Text()) && unique {
			c.Duplicate(name)
			c.PlaceAt(before, hook.Path())
		}
		c.reviewVersions(hook.Get("admissionReviewVersions"), strict)
		c.webhookClient(hook, "clientConfig")
		if !same {
			c.Causes = append(c.Causes, conditions.MatchConditions(hook.Get("matchConditions"), allowed)...)
		}
	}
	return c.Causes
}

func uniqueNames(hooks document.Value) bool {
	var seen document.Texts
	for _, hook := range hooks.Elements() {
		if !seen.Add(hook.Get("name").Text()) {
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
		c.Format(v, "dns1123-subdomain")
	} else if strings.Count(v.Text(), ".") < leastWebhookName-1 {
		c.Invalid(v, "should be a domain with at least three segments separated by dots")
	}
}

// reviewVersions checks the versions of reviews that a webhook accepts; the schema
// requires one.
func (c *causes) reviewVersions(versions document.Value, strict bool) {
	var seen document.Texts
	for _, v := range versions.Elements() {
		if !seen.Add(v.Text()) {
			c.Invalid(v, "duplicate version")
			continue
		}
		c.Format(v, "dns1035-label")
	}
	if strict && versions.Len() > 0 && !knownReview(versions) {
		c.Invalid(versions, "must include at least one of v1, v1beta1")
	}
}
