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
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Config describes an authenticator.
type Config struct {
	Settings
	// CredentialIDs has users with the id of their token as an extra value.
	CredentialIDs bool
	Logger        *slog.Logger
	Clock         func() time.Time
	Retry         time.Duration // between attempts of discovery
}

// Authenticator authenticates users by their ID tokens. Until the issuer has been
// discovered, it knows nobody.
type Authenticator struct {
	cfg    Config
	of     *mapper
	client *http.Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	known  atomic.Pointer[discovery] // nil before it
	ready  chan struct{}             // closed after it

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
	var roots []byte
	if cfg.OIDCCAFile != "" {
		var err error
		if roots, err = os.ReadFile(cfg.OIDCCAFile); err != nil {
			return nil, err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("%s: no certificate in PEM", cfg.OIDCCAFile)
		}
	}
	return open(cfg, &mapper{entry: cfg.entry(string(roots)), credentials: cfg.CredentialIDs}), nil
}

// open makes the authenticator of an issuer without a mistake.
func open(cfg Config, of *mapper) *Authenticator {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if roots := of.entry.Issuer.CertificateAuthority; roots != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(roots))
	}
	a := &Authenticator{cfg: cfg, of: of, ready: make(chan struct{})}
	transport := limited{&http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second},
		of.entry.Issuer.description(), of.entry.Issuer.DiscoveryURL}
	a.client = &http.Client{Timeout: requestTime, CheckRedirect: onlySecure, Transport: transport}
	a.distributed.results, a.issuers.results = authn.NewCache[*result[json.RawMessage]](), authn.NewCache[*result[*oidc.IDTokenVerifier]]()
	a.ctx, a.cancel = context.WithCancel(oidc.ClientContext(context.Background(), a.client))
	go a.discover(a.ctx)
	return a
}

// description is the place where an issuer describes itself (OpenID Connect Discovery 1.0, section 4).
func (i *issuerEntry) description() string {
	return strings.TrimSuffix(i.URL, "/") + "/.well-known/openid-configuration"
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
		url := a.of.entry.Issuer.URL
		provider, err := oidc.NewProvider(ctx, url)
		if err == nil {
			var verifier *oidc.IDTokenVerifier
			if verifier, err = a.verifierOf(provider, url); err == nil {
				a.known.Store(&discovery{verifier, provider.Endpoint().TokenURL})
				close(a.ready)
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		a.cfg.Logger.Error("the issuer of ID tokens cannot be discovered, so nobody logs in by them; trying again", "issuer", url,
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
	accepted := a.of.entry.Issuer.algorithms
	if accepted == nil {
		accepted = algorithms
	}
	from := newKeys(document.Keys, a.client, a.cfg.Clock, accepted)
	return oidc.NewVerifier(url, from, &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: accepted, Now: a.cfg.Clock}), nil
}

// verify verifies a token, which has to be for one of the audiences.
func (a *Authenticator) verify(ctx context.Context, by *oidc.IDTokenVerifier, token string) (*oidc.IDToken, error) {
	verified, err := by.Verify(oidc.ClientContext(ctx, a.client), token)
	if err != nil {
		return nil, err
	}
	audiences := a.of.entry.Issuer.Audiences
	if !slices.ContainsFunc(verified.Audience, func(of string) bool { return slices.Contains(audiences, of) }) {
		return nil, fmt.Errorf("expected audience in %q got %q", audiences, verified.Audience)
	}
	return verified, nil
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
	if issuerOf(token) != a.of.entry.Issuer.URL {
		return nil, nil
	}
	known := a.known.Load()
	if known == nil {
		return nil, errors.New("oidc: the issuer has not been discovered yet")
	}
	verified, err := a.verify(ctx, known.verifier, token)
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
	user, err := a.of.user(ctx, c)
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

// limited bounds the answers of an issuer, whose description may be at another place.
type limited struct {
	*http.Transport
	description, elsewhere string // "" for its own place
}

// maxAnswer bounds the documents of an issuer, in bytes.
const maxAnswer = 1 << 20

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.elsewhere != "" && r.Method == http.MethodGet && r.URL.String() == l.description {
		place, err := url.Parse(l.elsewhere)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Host, r.URL = "", place
	}
	resp, err := l.Transport.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}
