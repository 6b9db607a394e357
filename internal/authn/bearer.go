package authn

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// TokenAuthenticator knows the users of some bearer tokens.
type TokenAuthenticator interface {
	// AuthenticateToken returns the identity of the bearer, or nil for a token it does
	// not know. An error is as in Authenticator.
	AuthenticateToken(ctx context.Context, token string) (*Identity, error)
}

// bearer authenticates requests by the token in their Authorization header: the first
// authenticator that knows it decides. A token that none knows is invalid.
type bearer []TokenAuthenticator

var errUnknownToken = errors.New("the bearer token is not known")

func (b bearer) Authenticate(r *http.Request) (*Identity, error) {
	token, _ := bearerToken(r.Header.Get("Authorization"))
	if token == "" {
		return nil, nil
	}
	return b.find(r, token)
}

// find returns the identity of the bearer of a token.
func (b bearer) find(r *http.Request, token string) (*Identity, error) {
	var errs []error
	for _, a := range b {
		identity, err := a.AuthenticateToken(r.Context(), token)
		if err != nil {
			errs = append(errs, err)
		} else if identity != nil {
			return identity, nil
		}
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return nil, errUnknownToken
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
