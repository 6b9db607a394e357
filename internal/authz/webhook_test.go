package authz

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/webhook"
)

// reviewer answers calls one after the other, and repeats the last answer.
type reviewer struct {
	answers []string // "" for a broken connection, "403" and "timeout" for these
	calls   []string // bodies
}

func (r *reviewer) Call(_ context.Context, call webhook.Call) ([]byte, error) {
	r.calls = append(r.calls, string(call.Body))
	switch answer := r.answers[min(len(r.calls), len(r.answers))-1]; answer {
	case "":
		return nil, errors.New("down")
	case "403":
		return nil, &webhook.RefusedError{Code: 403, Message: "go away"}
	case "timeout":
		return nil, context.DeadlineExceeded
	default:
		return []byte(answer), nil
	}
}

func TestWebhook(t *testing.T) {
	carol := &authn.User{Name: "carol", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"team": {"red"}}}
	review := func(status string) string {
		return `{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview","status":{` + status + `}}`
	}
	for name, c := range map[string]struct {
		answers []string
		want    Decision
		reason  string
		calls   int // of two decisions
		err     string
	}{
		"allowed":           {[]string{review(`"allowed":true,"reason":"so it is"`)}, Allow, "so it is", 1, ""},
		"not allowed":       {[]string{review(`"allowed":false,"reason":"no"`)}, NoOpinion, "no", 1, ""},
		"denied":            {[]string{review(`"denied":true,"reason":"never"`)}, Deny, "never", 1, ""},
		"both":              {[]string{review(`"allowed":true,"denied":true`)}, Deny, "", 1, "both allow and deny"},
		"after failures":    {[]string{"", "", review(`"allowed":true`)}, Allow, "", 3, ""},
		"down":              {[]string{""}, NoOpinion, "", 2 * webhook.Tries, "cannot be asked: down"},
		"refused":           {[]string{"403"}, NoOpinion, "", 2, "go away"},
		"silent":            {[]string{"timeout"}, NoOpinion, "", 2, "deadline"},
		"garbage":           {[]string{"allowed"}, NoOpinion, "", 2, "is not a SubjectAccessReview"},
		"allowed as a text": {[]string{review(`"allowed":"true"`)}, NoOpinion, "", 2, "is not a SubjectAccessReview"},
		"without a status":  {[]string{strings.Replace(review(""), "status", "other", 1)}, NoOpinion, "", 1, ""},
		"another version":   {[]string{strings.Replace(review(`"allowed":true`), "v1beta1", "v1", 1)}, NoOpinion, "", 2, `of "authorization.k8s.io/v1"`},
		"another kind":      {[]string{strings.Replace(review(`"allowed":true`), "Subject", "SelfSubject", 1)}, NoOpinion, "", 2, "SelfSubjectAccessReview"},
	} {
		r := &reviewer{answers: c.answers}
		w := NewWebhook(WebhookConfig{Reviewer: r, Version: "v1beta1", Allowed: time.Minute, Others: time.Second, Clock: func() time.Time { return time.Unix(0, 0) }, Retry: time.Microsecond})
		for range 2 {
			got, reason, err := w.Authorize(t.Context(), pods(carol, "list"))
			if got != c.want || reason != c.reason || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v %q %v, want %v %q %q", name, got, reason, err, c.want, c.reason, c.err)
			}
		}
		if len(r.calls) != c.calls {
			t.Errorf("%s: %d calls, want %d", name, len(r.calls), c.calls)
		}
		const sent = `{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview","spec":{"resourceAttributes":{"namespace":"default","verb":"list","version":"v1","resource":"pods"},` +
			`"user":"carol","group":["dev"],"extra":{"team":["red"]},"uid":"7"}}`
		if r.calls[0] != sent {
			t.Errorf("%s: sent %s, want %s", name, r.calls[0], sent)
		}
	}
}

// TestWebhookRemembers: an answer counts for its time and its question, and endless
// questions are not kept.
func TestWebhookRemembers(t *testing.T) {
	now := time.Unix(0, 0)
	const start = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":`
	r := &reviewer{answers: []string{start + `{"allowed":true}}`, start + `{}}`}}
	w := NewWebhook(WebhookConfig{Reviewer: r, Version: "v1", Allowed: time.Minute, Others: 10 * time.Second, Clock: func() time.Time { return now }})
	ask := func(a *Attributes, want Decision, calls int) {
		t.Helper()
		if got, _, err := w.Authorize(t.Context(), a); err != nil || got != want || len(r.calls) != calls {
			t.Errorf("at %v: %v %v after %d calls, want %v after %d", now, got, err, len(r.calls), want, calls)
		}
	}
	ask(path(bob, "get", "/metrics"), Allow, 1)
	now = now.Add(59 * time.Second)
	ask(path(bob, "get", "/metrics"), Allow, 1)
	ask(path(bob, "post", "/metrics"), NoOpinion, 2)
	ask(path(&authn.User{Name: "bob"}, "get", "/metrics"), NoOpinion, 3)
	now = now.Add(9 * time.Second)
	ask(path(bob, "post", "/metrics"), NoOpinion, 3)
	ask(path(bob, "get", "/metrics"), NoOpinion, 4)
	now = now.Add(time.Second)
	ask(path(bob, "post", "/metrics"), NoOpinion, 5)
	long := path(bob, "get", "/"+strings.Repeat("x", mostCached))
	ask(long, NoOpinion, 6)
	ask(long, NoOpinion, 7)
	if !strings.Contains(r.calls[0], `"spec":{"nonResourceAttributes":{"verb":"get","path":"/metrics"},"user":"bob","groups":[`) {
		t.Errorf("sent %s", r.calls[0])
	}
	if rules, err := w.Rules(t.Context(), bob, ""); !rules.Incomplete || err == nil {
		t.Errorf("%v %v", rules, err)
	}
}
