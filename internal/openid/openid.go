// Package openid authenticates users by ID tokens of an issuer (OpenID Connect Core 1.0,
// section 2), whose keys it finds by discovery.
package openid

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Config describes an authenticator.
type Config struct {
	Settings
	Logger *slog.Logger
	Clock  func() time.Time
	Retry  time.Duration // between attempts of discovery
}

// Authenticator authenticates users by their ID tokens. Until the issuer has been
// discovered, it knows nobody.
type Authenticator struct {
	cfg    Config
	prefix string
	client *http.Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	known  atomic.Pointer[discovery] // nil before it

	distributed shared[json.RawMessage]       // claims, by the tokens that name their places
	issuers     shared[*oidc.IDTokenVerifier] // of distributed claims
}

// discovery has the found parts of the issuer's description.
type discovery struct {
	verifier *oidc.IDTokenVerifier
	tokenURL string
}

// requestTime bounds a request to the issuer.
const requestTime = 30 * time.Second

// Open makes the authenticator, and begins to look for the issuer, until Close. An error
// is one of the file of authorities.
func Open(cfg Config) (*Authenticator, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.OIDCCAFile != "" {
		text, err := os.ReadFile(cfg.OIDCCAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate in PEM", cfg.OIDCCAFile)
		}
	}
	a := &Authenticator{cfg: cfg, prefix: cfg.usernamePrefix()}
	a.client = &http.Client{Timeout: requestTime, CheckRedirect: onlySecure,
		Transport: limited{&http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}}}
	a.distributed.results, a.issuers.results = authn.NewCache[*result[json.RawMessage]](), authn.NewCache[*result[*oidc.IDTokenVerifier]]()
	a.ctx, a.cancel = context.WithCancel(oidc.ClientContext(context.Background(), a.client))
	go a.discover(a.ctx)
	return a, nil
}

// Close ends discovery. The authenticator may be nil.
func (a *Authenticator) Close() {
	if a != nil {
		a.cancel()
		a.client.CloseIdleConnections()
	}
}

// onlySecure refuses redirects to other schemes than https.
func onlySecure(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != "https" || len(via) > 5 {
		return errors.New("the issuer redirects to where it is not trusted")
	}
	return nil
}

// discover finds the issuer and its keys.
func (a *Authenticator) discover(ctx context.Context) {
	for {
		provider, err := oidc.NewProvider(ctx, a.cfg.OIDCIssuerURL)
		if err == nil {
			var verifier *oidc.IDTokenVerifier
			if verifier, err = a.verifierOf(provider, a.cfg.OIDCIssuerURL); err == nil {
				a.known.Store(&discovery{verifier, provider.Endpoint().TokenURL})
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		a.cfg.Logger.Error("the issuer of ID tokens cannot be discovered, so nobody logs in by them; trying again", "issuer", a.cfg.OIDCIssuerURL,
			"error", err, "in", a.cfg.Retry)
		select {
		case <-ctx.Done():
			return
		case <-time.After(a.cfg.Retry):
		}
	}
}

// verifierOf verifies the tokens of an issuer.
func (a *Authenticator) verifierOf(issuer *oidc.Provider, url string) (*oidc.IDTokenVerifier, error) {
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := issuer.Claims(&document); err != nil {
		return nil, err
	}
	from := newKeys(document.Keys, a.client, a.cfg.Clock, a.cfg.OIDCSigningAlgorithms)
	return oidc.NewVerifier(url, from, &oidc.Config{ClientID: a.cfg.OIDCClientID, SupportedSigningAlgs: a.cfg.OIDCSigningAlgorithms, Now: a.cfg.Clock}), nil
}

// TokenURL is the address at which clients of the issuer exchange codes for tokens; "" before
// discovery. The authenticator may be nil.
func (a *Authenticator) TokenURL() string {
	if a == nil {
		return ""
	}
	if known := a.known.Load(); known != nil {
		return known.tokenURL
	}
	return ""
}

// AuthenticateToken implements authn.TokenAuthenticator. Tokens of other issuers are not
// known.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*authn.Identity, error) {
	if issuerOf(token) != a.cfg.OIDCIssuerURL {
		return nil, nil
	}
	known := a.known.Load()
	if known == nil {
		return nil, errors.New("oidc: the issuer has not been discovered yet")
	}
	verified, err := known.verifier.Verify(oidc.ClientContext(ctx, a.client), token)
	if err != nil {
		return nil, fmt.Errorf("oidc: the token is not valid: %w", err)
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return nil, fmt.Errorf("oidc: the claims cannot be read: %w", err)
	}
	if err := a.expand(ctx, token, c); err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	user, err := a.user(c)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	return authn.Known(user), nil
}

// issuerOf is the issuer that a token names, before anything is verified.
func issuerOf(token string) string {
	if issuer := authn.ClaimedIssuer(token); issuer != "accounts.google.com" {
		return issuer
	}
	return "https://accounts.google.com" // as Google's older tokens have it
}

// limited bounds the answers of an issuer.
type limited struct{ *http.Transport }

// maxAnswer bounds the documents of an issuer, in bytes.
const maxAnswer = 1 << 20

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.Transport.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}
