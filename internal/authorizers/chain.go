package authorizers

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	caller "github.com/capstan-dev/capstan/internal/webhook"
)

// Config describes a file of authorizers.
type Config struct {
	Path string
	// Since reports whether the release of the built-in kinds is a named one or a later one.
	Since func(release string) bool
	// Selectors says that requests for several objects have selectors.
	Selectors bool
	// Of makes the authorizer of a type other than Webhook. It is asked at the start only.
	Of    func(typ string) (authz.Authorizer, error)
	Clock func() time.Time
	Retry time.Duration // before the second attempt of a call; each pause is longer by half
}

// Chain asks the authorizers that the file names, in its order, after system:masters, which may do everything.
//
// Invariant: current is replaced as a whole, by a file without a mistake.
type Chain struct {
	cfg     Config
	compile *compiler
	known   map[string]authz.Authorizer // by their types, those of the start
	current atomic.Pointer[chain]
}

// chain is the authorizers of one text of the file.
type chain struct {
	authz.Authorizer
	clients []*caller.Client
}

var _ authz.RuleLister = &Chain{}

// Open makes the chain of a text of the file. Errors have the path.
func Open(cfg Config, text []byte) (*Chain, error) {
	compile, err := newCompiler(cfg.Selectors)
	if err != nil {
		return nil, err
	}
	c := &Chain{cfg: cfg, compile: compile,
		known: map[string]authz.Authorizer{authz.ModeAlwaysAllow: authz.AlwaysAllow(), authz.ModeAlwaysDeny: authz.AlwaysDeny()}}
	parsed, err := c.parse(text, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range parsed.Authorizers {
		if c.known[a.Type] == nil && a.Type != authz.ModeWebhook {
			if c.known[a.Type], err = cfg.Of(a.Type); err != nil {
				return nil, err
			}
		}
	}
	next, err := c.make(parsed)
	if err != nil {
		return nil, err
	}
	c.current.Store(next)
	return c, nil
}

// Reload puts another text of the file to use, unless there is a mistake in it. The types of the start, except Webhook, have to be there.
func (c *Chain) Reload(text []byte) error {
	var required []string
	for typ := range c.known {
		if typ != authz.ModeAlwaysAllow && typ != authz.ModeAlwaysDeny {
			required = append(required, typ)
		}
	}
	slices.Sort(required)
	parsed, err := c.parse(text, required)
	if err != nil {
		return err
	}
	next, err := c.make(parsed)
	if err != nil {
		return err
	}
	c.current.Swap(next).close()
	return nil
}

// parse reads a text that names some types at least.
func (c *Chain) parse(text []byte, required []string) (*configuration, error) {
	parsed, err := read(c.cfg.Path, text, c.cfg.Since)
	if err != nil {
		return nil, err
	}
	if wrong := parsed.validate(c.compile); len(wrong) > 0 {
		return nil, fmt.Errorf("%s: %w", c.cfg.Path, wrong.ToAggregate())
	}
	if wrong := parsed.checkNames(required); len(wrong) > 0 {
		return nil, fmt.Errorf("%s: %w", c.cfg.Path, utilerrors.NewAggregate(wrong))
	}
	return &parsed, nil
}

// make makes the authorizers of a configuration.
func (c *Chain) make(of *configuration) (*chain, error) {
	list, made := []authz.Authorizer{authz.Masters()}, &chain{}
	for _, a := range of.Authorizers {
		if a.Type != authz.ModeWebhook {
			if c.known[a.Type] == nil {
				made.close()
				return nil, fmt.Errorf("%s: authorizer type %s is not allowed if it was not enabled at initial server startup", c.cfg.Path, a.Type)
			}
			list = append(list, c.known[a.Type])
			continue
		}
		client, err := caller.Open(*a.Webhook.ConnectionInfo.KubeConfigFile)
		if err != nil {
			made.close()
			return nil, fmt.Errorf("%s: authorizer %s: %w", c.cfg.Path, a.Name, err)
		}
		made.clients = append(made.clients, client)
		list = append(list, c.webhook(a.Webhook, client))
	}
	made.Authorizer = authz.Union(list...)
	return made, nil
}

// webhook makes the authorizer of a webhook, which validate has accepted.
func (c *Chain) webhook(w *webhook, client *caller.Client) authz.Authorizer {
	cfg := authz.WebhookConfig{Reviewer: client, Version: w.SubjectAccessReviewVersion, Allowed: life(w.AuthorizedTTL, w.CacheAuthorizedRequests),
		Others: life(w.UnauthorizedTTL, w.CacheUnauthorizedRequests), Clock: c.cfg.Clock, Retry: c.cfg.Retry, Timeout: time.Duration(w.Timeout)}
	if w.FailurePolicy == deny {
		cfg.Fail = authz.Deny
	}
	if len(w.compiled.programs) > 0 {
		cfg.Match = w.compiled.match
	}
	return authz.NewWebhook(cfg)
}

// close lets go of the connections of the webhooks.
func (c *chain) close() {
	for _, client := range c.clients {
		client.Close()
	}
}

// Close ends the chain.
func (c *Chain) Close() { c.current.Load().close() }

// Authorize implements authz.Authorizer.
func (c *Chain) Authorize(ctx context.Context, a *authz.Attributes) (authz.Decision, string, error) {
	return c.current.Load().Authorize(ctx, a)
}

// Rules implements authz.RuleLister.
func (c *Chain) Rules(ctx context.Context, user *authn.User, namespace string) (authz.Rules, error) {
	return authz.RulesFor(ctx, c.current.Load().Authorizer, user, namespace)
}
