package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authorizers"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/externaljwt"
	"github.com/capstan-dev/capstan/internal/openid"
	"github.com/capstan-dev/capstan/internal/webhook"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/identity/accounts"
	"github.com/capstan-dev/capstan/server/internal/identity/nodes"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/identity/rbac"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// accountTokens makes and checks the tokens of service accounts, and checks bootstrap tokens.
type accountTokens struct {
	requested *authn.TokenIssuer
	ofSecrets *authn.TokenIssuer // nil without a key, with an external signer
	lives     endpoints.TokenLives
	documents func() (*authn.IssuerDocuments, int) // nil when the issuer is not a URL, see endpoints.Config
	keys      []crypto.PublicKey                   // that verify tokens
	external  authn.ExternalSigner                 // has them in place of keys; nil for none
	checks    []authn.TokenAuthenticator
}

// openAccounts makes the issuers of tokens for service accounts, and the authenticators of
// tokens that are objects.
func (s *Server) openAccounts(ctx context.Context) (*accountTokens, error) {
	cfg := &s.cfg
	all := accountTokens{lives: endpoints.TokenLives{Most: cfg.ServiceAccountMaxTokenExpiration}}
	if !cfg.KeepTokenExpiration {
		all.lives.Extended = endpoints.ExtendedTokenLife
	}
	open := s.openAccountKeys
	if cfg.ServiceAccountSigningEndpoint != "" {
		open = s.openSigner
	}
	if err := open(ctx, &all); err != nil {
		return nil, err
	}
	objects := accounts.Objects{Store: s.store, Catalog: s.catalog}
	tokens := authn.NewAccountTokens(authn.AccountTokenConfig{Issuers: cfg.ServiceAccountIssuers, Keys: all.keys, External: all.external,
		Audiences: cfg.APIAudiences, Clock: cfg.Clock, Lookup: !cfg.DisableServiceAccountLookup, Objects: objects,
		CredentialIDs: s.features.On("ServiceAccountTokenJTI"),
		PodNodes:      !s.edition.Since("1.26") || s.features.On("ServiceAccountTokenPodNodeInfo"),
		NodeTokens:    !s.edition.Since("1.29") || s.features.On("ServiceAccountTokenNodeBindingValidation")})
	s.metrics.Count("serviceaccount_valid_tokens_total", "Requests by tokens of service accounts that end by themselves.", &tokens.Uses.Valid)
	s.metrics.Count("serviceaccount_stale_tokens_total", "Requests by tokens of service accounts that should have been renewed.", &tokens.Uses.Stale)
	s.metrics.Count("serviceaccount_legacy_tokens_total", "Requests by tokens of service accounts in secrets.", &tokens.Uses.Legacy)
	all.checks = append(all.checks, tokens)
	if cfg.EnableBootstrapTokenAuth {
		all.checks = append(all.checks, accounts.BootstrapTokens{Objects: objects, Clock: cfg.Clock})
	}
	return &all, nil
}

// openAccountKeys reads or makes the keys that sign tokens, and those that verify them.
func (s *Server) openAccountKeys(_ context.Context, all *accountTokens) error {
	cfg := &s.cfg
	requested, secrets, err := s.keys.SigningKeys()
	if err != nil {
		return fmt.Errorf("service account signing key: %w", err)
	}
	if all.requested, err = authn.NewTokenIssuer(cfg.ServiceAccountIssuers[0], requested); err != nil {
		return fmt.Errorf("service account signing key: %w", err)
	}
	if all.ofSecrets, err = authn.NewTokenIssuer(cfg.ServiceAccountIssuers[0], secrets); err != nil {
		return fmt.Errorf("service account private key: %w", err)
	}
	var named []authn.PublicKey
	if all.keys, err = s.keys.AccountKeys(requested, secrets); err == nil {
		named, err = authn.NamePublicKeys(all.keys)
	}
	if err != nil {
		return fmt.Errorf("service account keys: %w", err)
	}
	documents, err := cfg.issuerDocuments(named)
	if err != nil {
		return fmt.Errorf("service account keys: %w", err)
	}
	if documents != nil {
		all.documents = func() (*authn.IssuerDocuments, int) { return documents, 3600 }
	}
	return nil
}

// openSigner begins to use the program that signs the tokens of service accounts. The key of tokens in secrets needs a flag of
// its own then, as that of kube-controller-manager does.
func (s *Server) openSigner(ctx context.Context, all *accountTokens) error {
	cfg := &s.cfg
	figures := metrics.NewExternalJWT()
	signer, err := accounts.OpenSigner(ctx, accounts.SignerConfig{Since: s.edition.Since, On: s.features.On, Most: all.lives.Most,
		Documents: cfg.issuerDocuments, Config: externaljwt.Config{Endpoint: cfg.ServiceAccountSigningEndpoint, Figures: figures, Log: s.log,
			Clock: cfg.Clock, Pauses: cfg.Seams.Durations.Signer}})
	if err != nil {
		return err
	}
	s.closeLater(signer.Close)
	s.metrics.Add(figures)
	all.external, all.requested, all.documents = signer, authn.NewExternalIssuer(cfg.ServiceAccountIssuers[0], signer), signer.Documents()
	longest := signer.LongestLife()
	all.lives = endpoints.TokenLives{Most: cmp.Or(all.lives.Most, longest), Extended: min(all.lives.Extended, longest)}
	if all.lives.Extended > 0 && longest < endpoints.ExtendedTokenLife {
		s.log.Warn("the signer of service accounts' tokens does not let the tokens that pods have by default last a year", "longest", longest)
	}
	if cfg.ServiceAccountPrivateKeyFile == "" {
		return nil
	}
	_, secrets, err := s.keys.SigningKeys()
	if err == nil {
		all.ofSecrets, err = authn.NewTokenIssuer(cfg.ServiceAccountIssuers[0], secrets)
	}
	if err != nil {
		return fmt.Errorf("service account private key: %w", err)
	}
	return nil
}

// issuerDocuments makes the documents about the issuer of tokens; nil for one that is
// not a URL by which others could find them.
func (c *Config) issuerDocuments(keys []authn.PublicKey) (*authn.IssuerDocuments, error) {
	issuer, err := url.Parse(c.ServiceAccountIssuers[0])
	if err != nil || issuer.Scheme != "https" || issuer.RawQuery != "" || issuer.Fragment != "" {
		return nil, nil
	}
	known := net.JoinHostPort(cmp.Or(c.ExternalHostname, c.AdvertiseAddress, c.BindAddress), fmt.Sprint(c.SecurePort))
	return authn.NewIssuerDocuments(issuer.String(), cmp.Or(c.ServiceAccountKeysURL, "https://"+known+endpoints.KeysPath), keys)
}

// openAuthentication makes the chain of the configured authenticators.
func (s *Server) openAuthentication() (authn.Authenticator, error) {
	cfg := &s.cfg
	tokens := append(authn.TokenUnion{s.keys}, s.accounts.checks...)
	if cfg.OIDCIssuerURL != "" {
		issuer, err := openid.Open(openid.Config{Settings: cfg.OpenID, CredentialIDs: s.edition.Since("1.32"), Logger: s.log, Clock: cfg.Clock,
			Retry: cfg.Seams.Durations.Discovery})
		if err != nil {
			return nil, fmt.Errorf("ID tokens: %w", err)
		}
		s.closeLater(issuer.Close)
		s.issuer = issuer
		tokens = append(tokens, issuer)
	}
	anonymous := &openid.Anonymous{Enabled: true}
	if cfg.AuthenticationConfigFile != "" {
		issuers, err := s.openIssuers()
		if err != nil {
			return nil, fmt.Errorf("--authentication-config: %w", err)
		}
		tokens = append(tokens, issuers)
		anonymous = cmp.Or(issuers.Anonymous(), anonymous)
	}
	if cfg.TokenWebhookConfigFile != "" {
		hook, err := newTokenWebhook(cfg)
		if err != nil {
			return nil, fmt.Errorf("token webhook: %w", err)
		}
		tokens = append(tokens, hook)
	}
	s.tokens = tokens
	return authn.New(authn.Config{Log: cfg.Logger, Proxies: s.keys.Proxies(), Certificates: s.keys, Tokens: tokens, Audiences: cfg.APIAudiences,
		Anonymous: cfg.anonymous() && anonymous.Enabled, AnonymousPaths: anonymous.Paths()}), nil
}

// openIssuers begins to look for the issuers of the file, and follows its changes.
func (s *Server) openIssuers() (*openid.Issuers, error) {
	path := s.cfg.AuthenticationConfigFile
	if !s.features.On("StructuredAuthenticationConfiguration") {
		return nil, errors.New("it cannot be used without the feature gate StructuredAuthenticationConfiguration, which releases have from 1.29 on: see --emulated-version")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	issuers, err := openid.OpenFile(openid.FileConfig{Path: path, Since: s.edition.Since, AnonymousPaths: s.features.On("AnonymousAuthConfigurableEndpoints"),
		Own: s.cfg.ServiceAccountIssuers, Logger: s.log, Clock: s.cfg.Clock, Retry: s.cfg.Seams.Durations.Discovery, Wait: discoveryWait}, text)
	if err != nil {
		return nil, err
	}
	s.closeLater(issuers.Close)
	if issuers.Anonymous() != nil && s.cfg.DisableAnonymousAuth {
		return nil, fmt.Errorf("%s: anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file", path)
	}
	s.follow("authentication configuration", "authentication_config_controller", path, text, issuers.Reload)
	return issuers, nil
}

// discoveryWait is the time for which a changed file of issuers waits for them, in which no other file is looked at.
const discoveryWait = 10 * time.Second

// newTokenWebhook is the authenticator of the configured webhook.
func newTokenWebhook(c *Config) (*authn.TokenWebhook, error) {
	client, err := webhook.Open(c.TokenWebhookConfigFile)
	if err != nil {
		return nil, err
	}
	return authn.NewTokenWebhook(authn.TokenWebhookConfig{Reviewer: client, Version: c.TokenWebhookVersion, Audiences: c.APIAudiences,
		Life: c.TokenWebhookCacheTTL, Clock: c.Clock, Retry: c.Seams.Durations.Webhook, Timeout: c.Seams.Durations.WebhookAnswer}), nil
}

// newAuthorizationWebhook is the authorizer of the configured webhook.
func newAuthorizationWebhook(c *Config) (*authz.Webhook, error) {
	client, err := webhook.Open(c.AuthorizationWebhookConfigFile)
	if err != nil {
		return nil, err
	}
	return authz.NewWebhook(authz.WebhookConfig{Reviewer: client, Version: c.AuthorizationWebhookVersion, Allowed: c.AuthorizationWebhookAllowedTTL,
		Others: c.AuthorizationWebhookOthersTTL, Clock: c.Clock, Retry: c.Seams.Durations.Webhook, Timeout: c.Seams.Durations.WebhookAnswer}), nil
}

// openAuthorization makes the authorizer of the configured modes, or of the file that names authorizers.
func (s *Server) openAuthorization(ctx context.Context, roles *rbac.Policy) (authz.Authorizer, error) {
	if s.cfg.AuthorizationConfigFile != "" {
		return s.openAuthorizers(ctx, roles)
	}
	policies := authz.Policies{RBAC: roles}
	if slices.Contains(s.cfg.AuthorizationModes, authz.ModeNode) {
		agents, err := s.openNodes(ctx)
		if err != nil {
			return nil, err
		}
		policies.Node = agents
	}
	if slices.Contains(s.cfg.AuthorizationModes, authz.ModeWebhook) {
		hook, err := newAuthorizationWebhook(&s.cfg)
		if err != nil {
			return nil, fmt.Errorf("authorization webhook: %w", err)
		}
		policies.Webhook = hook
	}
	return authz.New(s.cfg.Authorization, policies)
}

// openNodes makes the authorizer of the agents of nodes.
func (s *Server) openNodes(ctx context.Context) (*nodes.Authorizer, error) {
	agents, err := nodes.Open(ctx, nodes.Config{Store: s.store, Catalog: s.catalog, Logger: s.log, Release: s.release(),
		OwnOnly: s.features.On("AuthorizeNodeWithSelectors") && s.selectsRights()})
	if err == nil {
		s.closeLater(agents.Close)
	}
	return agents, err
}

// openAuthorizers makes the authorizers of the file, and follows its changes.
func (s *Server) openAuthorizers(ctx context.Context, roles *rbac.Policy) (authz.Authorizer, error) {
	path := s.cfg.AuthorizationConfigFile
	if !s.features.On("StructuredAuthorizationConfiguration") {
		return nil, errors.New("--authorization-config cannot be used without the feature gate StructuredAuthorizationConfiguration, " +
			"which releases have from 1.29 on: see --emulated-version")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--authorization-config: %w", err)
	}
	policies := authz.Policies{RBAC: roles}
	chain, err := authorizers.Open(authorizers.Config{Path: path, Since: s.edition.Since, Selectors: s.selectsRights(), Clock: s.cfg.Clock,
		Retry: s.cfg.Seams.Durations.Webhook, Of: func(typ string) (authz.Authorizer, error) {
			if typ == authz.ModeNode {
				return s.openNodes(ctx)
			}
			return policies.Of(typ, s.cfg.AuthorizationPolicyFile)
		}}, text)
	if err != nil {
		return nil, fmt.Errorf("--authorization-config: %w", err)
	}
	s.closeLater(chain.Close)
	s.follow("authorization configuration", "authorization_config_controller", path, text, chain.Reload)
	return chain, nil
}

// selectsRights reports whether authorizers see the selectors of requests.
func (s *Server) selectsRights() bool { return s.features.On("AuthorizeWithSelectors") }

// site is the server for which certificates are made.
func (s *Server) site() pki.Site {
	c := &s.cfg
	site := pki.Site{Address: c.BindAddress, Now: c.Clock, Log: s.log, Changed: s.credentialsChanged,
		CertContent: authn.CertContent{CredentialIDs: s.edition.Since("1.32"), UIDs: s.features.On("AllowParsingUserUIDFromCertAuth")},
		Names: []string{addresses.OwnService, addresses.OwnService + ".default", addresses.OwnService + ".default.svc",
			addresses.OwnService + ".default.svc.cluster.local"}}
	if ranges, err := addresses.Ranges(c.ServiceClusterIPRange); err == nil {
		for _, r := range ranges {
			site.Names = append(site.Names, allocate.First(r).String())
		}
	}
	if c.Listener != nil {
		if host, _, err := net.SplitHostPort(c.Listener.Addr().String()); err == nil {
			site.Address = host
		}
	}
	return site
}

// credentialsChanged updates everything made of the earlier credentials.
func (s *Server) credentialsChanged(before, now *pki.Credentials) {
	authority := !bytes.Equal(before.CA, now.CA)
	if authority {
		s.controllers.RootCAChanged()
	}
	if !authority && bytes.Equal(before.AdminCert, now.AdminCert) {
		return
	}
	if err := s.keys.WriteKubeconfig(s.URL()); err != nil {
		s.log.Error("the certificate is in use, but clients cannot be told", "error", err)
	}
}

// frontProxy is the certificate by which extension servers know this server; nil for none.
func (s *Server) frontProxy() *tls.Certificate { return s.keys.Credentials().FrontProxy() }

// CA is the certificate, PEM, by which clients verify the server.
func (s *Server) CA() []byte { return s.keys.Credentials().CA }

// Kubeconfig returns the administrator's client configuration for this server,
// or nil when it has no administrator's certificate.
func (s *Server) Kubeconfig() []byte { return s.keys.Credentials().Kubeconfig(s.URL()) }

// KubeconfigPath is the file with the administrator's client configuration; "" when the
// server keeps nothing on disk or trusts only given authorities.
func (s *Server) KubeconfigPath() string { return s.keys.KubeconfigPath() }

// Reload checks at once whether the files of certificates, keys and tokens have changed,
// and takes the changes. The server does so by itself every few seconds.
func (s *Server) Reload() { s.keys.Reload() }
