package cluster

import (
	"cmp"
	"context"
	"crypto"
	"fmt"
	"net/url"
	"slices"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/server/internal/accounts"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/nodes"
)

// Logins implements parts.Rooms.
func (r *Rooms) Logins() ([]authn.TokenAuthenticator, error) {
	cfg := &r.Authentication
	requested, secrets, err := r.Keys.SigningKeys()
	if err != nil {
		return nil, fmt.Errorf("service account signing key: %w", err)
	}
	if r.Issuer, err = authn.NewTokenIssuer(cfg.ServiceAccountIssuers[0], requested); err != nil {
		return nil, fmt.Errorf("service account signing key: %w", err)
	}
	if r.secrets, err = authn.NewTokenIssuer(cfg.ServiceAccountIssuers[0], secrets); err != nil {
		return nil, fmt.Errorf("service account private key: %w", err)
	}
	keys, err := r.Keys.AccountKeys(requested, secrets)
	if err != nil {
		return nil, fmt.Errorf("service account keys: %w", err)
	}
	if r.documents, err = r.issuerDocuments(keys); err != nil {
		return nil, fmt.Errorf("service account keys: %w", err)
	}
	objects := accounts.Objects{Store: r.Store, Catalog: r.Catalog}
	tokens := authn.NewAccountTokens(authn.AccountTokenConfig{Issuers: cfg.ServiceAccountIssuers, Keys: keys, Audiences: cfg.APIAudiences,
		Clock: r.Clock, Lookup: !cfg.DisableServiceAccountLookup, Objects: objects})
	r.Metrics.Count("serviceaccount_valid_tokens_total", "Requests by tokens of service accounts that end by themselves.", &tokens.Uses.Valid)
	r.Metrics.Count("serviceaccount_stale_tokens_total", "Requests by tokens of service accounts that should have been renewed.", &tokens.Uses.Stale)
	r.Metrics.Count("serviceaccount_legacy_tokens_total", "Requests by tokens of service accounts in secrets.", &tokens.Uses.Legacy)
	all := []authn.TokenAuthenticator{tokens}
	if cfg.EnableBootstrapTokenAuth {
		all = append(all, accounts.BootstrapTokens{Objects: objects, Clock: r.Clock})
	}
	return all, nil
}

// issuerDocuments makes the documents about the issuer of tokens; nil for one that is
// not a URL by which others could find them.
func (r *Rooms) issuerDocuments(keys []crypto.PublicKey) (*authn.IssuerDocuments, error) {
	cfg := &r.Authentication
	issuer, err := url.Parse(cfg.ServiceAccountIssuers[0])
	if err != nil || issuer.Scheme != "https" || issuer.RawQuery != "" || issuer.Fragment != "" {
		return nil, nil
	}
	return authn.NewIssuerDocuments(issuer.String(), cmp.Or(cfg.ServiceAccountKeysURL, "https://"+r.KnownAs+endpoints.KeysPath), keys)
}

// Nodes implements parts.Rooms.
func (r *Rooms) Nodes(ctx context.Context) (authz.Authorizer, error) {
	if !slices.Contains(r.AuthorizationModes, authz.ModeNode) {
		return nil, nil
	}
	var err error
	r.nodes, err = nodes.Open(ctx, nodes.Config{Store: r.Store, Catalog: r.Catalog, Logger: r.Log})
	return r.nodes, err
}
