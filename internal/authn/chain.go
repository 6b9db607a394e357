package authn

import (
	"log/slog"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
)

// Authenticator knows the user of some requests.
type Authenticator interface {
	// Authenticate returns the user, or nil for a request without credentials for this
	// authenticator. An error means that credentials of its kind are not valid; its text
	// is for the server's log, never for the client, and holds no secret.
	Authenticate(r *http.Request) (*User, error)
}

// Chain asks authenticators in order; the first that knows the user decides.
//
// Invariants:
//
//	C1. Without an error the user is not nil and is in system:authenticated or
//	    in system:unauthenticated.
//	C2. A request with invalid credentials is refused unless other credentials
//	    of the same request are valid; it never becomes anonymous.
//	C3. The error is an *api.Error that does not reveal the cause.
type Chain struct {
	log       *slog.Logger
	list      []Authenticator
	anonymous *User // nil: requests without credentials are refused
}

// NewChain returns the chain of a list of authenticators. anonymous permits requests
// without any credentials, as system:anonymous. The reason of a refusal is logged at
// info.
func NewChain(log *slog.Logger, anonymous bool, list ...Authenticator) *Chain {
	c := &Chain{log: log, list: list}
	if anonymous {
		c.anonymous = Anonymous()
	}
	return c
}

// Authenticate returns the user of the request, or a 401.
func (c *Chain) Authenticate(r *http.Request) (*User, error) {
	var refused error
	for _, a := range c.list {
		user, err := a.Authenticate(r)
		if err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		if user != nil {
			return authenticated(user), nil
		}
	}
	if refused != nil {
		c.log.Info("request not authenticated", "reason", refused.Error(), "remote", r.RemoteAddr, "method", r.Method, "path", r.URL.Path)
		return nil, api.Unauthorized()
	}
	if c.anonymous == nil {
		return nil, api.Unauthorized()
	}
	return c.anonymous, nil
}
