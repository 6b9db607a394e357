package webhooks

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
)

// The audit annotations of webhooks: the beginnings of their keys.
const (
	mutationNote   = "mutation.webhook.admission." + profile.GroupSuffix + "/"
	patchNote      = "patch.webhook.admission." + profile.GroupSuffix + "/"
	validatingNote = "validating.webhook.admission." + profile.GroupSuffix + "/"
	openNote       = "failed-open."
)

// key is the key of an annotation about the call.
func (c *call) key(kind string) string {
	return fmt.Sprintf("%sround_%d_index_%d", kind, c.round, c.index)
}

// trace begins the span of the call, in requests with one.
func (c *call) trace(ctx context.Context, r *admission.Request) context.Context {
	name := "Call validating webhook"
	if c.hook.mutating {
		name = "Call mutating webhook"
	}
	if ctx, c.span = tracing.Start(ctx, name); c.span != nil {
		c.span.Text("configuration", c.hook.configuration)
		c.span.Text("webhook", c.hook.name)
		c.span.Text("resource", c.in.GV.Group+"/"+c.in.GV.Version+", Resource="+c.in.Plural)
		c.span.Text("subresource", r.Subresource)
		c.span.Text("operation", matching.Words[r.Operation])
		if c.asks != nil {
			c.span.Text("UID", c.asks.UID)
		}
	}
	return ctx
}

// annotateMutation notes in the audit events whether a webhook changed the object, and
// its patch where bodies are shown.
func (c *call) annotateMutation(r *admission.Request, a *answer, changed bool) {
	if !r.Audited(false) {
		return
	}
	note := struct {
		Configuration string          `json:"configuration"`
		Webhook       string          `json:"webhook"`
		Mutated       *bool           `json:"mutated,omitempty"`
		Patch         json.RawMessage `json:"patch,omitempty"`
		PatchType     string          `json:"patchType,omitempty"`
	}{Configuration: c.hook.configuration, Webhook: c.hook.name, Mutated: &changed}
	text, _ := json.Marshal(note) // texts only
	r.Annotate(c.key(mutationNote), string(text))
	if !c.patched || !r.Audited(true) {
		return
	}
	note.Mutated, note.Patch, note.PatchType = nil, a.Patch, "JSONPatch"
	if text, err := json.Marshal(note); err == nil {
		r.Annotate(c.key(patchNote), string(text))
	}
}

// annotate adds the audit annotations of an answer, with the webhook's name before their
// keys, and that the webhook failed while the write went on.
func (c *call) annotate(r *admission.Request, a *answer) {
	if !r.Audited(false) {
		return
	}
	if c.failedOpen {
		kind := validatingNote
		if c.hook.mutating {
			kind = mutationNote
		}
		r.Annotate(c.key(openNote+kind), c.hook.name)
	}
	for key, value := range a.AuditAnnotations {
		if key = c.hook.name + "/" + key; len(validation.IsQualifiedName(key)) == 0 {
			r.Annotate(key, value)
		}
	}
}
