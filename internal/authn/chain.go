package authn

import (
	"log/slog"
	"net/http"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
)

// Authenticator knows the senders of some requests.
type Authenticator interface {
	// Authenticate returns the sender's identity, or nil for a request without credentials
	// for this authenticator. An error means that credentials of its kind are not valid;
	// its text is for the server's log, never for the client, and holds no secret.
	Authenticate(r *http.Request) (*Identity, error)
}

// Config lists the authenticators.
type Config struct {
	Log *slog.Logger // the reason of a refusal is logged at info
	// Proxies authenticates requests that a proxy forwards; nil for no proxies.
	Proxies Authenticator
	// Certificates authenticates client certificates.
	Certificates Authenticator
	// Tokens authenticates bearer tokens: in the Authorization header, and among the
	// protocols of a WebSocket.
	Tokens TokenAuthenticator
	// Audiences are the names of this server: a token has to be for one of them.
	Audiences []string
	// Anonymous permits requests without any credentials, as system:anonymous.
	Anonymous bool
	// AnonymousPaths are the paths that Anonymous is for; none for all.
	AnonymousPaths []string
}

// Chain asks authenticators in order; the first that is sure decides.
//
// Invariants:
//
//	C1. Without an error the user is not nil and is in system:authenticated or
//	    in system:unauthenticated.
//	C2. A request with invalid credentials is refused unless other credentials
//	    of the same request are valid; it never becomes anonymous.
//	C3. The error is an *api.Error that does not reveal the cause.
type Chain struct {
	log  *slog.Logger
	list []Authenticator
}

// New returns the chain of the configured authenticators.
func New(cfg Config) *Chain {
	c, tokens := &Chain{log: cfg.Log}, bearer{cfg.Tokens, cfg.Audiences}
	if cfg.Proxies != nil {
		c.list = append(c.list, cfg.Proxies)
	}
	c.list = append(c.list, cfg.Certificates, tokens, webSocketBearer(tokens))
	if cfg.Anonymous {
		c.list = append(c.list, &anonymous{Identity{User: Anonymous()}, cfg.AnonymousPaths})
	}
	return c
}

// anonymous knows every sender of a request for some paths, and is not sure.
type anonymous struct {
	identity Identity
	paths    []string // none for all
}

func (a *anonymous) Authenticate(r *http.Request) (*Identity, error) {
	if len(a.paths) > 0 && !slices.Contains(a.paths, r.URL.Path) {
		return nil, nil
	}
	return &a.identity, nil
}

// Authenticate returns the identity of the sender of the request, or a 401.
func (c *Chain) Authenticate(r *http.Request) (*Identity, error) {
	var refused error
	var unsure *Identity
	for _, a := range c.list {
		identity, err := a.Authenticate(r)
		switch {
		case err != nil && refused == nil:
			refused = err
		case err != nil || identity == nil:
		case identity.Sure:
			return identity, nil
		case unsure == nil:
			unsure = identity
		}
	}
	switch {
	case refused != nil:
		c.log.Info("request not authenticated", "reason", refused.Error(), "remote", r.RemoteAddr, "method", r.Method, "path", r.URL.Path)
		return nil, api.Unauthorized()
	case unsure == nil:
		return nil, api.Unauthorized()
	}
	return unsure, nil
}
