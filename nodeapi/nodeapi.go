// Package nodeapi guards the HTTPS endpoint of a node's agent: it authenticates requests by
// client certificates and by tokens, which the API server reviews, and authorizes them as
// requests for the node.
package nodeapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/webhook"
)

// Config describes an endpoint.
type Config struct {
	// Node is the name of the node.
	Node string
	// Server is the API server that reviews tokens and rights. Without one there are no
	// tokens, and all requests that are not refused with 401 are allowed.
	Server *client.REST
	// RefuseTokens has no bearer token accepted, in spite of a Server.
	RefuseTokens bool
	// AlwaysAllow allows all requests that are not refused with 401, in spite of a Server:
	// anonymous ones too, unless RefuseAnonymous is set.
	AlwaysAllow bool
	// ClientCAs are the authorities of client certificates; nil for none.
	ClientCAs *x509.CertPool
	// ClientCAFile holds the authorities, PEM, in place of ClientCAs; "" for none. It is read
	// again within 10 s of a change; a wrong one is logged, and the one before counts.
	ClientCAFile string
	// RefuseAnonymous answers requests without credentials with 401; they are those of
	// system:anonymous otherwise.
	RefuseAnonymous bool
	// Audiences are the names of the endpoint in tokens; none for those of the API server.
	Audiences []string
	// TokenTTL, AllowedTTL and OthersTTL are the times for which the API server's answers
	// count: about a token, that a request is allowed, and all others. Default 2m, 5m and
	// 30s; negative for not at all.
	TokenTTL, AllowedTTL, OthersTTL time.Duration
	// Logger receives the reasons of refusals; nil for none.
	Logger *slog.Logger
	// Clock tells the time; nil for that of the machine.
	Clock func() time.Time
}

// The times for which answers count by default.
const (
	tokenTTL   = 2 * time.Minute
	allowedTTL = 5 * time.Minute
	othersTTL  = 30 * time.Second
)

// guard is the handler in front of that of an endpoint.
type guard struct {
	cfg   Config
	next  http.Handler
	authn *authn.Chain
	authz authz.Authorizer
}

// Guard returns a handler that passes the requests on that may be made. Others are
// answered with 401 and 403, and with 500 while the API server cannot be asked.
func Guard(cfg Config, next http.Handler) (http.Handler, error) {
	if cfg.Node == "" {
		return nil, errors.New("node endpoint: the name of the node is missing")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	certificates, err := cfg.certificates()
	if err != nil {
		return nil, err
	}
	g := &guard{cfg: cfg, next: next, authz: authz.AlwaysAllow()}
	logins := authn.Config{Log: cfg.Logger, Certificates: certificates, Tokens: authn.TokenUnion{}, Audiences: cfg.Audiences, Anonymous: !cfg.RefuseAnonymous}
	if cfg.Server != nil && !cfg.RefuseTokens {
		reviewer := reviews{cfg.Server, "authentication", "tokenreviews"}
		logins.Tokens = authn.NewTokenWebhook(authn.TokenWebhookConfig{Reviewer: reviewer, Version: "v1", Audiences: cfg.Audiences,
			Life: cmp.Or(cfg.TokenTTL, tokenTTL), Clock: cfg.Clock, Retry: retryAfter, Timeout: reviewTime})
	}
	if cfg.Server != nil && !cfg.AlwaysAllow {
		reviewer := reviews{cfg.Server, "authorization", "subjectaccessreviews"}
		g.authz = authz.NewWebhook(authz.WebhookConfig{Reviewer: reviewer, Version: "v1", Allowed: cmp.Or(cfg.AllowedTTL, allowedTTL),
			Others: cmp.Or(cfg.OthersTTL, othersTTL), Clock: cfg.Clock, Retry: retryAfter, Timeout: reviewTime})
	} else if !cfg.RefuseAnonymous {
		cfg.Logger.Warn("everybody may do everything on this endpoint: requests without credentials are accepted, and no right is asked for")
	}
	g.authn = authn.New(logins)
	return g, nil
}

// certificates is the authenticator of client certificates.
func (c *Config) certificates() (authn.Authenticator, error) {
	switch {
	case c.ClientCAFile == "":
		return authn.ClientCert(c.ClientCAs, c.Clock), nil
	case c.ClientCAs != nil:
		return nil, errors.New("node endpoint: set authorities of client certificates, or a file with them, not both")
	}
	a, err := openAuthorities(c.ClientCAFile, c.Clock, c.Logger)
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file: %w", err)
	}
	return a, nil
}

// The times of a review: of one call, and before it is repeated.
const (
	reviewTime = 10 * time.Second
	retryAfter = 500 * time.Millisecond
)

// TLS is the configuration of the endpoint's listener: it asks for client certificates,
// and the guard verifies them, so that a wrong one is a 401. Clients are not told which
// authorities are in a file, since others may be by the time.
func TLS(cfg Config, serving tls.Certificate) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{serving}, ClientAuth: tls.RequestClientCert, ClientCAs: cfg.ClientCAs}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	identity, err := g.authn.Authenticate(r)
	if err != nil {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	a := g.attributes(r, identity.User)
	decision, reason, err := g.authz.Authorize(r.Context(), &a)
	switch {
	case decision == authz.Allow:
		g.next.ServeHTTP(w, r)
	case err != nil:
		g.cfg.Logger.Error("the request cannot be authorized", "user", a.User.Name, "path", r.URL.Path, "error", err)
		http.Error(w, fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=%s, subresource=%s)", a.User.Name, a.Verb, a.Resource, a.Subresource),
			http.StatusInternalServerError)
	default:
		g.cfg.Logger.Info("request refused", "user", a.User.Name, "verb", a.Verb, "path", r.URL.Path, "reason", reason)
		http.Error(w, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=%s, subresource=%s)", a.User.Name, a.Verb, a.Resource, a.Subresource), http.StatusForbidden)
	}
}

// verbs are those of HTTP methods.
var verbs = map[string]string{http.MethodPost: "create", http.MethodGet: "get", http.MethodHead: "get", http.MethodPut: "update", http.MethodPatch: "patch",
	http.MethodDelete: "delete"}

// subresources are those of paths, by the first step; all others are of the proxy.
var subresources = map[string]string{"stats": "stats", "metrics": "metrics", "logs": "log", "spec": "spec"}

// attributes are those of a request for a subresource of the node. A path that names
// another one in a roundabout way ("/stats/../run") counts as any.
func (g *guard) attributes(r *http.Request, user *authn.User) authz.Attributes {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	sub := subresources[first]
	if sub == "" || path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") {
		sub = "proxy"
	}
	return authz.Attributes{User: user, Verb: verbs[r.Method], Version: "v1", Resource: "nodes", Subresource: sub, Name: g.cfg.Node, ResourceRequest: true}
}

// reviews are those of one kind at the API server.
type reviews struct {
	server        *client.REST
	group, plural string
}

// Call implements webhook.Caller.
func (v reviews) Call(ctx context.Context, call webhook.Call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, call.Timeout)
	defer cancel()
	answer, err := v.server.Post(ctx, "/apis/"+v.group+"."+profile.GroupSuffix+"/v1/"+v.plural, call.Body)
	var refused *client.Error
	if errors.As(err, &refused) {
		return nil, &webhook.RefusedError{Code: refused.Code, Message: refused.Error()}
	}
	return answer, err
}
