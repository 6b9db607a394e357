package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
)

// DefaultCustomResourceDefinition notes the storage version where none is noted.
func (Policy) DefaultCustomResourceDefinition(obj document.Value) {
	if obj.At("status", "storedVersions").Len() == 0 {
		definitions.NoteStoredVersion(obj)
	}
}

// DefaultCustomResourceDefinitionSpec derives names from the kind.
func (Policy) DefaultCustomResourceDefinitionSpec(spec document.Value) {
	names := spec.Get("names")
	if kind := names.Get("kind").Text(); kind != "" {
		defaultString(names, "singular", strings.ToLower(kind))
		defaultString(names, "listKind", kind+"List")
	}
}

// CreateCustomResourceDefinition notes the storage version.
func (Policy) CreateCustomResourceDefinition(obj document.Value) { definitions.NoteStoredVersion(obj) }

// UpdateCustomResourceDefinition notes a new storage version.
func (Policy) UpdateCustomResourceDefinition(obj, _ document.Value) {
	definitions.NoteStoredVersion(obj)
}

// ValidateCustomResourceDefinition checks a definition.
func (p Policy) ValidateCustomResourceDefinition(obj, old document.Value) []schema.Cause {
	return definitions.Validate(obj, old, conversionWebhook, p.expressions)
}

// conversionWebhook checks the webhook of a conversion. Unknown versions of reviews are
// accepted if the webhook had only such before.
func conversionWebhook(hook, before document.Value) []schema.Cause {
	var c, found causes
	if !isSet(hook.Get("clientConfig")) {
		c.Required(definitions.ClientPath, "required when strategy is set to Webhook")
	} else {
		found.webhookClient(hook, "clientConfig")
		if port := hook.At("clientConfig", "service", "port"); isSet(port) && (number(port) < 1 || number(port) > 65535) {
			found.Invalid(port, "port is not valid: must be between 1 and 65535, inclusive")
		}
	}
	versions, known := hook.Get("conversionReviewVersions"), before.Get("conversionReviewVersions")
	if versions.Len() == 0 {
		c.Required(definitions.ReviewsPath, "")
	}
	found.reviewVersions(versions, known.Len() == 0 || knownReview(known))
	for _, cause := range found.Causes {
		cause.Field = strings.Replace(cause.Field, "spec.conversion.webhook.clientConfig", definitions.ClientPath, 1)
		cause.Field = strings.Replace(cause.Field, "spec.conversion.webhook.conversionReviewVersions", definitions.ReviewsPath, 1)
		c.Causes = append(c.Causes, cause)
	}
	return c.Causes
}
