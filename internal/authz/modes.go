package authz

import (
	"errors"
	"fmt"
	"slices"
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
}

// SetDefaults fills in every field that is not set.
func (c *Config) SetDefaults() {
	if len(c.AuthorizationModes) == 0 {
		c.AuthorizationModes = []string{ModeRBAC}
	}
}

// Validate reports the mistake that New would, or nil.
func (c *Config) Validate() error {
	_, _, err := New(*c)
	return err
}

// New returns the authorizer of a configuration: its modes, asked in their order, after
// system:masters, which may do everything in every mode. Partial lists the modes that
// grant only the rights of Public: this server does not evaluate the policies of RBAC,
// Node and ABAC, which is safe (it grants no right) but worth a warning. An unknown,
// repeated or missing mode is an error; so is Webhook, which might deny requests that a
// later mode allows.
func New(cfg Config) (a Authorizer, partial []string, err error) {
	modes := cfg.AuthorizationModes
	if len(modes) == 0 {
		return nil, nil, fmt.Errorf("authorization mode: none is set; use some of %s", modeNames)
	}
	list := []Authorizer{Masters()}
	for i, mode := range modes {
		if slices.Contains(modes[:i], mode) {
			return nil, nil, fmt.Errorf("authorization mode: %s is given twice; name it once", mode)
		}
		switch mode {
		case ModeAlwaysAllow:
			list = append(list, AlwaysAllow())
		case ModeAlwaysDeny:
			list = append(list, AlwaysDeny())
		case ModeWebhook:
			return nil, nil, errors.New("authorization mode: this server asks no webhook; leave Webhook out")
		case ModeRBAC, ModeNode, ModeABAC:
			if len(partial) == 0 {
				list = append(list, Public())
			}
			partial = append(partial, mode)
		default:
			return nil, nil, fmt.Errorf("authorization mode: %q is unknown; use some of %s", mode, modeNames)
		}
	}
	return Union(list...), partial, nil
}

const modeNames = ModeAlwaysAllow + ", " + ModeAlwaysDeny + ", " + ModeABAC + ", " + ModeRBAC + ", " + ModeNode
