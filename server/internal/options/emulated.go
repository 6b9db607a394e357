package options

import (
	"errors"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	builtin "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
)

// builtinComponent stands for the built-in kinds in the releases to serve, as in kube-apiserver.
const builtinComponent = "kube"

// Emulated is an API in the release to serve, nil for none, and that of the built-in kinds. Objects that were stored under
// another release are shown, and written, as this one has them. The error names the flag to correct.
func (c *Config) Emulated(all *api.API) (own *api.API, edition *api.Edition, err error) {
	own = all
	for _, one := range c.EmulatedVersion {
		component, release, named := strings.Cut(one, "=")
		if !named {
			component, release = builtinComponent, one
		}
		switch {
		case release == "":
			return nil, nil, errors.New("--emulated-version: a release is missing; name one, or drop the comma")
		case component == builtinComponent: // see kube
		case all == nil || !hasGroup(all, component):
			return nil, nil, fmt.Errorf("--emulated-version %s: this server has no API with the group %s; name a group of its documents", one, component)
		default:
			if own, err = all.At(release); err != nil {
				return nil, nil, fmt.Errorf("--emulated-version %s: %w", one, err)
			}
		}
	}
	if edition, err = builtin.Edition(c.kube()); err != nil {
		return nil, nil, fmt.Errorf("--emulated-version %s: %w", c.kube(), err)
	}
	return own, edition, nil
}

// kube is the release of the built-in kinds.
func (c *Config) kube() string {
	release := discovery.Usual
	for _, one := range c.EmulatedVersion {
		if component, of, named := strings.Cut(one, "="); !named {
			release = one
		} else if component == builtinComponent {
			release = of
		}
	}
	return release
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
