// Package authz decides whether a user may do what a request asks for.
package authz

import (
	"context"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Attributes are what a decision may depend on.
//
// Invariant: with ResourceRequest the fields from Group to Name describe the
// resource and Verb is an API verb ("list"); without it they are empty, Path is
// what counts and Verb is the HTTP method in lower case ("get").
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
}

// Decision is an authorizer's answer.
type Decision uint8

const (
	// NoOpinion leaves the decision to the next authorizer; if nobody has one
	// the request is denied.
	NoOpinion Decision = iota
	// Allow lets the request through.
	Allow
	// Deny refuses it, whatever the authorizers that follow would say.
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
	// Authorize returns the decision and, unless it is Allow, a reason for the
	// user to read (which may be empty). An error means that the authorizer
	// could not find out; the decision is then NoOpinion, or Deny when a
	// request must not pass without this authorizer's word.
	Authorize(ctx context.Context, a *Attributes) (Decision, string, error)
}

// Func makes an Authorizer of a function.
type Func func(ctx context.Context, a *Attributes) (Decision, string, error)

// Authorize calls the function.
func (f Func) Authorize(ctx context.Context, a *Attributes) (Decision, string, error) {
	return f(ctx, a)
}
