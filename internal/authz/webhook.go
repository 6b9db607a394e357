package authz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/webhook"
)

// WebhookConfig describes a webhook that decides.
type WebhookConfig struct {
	Reviewer        webhook.Caller
	Version         string        // of its SubjectAccessReviews: v1 or v1beta1
	Allowed, Others time.Duration // for which an answer counts
	Clock           func() time.Time
	Retry           time.Duration // before the second attempt of a call; each pause is longer by half
	Timeout         time.Duration // of a call
	// Match reports whether the webhook decides about a request; nil for all. An error is as that of a call.
	Match func(ctx context.Context, a *Attributes) (bool, error)
	// Fail is the decision about a request that the webhook cannot be asked about: NoOpinion or Deny.
	Fail Decision
}

// Webhook asks a webhook for each decision. Answers count for a while. If a webhook cannot
// be asked, the decision is that of its configuration, with an error.
type Webhook struct {
	cfg     WebhookConfig
	answers *authn.Cache[webhookAnswer]
}

// NewWebhook returns the authorizer of a webhook.
func NewWebhook(cfg WebhookConfig) *Webhook {
	return &Webhook{cfg, authn.NewCache[webhookAnswer]()}
}

// webhookAnswer is the answer of a webhook until a time.
type webhookAnswer struct {
	Allowed bool   `json:"allowed"`
	Denied  bool   `json:"denied"`
	Reason  string `json:"reason"`

	until time.Time
}

// accessReview is the object that is sent and answered.
type accessReview struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Spec       accessReviewSpec `json:"spec"`
	Status     *webhookAnswer   `json:"status,omitempty"`
}

// reviewedRequest is the request that a review is about: of a resource, or of a path.
type reviewedRequest struct {
	Namespace   string            `json:"namespace,omitempty"`
	Verb        string            `json:"verb,omitempty"`
	Group       string            `json:"group,omitempty"`
	Version     string            `json:"version,omitempty"`
	Resource    string            `json:"resource,omitempty"`
	Subresource string            `json:"subresource,omitempty"`
	Name        string            `json:"name,omitempty"`
	Path        string            `json:"path,omitempty"`
	Fields      *reviewedSelector `json:"fieldSelector,omitempty"`
	Labels      *reviewedSelector `json:"labelSelector,omitempty"`
}

type reviewedSelector struct {
	Requirements []Requirement `json:"requirements"`
}

// reviewed is a selector in a review; nil for none.
func reviewed(selector []Requirement) *reviewedSelector {
	if len(selector) == 0 {
		return nil
	}
	return &reviewedSelector{selector}
}

type accessReviewSpec struct {
	Resource  *reviewedRequest    `json:"resourceAttributes,omitempty"`
	Path      *reviewedRequest    `json:"nonResourceAttributes,omitempty"`
	User      string              `json:"user,omitempty"`
	Groups    []string            `json:"groups,omitempty"`
	OldGroups []string            `json:"group,omitempty"` // their name in v1beta1
	Extra     map[string][]string `json:"extra,omitempty"`
	UID       string              `json:"uid,omitempty"`
}

// mostCached bounds the texts of a request whose answer is kept, in bytes: requests may
// name what they like.
const mostCached = 10000

// Authorize implements Authorizer.
func (w *Webhook) Authorize(ctx context.Context, a *Attributes) (Decision, string, error) {
	if w.cfg.Match != nil {
		if matches, err := w.cfg.Match(ctx, a); err != nil {
			return w.cfg.Fail, "", err
		} else if !matches {
			return NoOpinion, "", nil
		}
	}
	spec := w.spec(a)
	key, err := json.Marshal(spec)
	if err != nil {
		return w.cfg.Fail, "", err
	}
	answer, ok := w.answers.Get(string(key))
	if now := w.cfg.Clock(); !ok || !now.Before(answer.until) {
		if answer, err = w.ask(ctx, spec); err != nil {
			return w.cfg.Fail, "", err
		}
		life := w.cfg.Others
		if answer.Allowed {
			life = w.cfg.Allowed
		}
		size := len(a.Verb) + len(a.Group) + len(a.Version) + len(a.Resource) + len(a.Subresource) + len(a.Namespace) + len(a.Name) + len(a.Path)
		if answer.until = now.Add(life); size < mostCached {
			w.answers.Put(string(key), answer)
		}
	}
	switch {
	case answer.Denied && answer.Allowed:
		return Deny, answer.Reason, errors.New("webhook subject access review returned both allow and deny response")
	case answer.Denied:
		return Deny, answer.Reason, nil
	case answer.Allowed:
		return Allow, answer.Reason, nil
	}
	return NoOpinion, answer.Reason, nil
}

// spec is the question about a request.
func (w *Webhook) spec(a *Attributes) (s accessReviewSpec) {
	if u := a.User; u != nil {
		s.User, s.Extra, s.UID = u.Name, u.Extra, u.UID
		if s.Groups = u.Groups; w.cfg.Version == "v1beta1" {
			s.Groups, s.OldGroups = nil, u.Groups
		}
	}
	if a.ResourceRequest {
		s.Resource = &reviewedRequest{a.Namespace, a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Name, "", reviewed(a.Fields), reviewed(a.Labels)}
	} else {
		s.Path = &reviewedRequest{Verb: a.Verb, Path: a.Path}
	}
	return s
}

// ask calls the webhook.
func (w *Webhook) ask(ctx context.Context, spec accessReviewSpec) (answer webhookAnswer, err error) {
	review := accessReview{APIVersion: "authorization." + profile.GroupSuffix + "/" + w.cfg.Version, Kind: "SubjectAccessReview", Spec: spec}
	body, err := json.Marshal(review)
	if err != nil {
		return answer, err
	}
	text, err := webhook.Insist(ctx, w.cfg.Reviewer, webhook.Call{Body: body, Timeout: w.cfg.Timeout}, w.cfg.Retry)
	if err != nil {
		return answer, fmt.Errorf("the authorization webhook cannot be asked: %w", err)
	}
	var got accessReview
	if err := json.Unmarshal(text, &got); err != nil {
		return answer, errors.New("the answer of the authorization webhook is not a SubjectAccessReview")
	}
	if got.APIVersion != review.APIVersion || got.Kind != review.Kind {
		return answer, fmt.Errorf("the answer of the authorization webhook is a %q of %q, not a SubjectAccessReview of %q", got.Kind,
			got.APIVersion, review.APIVersion)
	}
	if got.Status != nil {
		answer = *got.Status
	}
	return answer, nil
}

// Rules implements RuleLister: a webhook lists none.
func (w *Webhook) Rules(context.Context, *authn.User, string) (Rules, error) {
	return Rules{Incomplete: true}, errors.New("webhook authorizer does not support user rule resolution")
}
