package admissionwebhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/patch"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/matching"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Admit lets the mutating webhooks that match a write change its object, one after the
// other. again, if it is not nil, is to be called after the other plug-ins have seen the
// changed object: it calls webhooks a second time that want to see later changes.
func (w *Webhooks) Admit(ctx context.Context, r *admission.Request) (again func(context.Context) error, err error) {
	hooks := w.mutating.hooks()
	if len(hooks) == 0 || exempt(r) {
		return nil, nil
	}
	m := &mutation{w: w, r: r, hooks: hooks, called: map[*hook]bool{}, due: map[*hook]bool{}}
	if err := m.round(ctx, false); err != nil || !m.changed {
		return nil, err
	}
	left := r.Object.AppendJSON(nil)
	return func(ctx context.Context) error {
		if !bytes.Equal(left, r.Object.AppendJSON(nil)) {
			m.require()
		}
		return m.round(ctx, true)
	}, nil
}

// mutation is the calls of mutating webhooks for one write.
type mutation struct {
	w       *Webhooks
	r       *admission.Request
	hooks   []*hook
	called  map[*hook]bool // that want to see later changes
	due     map[*hook]bool // those of them that have to: an object was changed after their call
	changed bool
}

// require makes all webhooks due that were called and want to see later changes.
func (m *mutation) require() {
	for h := range m.called {
		m.due[h] = true
	}
	clear(m.called)
}

// round calls the webhooks that match the object as it is by then; in the second round
// those that are due.
func (m *mutation) round(ctx context.Context, second bool) error {
	number := 0
	if second {
		number = 1
	}
	for i, h := range m.hooks {
		in, err := m.w.match(ctx, h, m.r)
		if err != nil {
			return err
		}
		if in == nil || second && !m.due[h] {
			continue
		}
		changed, err := m.call(ctx, &call{hook: h, in: in, round: number, index: i})
		if err != nil {
			return err
		}
		if changed {
			m.changed = true
			m.require()
		}
		if h.again {
			m.called[h] = true
		}
	}
	return nil
}

// call asks one webhook, and reports whether it changed the object.
func (m *mutation) call(ctx context.Context, c *call) (changed bool, err error) {
	unprepared(m.r)
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
		m.w.cfg.Metrics.Called(metrics.WebhookCall{Name: c.hook.name, Operation: matching.Words[m.r.Operation], Mutating: true, Rejected: true, Problem: internalError})
	}
	return changed, err
}

// unprepared takes from a new object the members that the server has filled in already,
// as webhooks see it in 1.25 and may choose its name. The evaluation fills them in again.
func unprepared(r *admission.Request) {
	if r.Reviewed = true; r.Operation != admission.Create || r.OtherKind {
		return
	}
	meta := r.Object.Get("metadata")
	meta.Remove("uid")
	meta.Remove("creationTimestamp")
	if r.Name == "" {
		meta.Remove("name")
	}
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
	text, err := patch.JSON(c.asks.Object, a.Patch, document.Limits{MaxBytes: w.cfg.MaxBytes})
	if err != nil {
		return false, api.Internal(err.Error())
	}
	doc, err := w.decode(ctx, r, c.in, text)
	if err != nil {
		return false, err
	}
	defer doc.Release()
	c.patched = true
	before := r.Object.AppendJSON(nil)
	replace(r.Object, doc.Root())
	return !bytes.Equal(before, r.Object.AppendJSON(nil)), nil
}

// decode reads a changed object, with defaults and without unknown fields, and turns it
// into the version of the write's objects.
func (w *Webhooks) decode(ctx context.Context, r *admission.Request, in *api.Resource, text []byte) (*document.Document, error) {
	table, typ, defaults := in.GV.Types(), in.Type, in.GV.Defaults
	if sub := in.Subresource(r.Subresource); r.OtherKind && sub != nil && sub.Table != nil {
		table, typ, defaults = sub.Table, sub.Type, nil
	}
	decoder := document.Decoder{Table: table, Defaults: defaults, Limits: document.Limits{MaxBytes: w.cfg.MaxBytes}}
	doc, _, err := decoder.Decode(typ, text)
	if err != nil {
		return nil, api.Internal(err.Error())
	}
	to := r.Resource
	if r.OtherKind || to.GV.APIVersion() == in.GV.APIVersion() {
		return doc, nil
	}
	defer doc.Release()
	turned, err := convert.Between(ctx, in, to, doc.Root())
	if err != nil {
		return nil, err
	}
	defer turned.Release()
	decoder = document.Decoder{Table: to.GV.Types(), Defaults: to.GV.Defaults, Limits: decoder.Limits}
	doc, _, err = decoder.Decode(to.Type, turned.Root().AppendJSON(nil))
	return doc, err
}

// replace gives an object the members of another one of its type.
func replace(obj, now document.Value) {
	var gone []string
	for name := range obj.Members() {
		if !now.Get(name).Exists() {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		obj.Remove(name)
	}
	for name, v := range now.Members() {
		obj.Put(name, v)
	}
}
