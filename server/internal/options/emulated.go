package options

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/discovery"
)

// builtinComponent stands for the built-in kinds in the releases to serve, as in kube-apiserver.
const builtinComponent = "kube"

// Emulated is an API in the release to serve; nil for none. Objects that were stored under another release are
// shown, and written, as this one has them. The error names the flag to correct.
func (c *Config) Emulated(all *api.API) (*api.API, error) {
	own := all
	for _, one := range c.EmulatedVersion {
		component, release, named := strings.Cut(one, "=")
		if !named {
			component, release = builtinComponent, one
		}
		switch {
		case component == builtinComponent:
			if builtin := discovery.Major + "." + discovery.Minor; release != builtin {
				return nil, fmt.Errorf("--emulated-version %s: the built-in kinds are served as in %s; drop the flag", one, builtin)
			}
		case all == nil || !hasGroup(all, component):
			return nil, fmt.Errorf("--emulated-version %s: this server has no API with the group %s; name a group of its documents", one, component)
		default:
			var err error
			if own, err = all.At(release); err != nil {
				return nil, fmt.Errorf("--emulated-version %s: %w", one, err)
			}
		}
	}
	return own, nil
}

// hasGroup reports whether an API has a group in some release.
func hasGroup(a *api.API, name string) bool {
	groups := a.Groups()
	for _, r := range a.Others {
		groups = append(groups, r.Groups()...)
	}
	for _, gv := range groups {
		if gv.Group == name {
			return true
		}
	}
	return false
}
