package authn

import (
	"context"
	"slices"
)

// Identity is the result of authentication: the sender of a request, or the bearer of a
// token.
//
// Invariant: an Identity is never changed after it was returned; it may be shared by
// requests and kept.
type Identity struct {
	User *User // never nil
	// Audiences are the servers that the credentials are for; nil for this one.
	Audiences []string
	// Sure ends the search: an identity that is not sure holds only if no other
	// authenticator has one, and none has found invalid credentials.
	Sure bool
	// Note is an annotation for the audit events of the request; the zero one is none.
	Note Note
}

// Note is a text about credentials, by its key.
type Note struct{ Key, Text string }

// Known returns the identity of a user whose credentials are valid, with the group of all
// authenticated users.
func Known(u *User) *Identity { return &Identity{User: authenticated(u), Sure: true} }

// At lists those of some servers that the credentials are valid for. Credentials that name
// no server are for this one, by any of its own names.
func (i *Identity) At(servers, own []string) []string {
	valid := i.Audiences
	if valid == nil {
		valid = own
	}
	var all []string
	for _, s := range servers {
		if slices.Contains(valid, s) {
			all = append(all, s)
		}
	}
	return all
}

// audiencesKey is the key of audiences in a context.
type audiencesKey struct{}

// ForAudiences is the context of a question about a token for other servers than this one.
func ForAudiences(ctx context.Context, audiences []string) context.Context {
	return context.WithValue(ctx, audiencesKey{}, audiences)
}

// audiencesOf are the servers that a question about a token is for: own, unless it names
// others.
func audiencesOf(ctx context.Context, own []string) []string {
	if audiences, ok := ctx.Value(audiencesKey{}).([]string); ok {
		return audiences
	}
	return own
}
