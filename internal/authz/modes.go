package authz

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The authorization modes of a server's configuration.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeABAC        = "ABAC"
	ModeWebhook     = "Webhook"
	ModeRBAC        = "RBAC"
	ModeNode        = "Node"
)

// Config lists the authorization modes.
type Config struct {
	// AuthorizationModes are asked in order. Default RBAC, without AuthorizationConfigFile.
	AuthorizationModes []string
	// AuthorizationConfigFile has the authorizers, with their order, in place of modes and a webhook, from release 1.30 on. Changes
	// of the file count.
	AuthorizationConfigFile string
	// AuthorizationPolicyFile holds the policies of the mode ABAC: a JSON object in each
	// line. It is read once, at the start.
	AuthorizationPolicyFile string
	// AuthorizationWebhookConfigFile is the client configuration for the webhook of the mode
	// Webhook.
	AuthorizationWebhookConfigFile string
	// AuthorizationWebhookVersion is the version of its SubjectAccessReviews: v1, or v1beta1,
	// the default. It may have the group before it.
	AuthorizationWebhookVersion string
	// AuthorizationWebhookAllowedTTL and AuthorizationWebhookOthersTTL are the times for which
	// the webhook's answers count that allow, and all others. Default 5m and 30s; negative for
	// not at all.
	AuthorizationWebhookAllowedTTL, AuthorizationWebhookOthersTTL time.Duration
}

// SetDefaults fills in every field that is not set.
func (c *Config) SetDefaults() {
	if len(c.AuthorizationModes) == 0 && c.AuthorizationConfigFile == "" {
		c.AuthorizationModes = []string{ModeRBAC}
	}
	c.AuthorizationWebhookVersion = cmp.Or(strings.TrimPrefix(c.AuthorizationWebhookVersion, "authorization."+profile.GroupSuffix+"/"), "v1beta1")
	c.AuthorizationWebhookAllowedTTL = cmp.Or(c.AuthorizationWebhookAllowedTTL, 5*time.Minute)
	c.AuthorizationWebhookOthersTTL = cmp.Or(c.AuthorizationWebhookOthersTTL, 30*time.Second)
}

// Validate reports the first mistake, or nil: an unknown, repeated or missing mode, or one
// without its policies. It opens no file.
func (c *Config) Validate() error {
	modes := c.AuthorizationModes
	if c.AuthorizationConfigFile != "" {
		if len(modes) > 0 || c.AuthorizationWebhookConfigFile != "" {
			return errors.New("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined: name all in the file")
		}
		return nil
	}
	if len(modes) == 0 {
		return fmt.Errorf("authorization mode: none is set; use some of %s", modeNames)
	}
	for i, mode := range modes {
		switch {
		case slices.Contains(modes[:i], mode):
			return fmt.Errorf("authorization mode: %s is given twice; name it once", mode)
		case !slices.Contains(strings.Split(modeNames, ", "), mode):
			return fmt.Errorf("authorization mode: %q is unknown; use some of %s", mode, modeNames)
		}
	}
	if v := c.AuthorizationWebhookVersion; slices.Contains(modes, ModeWebhook) && v != "v1" && v != "v1beta1" {
		return fmt.Errorf("--authorization-webhook-version: %q is neither v1 nor v1beta1, nor one of them after %q", v, "authorization."+profile.GroupSuffix+"/")
	}
	return errors.Join(c.needs(ModeABAC, "authorization-policy-file", c.AuthorizationPolicyFile),
		c.needs(ModeWebhook, "authorization-webhook-config-file", c.AuthorizationWebhookConfigFile))
}

// needs reports a mode without its file, or the file without the mode.
func (c *Config) needs(mode, flag, file string) error {
	switch on := slices.Contains(c.AuthorizationModes, mode); {
	case on && file == "":
		return fmt.Errorf("authorization mode: %s needs a file; name it with --%s", mode, flag)
	case !on && file != "":
		return fmt.Errorf("--%s is used by the authorization mode %s only; add it to --authorization-mode, or leave the file out", flag, mode)
	}
	return nil
}

const modeNames = ModeAlwaysAllow + ", " + ModeAlwaysDeny + ", " + ModeABAC + ", " + ModeWebhook + ", " + ModeRBAC + ", " + ModeNode

// Policies are the authorizers that decide by objects of the cluster, or elsewhere.
type Policies struct {
	RBAC          Authorizer
	Node, Webhook Authorizer // nil unless the mode is configured
}

// New returns the authorizer of a configuration: its modes, asked in their order, after
// system:masters, which may do everything in every mode.
// Errors: those of Validate, and of the policy file with the file and the line.
func New(cfg Config, policies Policies) (Authorizer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	list := []Authorizer{Masters()}
	for _, mode := range cfg.AuthorizationModes {
		authorizer, err := policies.Of(mode, cfg.AuthorizationPolicyFile)
		if err != nil {
			return nil, err
		}
		list = append(list, authorizer)
	}
	return Union(list...), nil
}

// Of is the authorizer of a mode; nil for an unknown one. file has the policies of ABAC; errors are those of the file.
func (p *Policies) Of(mode, file string) (Authorizer, error) {
	switch mode {
	case ModeAlwaysAllow:
		return AlwaysAllow(), nil
	case ModeAlwaysDeny:
		return AlwaysDeny(), nil
	case ModeRBAC:
		return p.RBAC, nil
	case ModeNode:
		return p.Node, nil
	case ModeWebhook:
		return p.Webhook, nil
	case ModeABAC:
		policies, err := readPolicies(file)
		if err != nil {
			return nil, fmt.Errorf("authorization policies: %w", err)
		}
		return policies, nil
	}
	return nil, nil
}
