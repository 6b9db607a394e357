package authn

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// TokenAuthenticator knows the users of some bearer tokens.
type TokenAuthenticator interface {
	// AuthenticateToken returns the user, or nil for a token it does not know.
	// An error is as in Authenticator.
	AuthenticateToken(ctx context.Context, token string) (*User, error)
}

// Bearer authenticates requests by the token in their Authorization header: the first
// authenticator that knows it decides. A token that none knows is invalid.
func Bearer(list ...TokenAuthenticator) Authenticator { return bearer(list) }

type bearer []TokenAuthenticator

var errUnknownToken = errors.New("the bearer token is not known")

func (b bearer) Authenticate(r *http.Request) (*User, error) {
	token, _ := bearerToken(r.Header.Get("Authorization"))
	if token == "" {
		return nil, nil
	}
	return b.find(r, token)
}

// find returns the user of a token.
func (b bearer) find(r *http.Request, token string) (*User, error) {
	var errs []error
	for _, a := range b {
		user, err := a.AuthenticateToken(r.Context(), token)
		if err != nil {
			errs = append(errs, err)
		} else if user != nil {
			return user, nil
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
