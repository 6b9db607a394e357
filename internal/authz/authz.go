// Package authz authorizes requests: it decides whether their user may do them.
package authz

import (
	"context"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Attributes are the inputs of a decision.
//
// Invariant: with ResourceRequest the fields from Group to Name describe the resource and
// Verb is an API verb ("list"); without it they are empty, Path counts and Verb is the
// HTTP method in lower case ("get").
type Attributes struct {
	User            *authn.User
	Verb            string
	Group           string // "" for the core group
	Version         string
	Resource        string // plural
	Subresource     string
	Namespace       string
	Name            string
	Path            string // of the URL
	ResourceRequest bool

	// Fields and Labels are the selectors of a request for several objects, as far as they could be read; nil for none, and
	// where the release does not look at them.
	Fields, Labels []Requirement
}

// Requirement is a part of a selector, in the form of access reviews.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists or DoesNotExist
	Values   []string `json:"values,omitempty"`
}

// Decision is an authorizer's answer.
type Decision uint8

const (
	// NoOpinion leaves the decision to the next authorizer; if none has an opinion the
	// request is denied.
	NoOpinion Decision = iota
	// Allow accepts the request.
	Allow
	// Deny refuses the request, whatever later authorizers would decide.
	Deny
)

func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return "no opinion"
}

// Authorizer decides. It is safe for concurrent use and does not keep or change
// the attributes.
type Authorizer interface {
	// Authorize returns the decision and a reason for the user, which may be empty. An error means that the authorizer could not decide; the
	// decision is then NoOpinion, or Deny when a request must not pass without this
	// authorizer.
	Authorize(ctx context.Context, a *Attributes) (Decision, string, error)
}

// Func makes an Authorizer of a function.
type Func func(ctx context.Context, a *Attributes) (Decision, string, error)

// Authorize calls the function.
func (f Func) Authorize(ctx context.Context, a *Attributes) (Decision, string, error) {
	return f(ctx, a)
}
