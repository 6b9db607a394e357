package webhooks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/patch"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Admit implements admission.Mutator: it lets the mutating webhooks that match a write
// change its object, one after the other.
func (w *Webhooks) Admit(ctx context.Context, r *admission.Request) (changed bool, again func(context.Context) error, err error) {
	hooks := w.mutating.hooks(w.cfg.Matcher, r.Operation, r.Resource, r.Subresource)
	if len(hooks) == 0 || exempt(r) {
		return false, nil, nil
	}
	m := &mutation{w: w, r: r, subject: w.cfg.Matcher.Subject(r), hooks: hooks}
	err = m.round(ctx, false)
	return m.rounds.Changed, m.rounds.Again(r, err, func(ctx context.Context) error { return m.round(ctx, true) }), err
}

// mutation is the calls of mutating webhooks for one write.
type mutation struct {
	w       *Webhooks
	r       *admission.Request
	subject *matching.Subject
	hooks   []*hook
	rounds  matching.Rounds[*hook]
}

// round calls the webhooks that match the object as it is by then; in the second round
// those that are due.
func (m *mutation) round(ctx context.Context, second bool) error {
	number := 0
	if second {
		number = 1
	}
	m.subject.Changed() // maybe by other plug-ins
	for i, h := range m.hooks {
		in, err := m.w.match(ctx, h, m.subject)
		if err != nil {
			return err
		}
		if in == nil || second && !m.rounds.Due(h) {
			continue
		}
		changed, err := m.call(ctx, &call{hook: h, in: in, round: number, index: i})
		if err != nil {
			return err
		}
		if m.rounds.Ran(h, changed, h.again); changed {
			m.subject.Changed()
		}
	}
	return nil
}

// call asks one webhook, and reports whether it changed the object.
func (m *mutation) call(ctx context.Context, c *call) (changed bool, err error) {
	ctx = c.trace(ctx, m.r)
	defer func() { c.span.End() }()
	c.prepare(ctx, m.r)
	a, err := m.w.decide(ctx, c, m.r)
	c.annotate(m.r, a)
	defer func() { c.annotateMutation(m.r, a, changed) }()
	for _, text := range a.Warnings {
		m.r.By.Warn(text)
	}
	if err != nil {
		return false, err
	}
	if changed, err = m.w.change(ctx, c, m.r, a); err != nil {
		m.w.cfg.Metrics.Called(metrics.WebhookCall{Name: c.hook.name, Operation: matching.Words[m.r.Operation], Mutating: true,
			Rejected: true, Problem: internalError})
	}
	return changed, err
}

// change applies the patch of an answer to the object of the write, and reports whether
// that changed it.
func (w *Webhooks) change(ctx context.Context, c *call, r *admission.Request, a *answer) (bool, error) {
	if len(a.Patch) == 0 {
		return false, nil
	}
	var operations []json.RawMessage
	switch err := json.Unmarshal(a.Patch, &operations); {
	case err != nil:
		return false, api.Internal(err.Error())
	case len(operations) == 0:
		return false, nil
	case !r.Object.Exists():
		return false, api.Internal(fmt.Sprintf("admission webhook %q attempted to modify the object, which is not supported for this operation", c.hook.name))
	}
	text, err := patch.Admitted(c.asks.Object, a.Patch, document.Limits{MaxBytes: w.cfg.MaxBytes})
	if err != nil {
		return false, api.Internal(err.Error())
	}
	changed, err := matching.Change(ctx, r, c.in, text, w.cfg.MaxBytes)
	if c.patched = err == nil; c.patched {
		c.span.Event("Patch applied")
	}
	return changed, err
}
