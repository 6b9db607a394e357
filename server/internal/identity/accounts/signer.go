package accounts

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
)

// SignerConfig names a program that signs tokens, and the release that uses it. Version and Changed are those of OpenSigner.
type SignerConfig struct {
	externaljwt.Config
	Since func(release string) bool
	On    func(gate string) bool
	// Most is the configured longest life of a token; 0 for none.
	Most time.Duration
	// Documents makes the documents about the issuer of its keys; nil for an issuer that is not a URL.
	Documents func([]authn.PublicKey) (*authn.IssuerDocuments, error)
}

// Signer is a program that signs tokens, with the documents about its keys.
type Signer struct {
	*externaljwt.Signer
	documents atomic.Pointer[authn.IssuerDocuments]
}

// OpenSigner begins to use the program.
func OpenSigner(ctx context.Context, cfg SignerConfig) (*Signer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Signer{}
	if cfg.Version = "v1alpha1"; cfg.Since("1.34") {
		cfg.Version = "v1"
	}
	cfg.Changed = func(keys []authn.PublicKey) {
		next, err := cfg.Documents(keys)
		if err != nil {
			cfg.Log.Error("the keys of service accounts' tokens cannot be published; those published before stay", "error", err)
		} else if next != nil {
			s.documents.Store(next)
		}
	}
	var err error
	if s.Signer, err = externaljwt.Open(ctx, cfg.Config); err != nil {
		return nil, err
	}
	if longest := s.LongestLife(); cfg.Most > longest {
		s.Close()
		return nil, fmt.Errorf("service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: %s > %s",
			cfg.Most, longest)
	}
	return s, nil
}

// Documents returns the present documents about the issuer, with the number of seconds for which they count. It returns
// nil when the first keys could not be published.
func (s *Signer) Documents() func() (*authn.IssuerDocuments, int) {
	if s.documents.Load() == nil {
		return nil
	}
	return func() (*authn.IssuerDocuments, int) { return s.documents.Load(), s.Age() }
}

// The forms of a socket's name: a path, or "@name". From 1.34 on any path is one.
var (
	socketName = regexp.MustCompile(`^@([a-zA-Z0-9_-]+\.)*[a-zA-Z0-9_-]+$`)
	socketPath = regexp.MustCompile(`^(/[^/ ]*)+/?$`)
)

// check refuses a program that the release does not use, or not with this name.
func (c *SignerConfig) check() error {
	switch endpoint := c.Endpoint; {
	case !c.On("ExternalServiceAccountTokenSigner"):
		return errors.New("setting `--service-account-signing-endpoint` requires enabling ExternalServiceAccountTokenSigner feature gate, " +
			"which releases have from 1.32 on: see --emulated-version")
	case c.Since("1.34") && strings.HasPrefix(endpoint, "@") && !socketName.MatchString(endpoint):
		return fmt.Errorf("invalid value %q passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid abstract socket name", endpoint)
	case !c.Since("1.34") && !socketName.MatchString(endpoint) && !socketPath.MatchString(endpoint):
		return fmt.Errorf("invalid value %q passed for `--service-account-signing-endpoint`, should be a valid location on the filesystem or must be prefixed "+
			"with @ to name UDS in abstract namespace", endpoint)
	case !c.Since("1.33") && c.Most != 0:
		return errors.New("service-account-max-token-expiration and service-account-signing-endpoint are mutually exclusive and cannot be set at the same time")
	}
	return nil
}
