package authn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/webhook"
)

// reviewer answers calls one after the other, and repeats the last answer.
type reviewer struct {
	answers []string // "" for a failure
	calls   []string // bodies
}

func (r *reviewer) Call(_ context.Context, call webhook.Call) ([]byte, error) {
	r.calls = append(r.calls, string(call.Body))
	answer := r.answers[min(len(r.calls), len(r.answers))-1]
	if answer == "" {
		return nil, errors.New("down")
	}
	return []byte(answer), nil
}

func TestTokenWebhook(t *testing.T) {
	review := func(status string) string {
		return `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{` + status + `}}`
	}
	bob := `"authenticated":true,"user":{"username":"bob","uid":"7","groups":["dev"],"extra":{"team":["red"]}}`
	user := &User{Name: "bob", UID: "7", Groups: []string{"dev", "system:authenticated"}, Extra: map[string][]string{"team": {"red"}}}
	for name, c := range map[string]struct {
		answers []string
		want    *Identity // nil for a refusal
		calls   int       // of two authentications
		err     string
	}{
		"known":             {[]string{review(bob)}, &Identity{User: user, Audiences: []string{"a", "b"}, Sure: true}, 1, ""},
		"for one audience":  {[]string{review(bob + `,"audiences":["b","c"]`)}, &Identity{User: user, Audiences: []string{"b"}, Sure: true}, 1, ""},
		"for others":        {[]string{review(bob + `,"audiences":["c"]`)}, nil, 1, ""},
		"unknown":           {[]string{review(`"authenticated":false`)}, nil, 1, ""},
		"refused":           {[]string{review(`"error":"because"`)}, nil, 1, "because"},
		"after failures":    {[]string{"", "", review(bob)}, &Identity{User: user, Audiences: []string{"a", "b"}, Sure: true}, 3, ""},
		"down":              {[]string{""}, nil, 2 * webhook.Tries, "cannot be asked"},
		"garbage":           {[]string{"x"}, nil, 2, "is not a TokenReview"},
		"another version":   {[]string{strings.Replace(review(bob), "/v1", "/v1beta1", 1)}, nil, 2, `of "authentication.k8s.io/v1beta1"`},
		"another kind":      {[]string{strings.Replace(review(bob), "TokenReview", "Pod", 1)}, nil, 2, `"Pod"`},
		"nobody":            {[]string{review(`"authenticated":true`)}, nil, 2, "without a name"},
		"a list for groups": {[]string{review(`"authenticated":true,"user":{"username":"bob","groups":{}}`)}, nil, 2, "is not a TokenReview"},
	} {
		r := &reviewer{answers: c.answers}
		w := NewTokenWebhook(TokenWebhookConfig{Reviewer: r, Version: "v1", Audiences: []string{"a", "b"}, Life: time.Minute, Clock: time.Now, Retry: time.Microsecond})
		for range 2 {
			got, err := w.AuthenticateToken(t.Context(), "secret")
			if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q\n%s", name, err, c.err, diff)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the error has the token: %v", name, err)
			}
		}
		if len(r.calls) != c.calls {
			t.Errorf("%s: %d calls, want %d", name, len(r.calls), c.calls)
		}
		var sent tokenReview
		if err := json.Unmarshal([]byte(r.calls[0]), &sent); err != nil || sent.Spec.Token != "secret" || sent.APIVersion != "authentication.k8s.io/v1" || !cmp.Equal(sent.Spec.Audiences, []string{"a", "b"}) {
			t.Errorf("%s: sent %s", name, r.calls[0])
		}
	}
}

// A question for other servers is passed on, and its answer is not one for this server.
func TestTokenWebhookForOthers(t *testing.T) {
	r := &reviewer{}
	w := NewTokenWebhook(TokenWebhookConfig{Reviewer: r, Version: "v1", Audiences: []string{"own"}, Life: time.Minute, Clock: time.Now, Retry: time.Microsecond})
	for _, c := range []struct {
		asked  []string // nil for a request to this server
		answer string
		valid  []string // nil for an unknown token
		err    bool
	}{
		{nil, `"authenticated":true,"user":{"username":"bob"}`, []string{"own"}, false},
		{[]string{"x"}, `"authenticated":true,"user":{"username":"bob"}`, nil, false},
		{[]string{"x", "own"}, `"authenticated":true,"user":{"username":"bob"}`, []string{"own"}, false},
		{[]string{"x", "y"}, `"authenticated":true,"user":{"username":"bob"},"audiences":["y","z"]`, []string{"y"}, false},
		{[]string{"v"}, `"error":"because"`, nil, false},
		{[]string{"w"}, `"error":"because","audiences":["w"]`, nil, true},
	} {
		ctx, wanted := t.Context(), []string{"own"}
		if c.asked != nil {
			ctx, wanted = ForAudiences(ctx, c.asked), c.asked
		}
		r.answers, r.calls = []string{`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{` + c.answer + `}}`}, nil
		for range 2 {
			got, err := w.AuthenticateToken(ctx, "secret")
			if (err != nil) != c.err || (got == nil) != (c.valid == nil) || got != nil && !cmp.Equal(got.Audiences, c.valid) {
				t.Errorf("for %v: %v, %v", c.asked, got, err)
			}
		}
		var sent tokenReview
		if err := json.Unmarshal([]byte(r.calls[0]), &sent); err != nil || len(r.calls) != 1 || !cmp.Equal(sent.Spec.Audiences, wanted) {
			t.Errorf("for %v: sent %s", c.asked, r.calls)
		}
	}
}

// An answer counts for its time.
func TestTokenWebhookAsksAgain(t *testing.T) {
	now := tokenTime
	r := &reviewer{answers: []string{`{"apiVersion":"authentication.k8s.io/v1beta1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"bob"}}}`,
		`{"apiVersion":"authentication.k8s.io/v1beta1","kind":"TokenReview"}`}}
	w := NewTokenWebhook(TokenWebhookConfig{Reviewer: r, Version: "v1beta1", Audiences: []string{"a"}, Life: time.Minute, Clock: func() time.Time { return now }})
	for _, known := range []bool{true, true, false} {
		if identity, err := w.AuthenticateToken(t.Context(), "x"); err != nil || (identity != nil) != known {
			t.Errorf("at %v: %v, %v", now, identity, err)
		}
		now = now.Add(40 * time.Second)
	}
}

func FuzzTokenReview(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"bob"}}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		w := NewTokenWebhook(TokenWebhookConfig{Version: "v1", Audiences: []string{"a"}})
		asked := tokenReview{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
		if a, err := w.read(answer, &asked); err == nil && a.identity != nil && a.identity.User.Name == "" {
			t.Errorf("%s authenticates nobody", answer)
		}
	})
}
