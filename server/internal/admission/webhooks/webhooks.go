// Package webhooks asks the admission webhooks of the cluster about writes.
package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/internal/webhook"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Config holds the dependencies of the webhooks.
type Config struct {
	Store    store.Store
	Matcher  *matching.Matcher
	Services webhook.Resolver
	Log      *slog.Logger
	Metrics  metrics.Webhooks
	MaxBytes int // of a changed object
	// Mutating and Validating are the credentials for webhooks; nil for none.
	Mutating, Validating *webhook.Logins
}

// Group has the configurations.
const Group = "admissionregistration." + profile.GroupSuffix

// Webhooks are the webhooks of the cluster, as new as the last acknowledged write of a
// configuration. They implement admission.Reviewer.
type Webhooks struct {
	cfg                  Config
	mutating, validating *follower
}

// Open reads the configurations, and follows them until Close.
func Open(ctx context.Context, cfg Config) (*Webhooks, error) {
	w := &Webhooks{cfg: cfg}
	var err error
	if w.mutating, err = follow(ctx, &cfg, "mutatingwebhookconfigurations", cfg.Mutating, true); err != nil {
		return nil, err
	}
	if w.validating, err = follow(ctx, &cfg, "validatingwebhookconfigurations", cfg.Validating, false); err != nil {
		w.mutating.close()
		return nil, err
	}
	return w, nil
}

// Close ends following, and closes the connections.
func (w *Webhooks) Close() {
	w.mutating.close()
	w.validating.close()
}

// follower follows the configurations of one type.
type follower struct {
	all   *live.Collection[*configuration]
	index live.Index[*configuration, *matching.Choices[*hook]] // in the order of their configurations' names
}

func follow(ctx context.Context, cfg *Config, plural string, logins *webhook.Logins, mutating bool) (*follower, error) {
	row := cfg.Matcher.Catalog.Snapshot().Stored(Group, plural)
	if row == nil {
		return nil, fmt.Errorf("the catalog has no %s: regenerate from documents that do", plural)
	}
	all, err := live.Open(ctx, live.Config[*configuration]{Store: cfg.Store, Prefixes: []string{row.Prefix("")},
		Decode: live.Read(row, read(cfg.Services, logins, mutating)), Logger: cfg.Log})
	if err != nil {
		return nil, err
	}
	byName := map[string]*configuration{} // the fold has no view of its own
	f := &follower{all: all}
	f.index = live.Derive(all, func(_ *matching.Choices[*hook], changes []live.Change[*configuration]) *matching.Choices[*hook] {
		for _, c := range changes {
			if c.Before != nil {
				c.Before.close()
			}
			if delete(byName, c.Key); c.After != nil {
				byName[c.Key] = c.After
			}
		}
		var hooks []*hook
		for _, key := range slices.Sorted(maps.Keys(byName)) {
			hooks = append(hooks, byName[key].hooks...)
		}
		return matching.NewChoices(hooks, func(h *hook) *matching.Constraints { return &h.constraints })
	})
	return f, nil
}

// hooks are the webhooks that may be for such a write.
func (f *follower) hooks(m *matching.Matcher, o admission.Operation, resource *api.Resource, subresource string) []*hook {
	return f.index.Of(f.all.View()).For(m, o, resource, subresource)
}

func (f *follower) close() {
	f.all.Close()
	for _, c := range f.all.View().Under("") {
		c.close()
	}
}

// exempt reports whether no webhook reviews a write: those of the server itself, and of
// the webhooks' configurations.
func exempt(r *admission.Request) bool { return r.User == nil || r.Resource.GV.Group == Group }

// Waits reports whether a webhook may be asked about such a write.
func (w *Webhooks) Waits(o admission.Operation, resource *api.Resource, subresource string) bool {
	may := func(f *follower) bool { return len(f.hooks(w.cfg.Matcher, o, resource, subresource)) > 0 }
	return resource.GV.Group != Group && (may(w.mutating) || may(w.validating))
}

// Check asks the validating webhooks that match a write, all at the same time. The first
// refusal, in the order of the configurations, is the answer.
func (w *Webhooks) Check(ctx context.Context, r *admission.Request) error {
	hooks := w.validating.hooks(w.cfg.Matcher, r.Operation, r.Resource, r.Subresource)
	if len(hooks) == 0 || exempt(r) {
		return nil
	}
	var calls []*call
	subject := w.cfg.Matcher.Subject(r)
	for _, h := range hooks {
		in, err := w.match(ctx, h, subject)
		if err != nil {
			return err
		}
		if in != nil {
			calls = append(calls, &call{hook: h, in: in, index: len(calls)})
		}
	}
	if len(calls) > 0 {
		showRevision(r)
	}
	for _, c := range calls {
		c.prepare(ctx, r) // one after the other: documents are not for concurrent use
	}
	results, answers := make([]error, len(calls)), make([]*answer, len(calls))
	var running sync.WaitGroup
	for i, c := range calls {
		one := func() {
			ctx := c.trace(ctx, r)
			defer c.span.End()
			answers[i], results[i] = w.decide(ctx, c, r)
		}
		if i == len(calls)-1 {
			one() // the last, mostly the only one, needs no goroutine
		} else {
			running.Go(one)
		}
	}
	running.Wait()
	for i, a := range answers {
		calls[i].annotate(r, a)
		for _, text := range a.Warnings {
			r.By.Warn(text)
		}
	}
	for _, err := range results {
		if err != nil {
			return err
		}
	}
	return nil
}

// showRevision gives an update without one the resourceVersion of the object that it
// replaces. The store gives it another one.
func showRevision(r *admission.Request) {
	meta := r.Object.Get("metadata")
	if r.Operation == admission.Update && !r.OtherKind && meta.Get("resourceVersion").Text() == "" {
		meta.SetString("resourceVersion", r.Old.At("metadata", "resourceVersion").Text())
	}
}

// match is the version in which a webhook reviews a write, nil if it does not.
func (w *Webhooks) match(ctx context.Context, h *hook, subject *matching.Subject) (*api.Resource, error) {
	in, err := subject.Match(ctx, &h.constraints)
	if err != nil || in == nil || h.conditions == nil {
		return in, err
	}
	r := subject.Request
	seen, err := matching.See(ctx, r, in)
	if err != nil {
		return nil, api.Internal(err.Error())
	}
	defer seen.Release()
	input := w.cfg.Matcher.Input(r, seen, w.cfg.Matcher.Rights(ctx, r))
	defer input.Release()
	switch matches, err := h.conditions.Match(ctx, input); {
	case err != nil && !h.ignoresFailures:
		return nil, api.Forbidden(r.Asked.GroupResource(), r.Name, err.Error())
	case !matches:
		w.cfg.Matcher.Exclude(h.conditions, r)
		return nil, nil
	}
	return in, nil
}

// call is one call of a webhook.
type call struct {
	hook *hook
	in   *api.Resource // the version that the webhook knows
	asks *matching.Question
	body []byte
	err  error // instead of a body
	span *tracing.Span

	// For the audit events.
	round, index int  // index among the mutating webhooks, or the validating ones that are asked
	failedOpen   bool // it failed, and the write goes on
	patched      bool // the answer's patch was applied
}

// prepare makes the review of a call.
func (c *call) prepare(ctx context.Context, r *admission.Request) {
	if c.hook.review == "" {
		c.err = errors.New("could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)")
		return
	}
	if c.asks, c.err = ask(ctx, r, c.in); c.err == nil {
		c.span.Text("UID", c.asks.UID)
		c.body, c.err = reviewText(c.asks, c.hook.review)
	}
}

// decide makes a prepared call, and returns the webhook's answer, an empty one if it
// failed and may be ignored, with its refusal if any. A mistake in here refuses the write,
// and does not end the process.
func (w *Webhooks) decide(ctx context.Context, c *call, r *admission.Request) (a *answer, err error) {
	h := c.hook
	seen := metrics.WebhookCall{Name: h.name, Operation: matching.Words[r.Operation], Mutating: h.mutating, Code: http.StatusOK}
	begin := time.Now()
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("asking an admission webhook panicked", "webhook", h.name, "panic", p, "trace", string(debug.Stack()))
			a, err = &answer{}, api.Internal(fmt.Sprintf("the admission webhook %q has panicked", h.name))
			seen.Code, seen.Problem = 0, internalError
		}
		seen.Took, seen.Rejected = time.Since(begin), err != nil
		w.cfg.Metrics.Called(seen)
	}()
	if r.DryRun && !h.dryRun {
		seen.Code, seen.Problem = 0, internalError
		return &answer{}, api.BadRequest("admission webhook %q does not support dry run", h.name)
	}
	a, err = c.make(ctx)
	if err != nil {
		seen.Code, seen.Problem, seen.Abandoned = failureCode(err), callError, errors.Is(err, context.Canceled)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return &answer{}, ctx.Err()
	case err != nil && h.ignoresFailures:
		w.cfg.Log.Warn("an admission webhook failed and is ignored", "webhook", h.name, "error", err)
		c.failedOpen = true
		return &answer{}, nil
	case err != nil:
		return &answer{}, api.Internal(fmt.Sprintf("failed calling webhook %q: %v", h.name, err))
	case a.Allowed:
		return a, nil
	}
	refused := a.Status.refusal(h.name)
	seen.Code = refused.Code
	return a, refused
}

// failureCode is the code of a failed call in the metrics: that of the webhook's answer,
// or one for an answer that cannot be used, or for none.
func failureCode(err error) int {
	if refused := (*webhook.RefusedError)(nil); errors.As(err, &refused) {
		return refused.Code
	}
	if wrong := (invalidAnswer{}); errors.As(err, &wrong) {
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// Kinds of failures, in the metrics.
const (
	callError     = "calling_webhook_error"
	internalError = "apiserver_internal_error"
)

// make asks the webhook. Errors: those of the call, and of an answer that cannot be used.
func (c *call) make(ctx context.Context) (*answer, error) {
	if c.err != nil {
		return nil, c.err
	}
	client, err := c.hook.connect()
	if err != nil {
		return nil, fmt.Errorf("could not get REST client: %w", err)
	}
	text, err := client.Call(ctx, webhook.Call{Body: c.body, Timeout: c.hook.timeout})
	c.span.Event("Request completed")
	if err != nil {
		return nil, fmt.Errorf("failed to call webhook: %w", err)
	}
	a, err := readAnswer(text, c.hook.review, c.asks.UID, c.hook.mutating)
	if wrong := (invalidAnswer{}); errors.As(err, &wrong) {
		return nil, fmt.Errorf("received invalid webhook response: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to call webhook: %w", err)
	}
	return a, nil
}

// mostCode is the greatest code that an answer can have.
const mostCode = 999

// refusal is the error of a webhook's refusal, with its explanation. Without a code of an
// error the request is forbidden; 1.25 calls it a bad one.
func (s *status) refusal(name string) *api.Error {
	e := &api.Error{Code: http.StatusForbidden, Reason: api.ReasonForbidden, Message: fmt.Sprintf("admission webhook %q denied the request", name)}
	if s == nil {
		e.Message += " without explanation"
		return e
	}
	if s.Code >= http.StatusBadRequest && s.Code <= mostCode {
		e.Code, e.Reason = int(s.Code), s.Reason
	}
	e.Reason = cmp.Or(s.Reason, e.Reason)
	switch {
	case s.Message != "":
		e.Message += ": " + s.Message
	case s.Reason != "":
		e.Message += ": " + string(s.Reason)
	default:
		e.Message += " without explanation"
	}
	if d := s.Details; d != nil {
		e.HasDetails, e.Name, e.Group, e.Kind, e.UID, e.RetryAfter = true, d.Name, d.Group, d.Kind, d.UID, int(d.RetryAfterSeconds)
		for _, c := range d.Causes {
			e.Causes = append(e.Causes, api.Cause{Reason: c.Reason, Message: c.Message, Field: c.Field})
		}
	}
	return e
}
