package authn

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// TokenAuthenticator knows the users of some bearer tokens.
type TokenAuthenticator interface {
	// AuthenticateToken returns the identity of the bearer, or nil for a token it does
	// not know. An error is as in Authenticator.
	AuthenticateToken(ctx context.Context, token string) (*Identity, error)
}

// TokenUnion asks authenticators of tokens in order: the first that knows a token decides.
type TokenUnion []TokenAuthenticator

// AuthenticateToken implements TokenAuthenticator. The errors of those that cannot decide
// count only if no other knows the token.
func (u TokenUnion) AuthenticateToken(ctx context.Context, token string) (*Identity, error) {
	var errs []error
	for _, a := range u {
		identity, err := a.AuthenticateToken(ctx, token)
		if err != nil {
			errs = append(errs, err)
		} else if identity != nil {
			return identity, nil
		}
	}
	return nil, errors.Join(errs...)
}

// bearer authenticates requests by the token in their Authorization header. A token that
// is not known, or is not for one of the audiences, is invalid.
type bearer struct {
	tokens    TokenAuthenticator
	audiences []string
}

var (
	errUnknownToken  = errors.New("the bearer token is not known")
	errOtherAudience = errors.New("the bearer token is for other audiences")
)

func (b bearer) Authenticate(r *http.Request) (*Identity, error) {
	token, _ := bearerToken(r.Header.Get("Authorization"))
	if token == "" {
		return nil, nil
	}
	return b.find(r, token)
}

// find returns the identity of the bearer of a token.
func (b bearer) find(r *http.Request, token string) (*Identity, error) {
	identity, err := b.tokens.AuthenticateToken(r.Context(), token)
	switch {
	case err != nil:
		return nil, err
	case identity == nil:
		return nil, errUnknownToken
	case identity.Audiences != nil && !slices.ContainsFunc(b.audiences, func(a string) bool { return slices.Contains(identity.Audiences, a) }):
		return nil, errOtherAudience
	}
	return identity, nil
}

// Warning returns the text of a Warning header about the credentials that a client sent;
// "" for none.
func Warning(r *http.Request) string {
	if _, spaced := bearerToken(r.Header.Get("Authorization")); spaced {
		return "the Authorization header has extra space before the bearer token and was ignored"
	}
	return ""
}

// bearerToken returns the token in the value of an Authorization header: the word after
// the scheme "Bearer" (in any case) and exactly one space, or "". spaced reports a token
// that was ignored because more than one space came before it.
func bearerToken(header string) (token string, spaced bool) {
	header = strings.Trim(header, " \t")
	scheme, rest, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token, _, _ = strings.Cut(rest, " ")
	return token, token == ""
}
