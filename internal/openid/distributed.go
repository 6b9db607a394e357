package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// Groups may be a distributed claim (OpenID Connect Core 1.0, section 5.6.2): the token
// names a place that has them in a token of its own, by an issuer of its own. Aggregated
// claims, which are in the token itself, are not read, as in 1.25.

// The times for which results about other places count.
const (
	claimLife     = 10 * time.Second // as 1.25 keeps the user of a token
	failureLife   = time.Second
	discoveryLife = 24 * time.Hour // keys are looked up in between as needed

	claimTime = 10 * time.Second // bounds the way to a claim
)

// expand adds the distributed claim with the groups, unless the token has it itself.
func (a *Authenticator) expand(ctx context.Context, token string, c claims) error {
	name := a.of.entry.ClaimMappings.Groups.Claim
	if name == "" || c[name] != nil || c["_claim_names"] == nil {
		return nil
	}
	var names map[string]string
	var sources map[string]struct {
		Endpoint string `json:"endpoint"`
		Token    string `json:"access_token"`
	}
	if err := c.read("_claim_names", &names); err != nil || names[name] == "" {
		return err
	}
	if err := c.read("_claim_sources", &sources); err != nil {
		return err
	}
	source, ok := sources[names[name]]
	switch {
	case !ok:
		return fmt.Errorf("claim %q has the source %q, which the token does not describe", name, names[name])
	case source.Endpoint == "":
		return nil
	}
	value, err := a.distributed.get(ctx, token, a.cfg.Clock, claimLife, func() (json.RawMessage, error) {
		return a.fetch(source.Endpoint, source.Token, name)
	})
	if err != nil {
		return fmt.Errorf("distributed claim %q: %w", name, err)
	}
	c[name] = value
	return nil
}

// fetch gets a distributed claim from its place.
func (a *Authenticator) fetch(endpoint, token, name string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(a.ctx, claimTime)
	defer cancel()
	text, err := a.read(ctx, endpoint, token)
	if err != nil {
		return nil, err
	}
	issuer := issuerOf(text)
	if !strings.HasPrefix(issuer, "https://") {
		return nil, fmt.Errorf("its issuer %q is not a URL with the scheme https", issuer)
	}
	verifier, err := a.issuers.get(ctx, issuer, a.cfg.Clock, discoveryLife, func() (*oidc.IDTokenVerifier, error) {
		provider, err := oidc.NewProvider(a.ctx, issuer)
		if err != nil {
			return nil, err
		}
		return a.verifierOf(provider, issuer)
	})
	if err != nil {
		return nil, err
	}
	verified, err := a.verify(ctx, verifier, text)
	if err != nil {
		return nil, err
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return nil, err
	}
	if c[name] == nil {
		return nil, errors.New("its source answers without it")
	}
	return c[name], nil
}

// read reads the token at an endpoint.
func (a *Authenticator) read(ctx context.Context, endpoint, token string) (string, error) {
	if at, err := url.Parse(endpoint); err != nil || at.Scheme != "https" {
		return "", errors.New("its endpoint is not a URL with the scheme https")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode < 200 || answer.StatusCode > http.StatusIMUsed {
		return "", fmt.Errorf("its endpoint answers %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, authn.MaxTokenBytes+1))
	return strings.TrimSpace(string(text)), err
}

// shared holds results for some time. One goroutine works for all that ask meanwhile.
type shared[T any] struct {
	mu      ranks.Mutex[ranks.Leaf]
	results *authn.Cache[*result[T]]
}

type result[T any] struct {
	done  chan struct{} // closed when the rest is there
	value T
	err   error
	until time.Time
}

// over reports whether a result does not count any more.
func (r *result[T]) over(now time.Time) bool {
	select {
	case <-r.done:
		return !now.Before(r.until)
	default:
		return false
	}
}

// get returns the result about a text, by work that goes on when ctx ends.
func (s *shared[T]) get(ctx context.Context, text string, now func() time.Time, life time.Duration, work func() (T, error)) (value T, err error) {
	s.mu.Lock()
	r, ok := s.results.Get(text)
	if !ok || r.over(now()) {
		r = &result[T]{done: make(chan struct{})}
		s.results.Put(text, r)
		go func() {
			defer close(r.done)
			if r.value, r.err = work(); r.err != nil {
				life = failureLife
			}
			r.until = now().Add(life)
		}()
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
