package server

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/openid"
	"github.com/capstan-dev/capstan/internal/webhook"
	"github.com/capstan-dev/capstan/server/internal/addresses"
	"github.com/capstan-dev/capstan/server/internal/pki"
	"github.com/capstan-dev/capstan/server/internal/rbac"
)

// openAuthentication makes the chain of the configured authenticators.
func (s *Server) openAuthentication() error {
	cfg := &s.cfg
	tokens := authn.TokenUnion{s.keys}
	if s.rooms != nil {
		more, err := s.rooms.Logins()
		if err != nil {
			return err
		}
		tokens = append(tokens, more...)
	}
	var err error
	if cfg.OIDCIssuerURL != "" {
		if s.openID, err = cfg.extras().IDTokens(openid.Config{Settings: cfg.OpenID, Logger: s.log, Clock: cfg.Clock, Retry: cfg.durations.Discovery}); err != nil {
			return fmt.Errorf("ID tokens: %w", err)
		}
		tokens = append(tokens, s.openID)
	}
	if cfg.TokenWebhookConfigFile != "" {
		hook, err := newTokenWebhook(cfg)
		if err != nil {
			return fmt.Errorf("token webhook: %w", err)
		}
		tokens = append(tokens, hook)
	}
	s.tokens = tokens
	s.authn = authn.New(authn.Config{Log: cfg.Logger, Proxies: s.keys.Proxies(), Certificates: s.keys, Tokens: s.tokens, Audiences: cfg.APIAudiences, Anonymous: cfg.anonymous()})
	return nil
}

// newTokenWebhook is the authenticator of the configured webhook.
func newTokenWebhook(c *Config) (*authn.TokenWebhook, error) {
	client, err := webhookOf(c.TokenWebhookConfigFile)
	if err != nil {
		return nil, err
	}
	return authn.NewTokenWebhook(authn.TokenWebhookConfig{Reviewer: client, Version: c.TokenWebhookVersion, Audiences: c.APIAudiences,
		Life: c.TokenWebhookCacheTTL, Clock: c.Clock, Retry: c.durations.Webhook, Timeout: c.durations.WebhookAnswer}), nil
}

// newAuthorizationWebhook is the authorizer of the configured webhook.
func newAuthorizationWebhook(c *Config) (*authz.Webhook, error) {
	client, err := webhookOf(c.AuthorizationWebhookConfigFile)
	if err != nil {
		return nil, err
	}
	return authz.NewWebhook(authz.WebhookConfig{Reviewer: client, Version: c.AuthorizationWebhookVersion, Allowed: c.AuthorizationWebhookAllowedTTL,
		Others: c.AuthorizationWebhookOthersTTL, Clock: c.Clock, Retry: c.durations.Webhook, Timeout: c.durations.WebhookAnswer}), nil
}

// webhookOf is the webhook that a client configuration names.
func webhookOf(file string) (*webhook.Client, error) {
	target, err := webhook.ReadKubeconfig(file)
	if err != nil {
		return nil, err
	}
	return webhook.New(target, nil)
}

// openAuthorization makes the authorizer of the configured modes.
func (s *Server) openAuthorization(ctx context.Context) (err error) {
	if s.rbac, err = rbac.Open(ctx, rbac.Config{Store: s.store, Catalog: s.catalog, Logger: s.log}); err != nil {
		return err
	}
	s.core.RBAC = s.rbac
	policies := authz.Policies{RBAC: s.rbac}
	switch {
	case s.rooms != nil:
		if policies.Node, err = s.rooms.Nodes(ctx); err != nil {
			return err
		}
	case slices.Contains(s.cfg.AuthorizationModes, authz.ModeNode):
		return fmt.Errorf("authorization mode: %s needs the built-in groups, which this server does not have; leave it out", authz.ModeNode)
	}
	if slices.Contains(s.cfg.AuthorizationModes, authz.ModeWebhook) {
		if policies.Webhook, err = newAuthorizationWebhook(&s.cfg); err != nil {
			return fmt.Errorf("authorization webhook: %w", err)
		}
	}
	s.authz, err = authz.New(s.cfg.Authorization, policies)
	s.core.Authz = s.authz
	return err
}

// site is the server for which certificates are made.
func (s *Server) site() pki.Site {
	c := &s.cfg
	site := pki.Site{Address: c.BindAddress, Now: c.Clock, Log: s.log, Changed: s.credentialsChanged,
		Names: []string{addresses.OwnService, addresses.OwnService + ".default", addresses.OwnService + ".default.svc", addresses.OwnService + ".default.svc.cluster.local"}}
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
