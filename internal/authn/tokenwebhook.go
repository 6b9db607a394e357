package authn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/webhook"
)

// TokenWebhookConfig describes a webhook that knows the users of bearer tokens.
type TokenWebhookConfig struct {
	Reviewer  webhook.Caller
	Version   string // of its TokenReviews: v1 or v1beta1
	Audiences []string
	Life      time.Duration // of an answer, good or bad
	Clock     func() time.Time
	Retry     time.Duration // before the second attempt of a call; each pause is longer by half
	Timeout   time.Duration // of a call
}

// TokenWebhook asks a webhook who the bearer of a token is. Answers count for a while;
// that the webhook cannot be asked never counts as one.
type TokenWebhook struct {
	cfg     TokenWebhookConfig
	answers *Cache[tokenAnswer]
}

// NewTokenWebhook returns the authenticator of a webhook.
func NewTokenWebhook(cfg TokenWebhookConfig) *TokenWebhook {
	return &TokenWebhook{cfg, NewCache[tokenAnswer]()}
}

// tokenAnswer is the answer of a webhook.
type tokenAnswer struct {
	identity *Identity // nil for a token that it refused
	reason   string    // of a refusal
	until    time.Time
}

// tokenReview is the object that is sent and answered.
type tokenReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Token     string   `json:"token"`
		Audiences []string `json:"audiences,omitempty"`
	} `json:"spec"`
	Status struct {
		Authenticated bool     `json:"authenticated"`
		Audiences     []string `json:"audiences"`
		Error         string   `json:"error"`
		User          struct {
			Username string              `json:"username"`
			UID      string              `json:"uid"`
			Groups   []string            `json:"groups"`
			Extra    map[string][]string `json:"extra"`
		} `json:"user"`
	} `json:"status"`
}

// AuthenticateToken implements TokenAuthenticator.
func (w *TokenWebhook) AuthenticateToken(ctx context.Context, token string) (*Identity, error) {
	audiences := audiencesOf(ctx, w.cfg.Audiences)
	question := fmt.Sprintf("%q %s", audiences, token)
	answer, ok := w.answers.Get(question)
	if now := w.cfg.Clock(); !ok || !now.Before(answer.until) {
		var err error
		if answer, err = w.ask(ctx, token, audiences); err != nil {
			return nil, err
		}
		answer.until = now.Add(w.cfg.Life)
		w.answers.Put(question, answer)
	}
	if answer.reason != "" {
		return nil, errors.New(answer.reason)
	}
	return answer.identity, nil
}

// ask calls the webhook until it answers.
func (w *TokenWebhook) ask(ctx context.Context, token string, audiences []string) (a tokenAnswer, err error) {
	review := tokenReview{APIVersion: "authentication." + profile.GroupSuffix + "/" + w.cfg.Version, Kind: "TokenReview"}
	review.Spec.Token, review.Spec.Audiences = token, audiences
	body, err := json.Marshal(review)
	if err != nil {
		return a, err
	}
	text, err := webhook.Insist(ctx, w.cfg.Reviewer, webhook.Call{Body: body, Timeout: w.cfg.Timeout}, w.cfg.Retry)
	if err != nil {
		return a, fmt.Errorf("the token webhook cannot be asked: %w", err)
	}
	return w.read(text, &review)
}

// read reads an answer to a review.
func (w *TokenWebhook) read(text []byte, asked *tokenReview) (a tokenAnswer, err error) {
	var review tokenReview
	if err := json.Unmarshal(text, &review); err != nil {
		return a, errors.New("the answer of the token webhook is not a TokenReview")
	}
	if review.APIVersion != asked.APIVersion || review.Kind != asked.Kind {
		return a, fmt.Errorf("the answer of the token webhook is a %q of %q, not a TokenReview of %q", review.Kind, review.APIVersion, asked.APIVersion)
	}
	status := &review.Status
	audiences := asked.Spec.Audiences
	if len(audiences) > 0 {
		valid := w.cfg.Audiences
		if len(status.Audiences) > 0 {
			valid = status.Audiences
		}
		audiences = slices.DeleteFunc(slices.Clone(audiences), func(a string) bool { return !slices.Contains(valid, a) })
		if len(audiences) == 0 {
			return a, nil // it is for others
		}
	}
	if !status.Authenticated {
		a.reason = status.Error
		return a, nil
	}
	if status.User.Username == "" {
		return a, errors.New("the token webhook authenticates a user without a name")
	}
	a.identity = Known(&User{Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups, Extra: status.User.Extra})
	a.identity.Audiences = audiences
	return a, nil
}
