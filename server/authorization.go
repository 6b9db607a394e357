package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/capstan-dev/capstan/internal/authorizers"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/server/internal/identity/nodes"
	"github.com/capstan-dev/capstan/server/internal/identity/rbac"
)

// newAuthorizationWebhook is the authorizer of the configured webhook.
func newAuthorizationWebhook(c *Config) (*authz.Webhook, error) {
	client, err := webhookOf(c.AuthorizationWebhookConfigFile)
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
	agents, err := nodes.Open(ctx, nodes.Config{Store: s.store, Catalog: s.catalog, Logger: s.log, Since: s.edition.Since})
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
