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

// componentOf splits a release to serve; that of the built-in kinds needs no name.
func componentOf(one string) (component, release string) {
	component, release, named := strings.Cut(one, "=")
	if !named {
		return builtinComponent, one
	}
	return component, release
}

// Emulated is an API in the release to serve; nil for none. Objects that were stored under another release are
// shown, and written, as this one has them. The error names the flag to correct.
func (c *Config) Emulated(all *api.API) (*api.API, error) {
	own := all
	for _, one := range c.EmulatedVersion {
		component, release := componentOf(one)
		switch {
		case release == "":
			return nil, errors.New("--emulated-version: a release is missing; name one, or drop the comma")
		case component == builtinComponent: // see Builtin
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

// Builtin is the release to serve of the built-in kinds, whose tables it makes. The error names the flag to correct.
func (c *Config) Builtin() (*api.Edition, error) {
	edition, err := builtin.Edition(c.kube())
	if err != nil {
		return nil, fmt.Errorf("--emulated-version %s: %w", c.kube(), err)
	}
	return edition, nil
}

// kube is the release of the built-in kinds.
func (c *Config) kube() string {
	kube := discovery.Usual
	for _, one := range c.EmulatedVersion {
		if component, release := componentOf(one); component == builtinComponent {
			kube = release
		}
	}
	return kube
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
