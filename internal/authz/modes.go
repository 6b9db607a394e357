package authz

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// AuthorizationModes are asked in order. Default RBAC.
	AuthorizationModes []string
	// AuthorizationPolicyFile holds the policies of the mode ABAC: a JSON object in each
	// line. It is read once, at the start.
	AuthorizationPolicyFile string
}

// SetDefaults fills in every field that is not set.
func (c *Config) SetDefaults() {
	if len(c.AuthorizationModes) == 0 {
		c.AuthorizationModes = []string{ModeRBAC}
	}
}

// Validate reports the first mistake, or nil: an unknown, repeated or missing mode, or one
// without its policies. It opens no file.
func (c *Config) Validate() error {
	modes := c.AuthorizationModes
	if len(modes) == 0 {
		return fmt.Errorf("authorization mode: none is set; use some of %s", modeNames)
	}
	for i, mode := range modes {
		switch {
		case slices.Contains(modes[:i], mode):
			return fmt.Errorf("authorization mode: %s is given twice; name it once", mode)
		case mode == ModeWebhook:
			return errors.New("authorization mode: this server asks no webhook; leave Webhook out")
		case !slices.Contains(strings.Split(modeNames, ", "), mode):
			return fmt.Errorf("authorization mode: %q is unknown; use some of %s", mode, modeNames)
		}
	}
	if abac := slices.Contains(modes, ModeABAC); abac != (c.AuthorizationPolicyFile != "") {
		if abac {
			return errors.New("authorization mode: ABAC needs a file of policies; name it with --authorization-policy-file")
		}
		return errors.New("--authorization-policy-file is used by the authorization mode ABAC only; add it to --authorization-mode, or leave the file out")
	}
	return nil
}

const modeNames = ModeAlwaysAllow + ", " + ModeAlwaysDeny + ", " + ModeABAC + ", " + ModeRBAC + ", " + ModeNode

// Policies are the authorizers that decide by objects of the cluster.
type Policies struct {
	RBAC Authorizer
	Node Authorizer // nil unless the mode is configured
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
		switch mode {
		case ModeAlwaysAllow:
			list = append(list, AlwaysAllow())
		case ModeAlwaysDeny:
			list = append(list, AlwaysDeny())
		case ModeRBAC:
			list = append(list, policies.RBAC)
		case ModeNode:
			list = append(list, policies.Node)
		case ModeABAC:
			policies, err := readPolicies(cfg.AuthorizationPolicyFile)
			if err != nil {
				return nil, fmt.Errorf("authorization policies: %w", err)
			}
			list = append(list, policies)
		}
	}
	return Union(list...), nil
}
