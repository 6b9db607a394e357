package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/externaljwt"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// openSigner begins to use the program that signs the tokens of service accounts, which needs a flag of its own for the keys of
// tokens in secrets, as kube-controller-manager does.
func (s *Server) openSigner(ctx context.Context, all *accountTokens) error {
	cfg := &s.cfg
	if err := s.checkSigner(); err != nil {
		return err
	}
	if file := cfg.ServiceAccountPrivateKeyFile; file != "" {
		_, secrets, err := s.keys.SigningKeys()
		if err != nil {
			return fmt.Errorf("service account private key: %w", err)
		}
		if all.ofSecrets, err = authn.NewTokenIssuer(cfg.ServiceAccountIssuers[0], secrets); err != nil {
			return fmt.Errorf("service account private key: %w", err)
		}
	}
	figures := metrics.NewExternalJWT()
	s.metrics.Add(figures)
	var documents atomic.Pointer[authn.IssuerDocuments] // those of before count on when keys cannot be published
	signer, err := externaljwt.Open(ctx, externaljwt.Config{Endpoint: cfg.ServiceAccountSigningEndpoint, Version: s.signerVersion(), Figures: figures,
		Log: s.log, Clock: cfg.Clock, Pauses: cfg.Seams.Durations.Signer, Changed: func(keys []authn.PublicKey) {
			next, err := cfg.issuerDocuments(keys)
			if err != nil {
				s.log.Error("the keys of service accounts' tokens cannot be published", "error", err)
			} else if next != nil {
				documents.Store(next)
			}
		}})
	if err != nil {
		return err
	}
	s.closeLater(signer.Close)
	all.external, all.requested = signer, authn.NewExternalIssuer(cfg.ServiceAccountIssuers[0], signer)
	if documents.Load() != nil {
		all.documents = func() (*authn.IssuerDocuments, int) { return documents.Load(), signer.Age() }
	}
	return s.limitLives(signer.LongestLife(), &all.lives)
}

// signerVersion is the version of the protocol that the release speaks.
func (s *Server) signerVersion() string {
	if s.edition.Since("1.34") {
		return "v1"
	}
	return "v1alpha1"
}

// The forms of a socket's name: a path, or "@name". From 1.34 on any path is one.
var (
	socketName = regexp.MustCompile(`^@([a-zA-Z0-9_-]+\.)*[a-zA-Z0-9_-]+$`)
	socketPath = regexp.MustCompile(`^(/[^/ ]*)+/?$`)
)

// checkSigner refuses an endpoint that the release does not have or accept.
func (s *Server) checkSigner() error {
	endpoint := s.cfg.ServiceAccountSigningEndpoint
	abstract := strings.HasPrefix(endpoint, "@")
	switch {
	case !s.features.On("ExternalServiceAccountTokenSigner"):
		return errors.New("setting `--service-account-signing-endpoint` requires enabling ExternalServiceAccountTokenSigner feature gate, " +
			"which releases have from 1.32 on: see --emulated-version")
	case s.edition.Since("1.34") && abstract && !socketName.MatchString(endpoint):
		return fmt.Errorf("invalid value %q passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid abstract socket name", endpoint)
	case !s.edition.Since("1.34") && !socketName.MatchString(endpoint) && !socketPath.MatchString(endpoint):
		return fmt.Errorf("invalid value %q passed for `--service-account-signing-endpoint`, should be a valid location on the filesystem or must be prefixed "+
			"with @ to name UDS in abstract namespace", endpoint)
	case !s.edition.Since("1.33") && s.cfg.ServiceAccountMaxTokenExpiration != 0:
		return errors.New("service-account-max-token-expiration and service-account-signing-endpoint are mutually exclusive and cannot be set at the same time")
	}
	return nil
}

// limitLives bounds the lives of tokens by the longest of the signer.
func (s *Server) limitLives(longest time.Duration, lives *endpoints.TokenLives) error {
	if lives.Most > longest {
		return fmt.Errorf("service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: %s > %s",
			lives.Most, longest)
	}
	if lives.Most == 0 {
		lives.Most = longest
	}
	lives.Extended = min(lives.Extended, longest)
	if lives.Extended > 0 && lives.Extended < endpoints.ExtendedTokenLife {
		s.log.Warn("the signer of service accounts' tokens does not let the tokens that pods have by default last a year", "life", longest)
	}
	return nil
}
