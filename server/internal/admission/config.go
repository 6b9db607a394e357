package admission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Config selects the plug-ins, with the settings of some.
type Config struct {
	// DisableAdmissionPlugins names plug-ins that are off; all others are on, but for
	// NodeRestriction.
	DisableAdmissionPlugins []string
	// EnableAdmissionPlugins must name plug-ins of this server. It turns on those that are
	// off without it.
	EnableAdmissionPlugins []string
	// NotReadyTolerationSeconds and UnreachableTolerationSeconds are the time that a pod
	// without own tolerations stays on a node that is not ready or not reachable. Default
	// 300; negative for 0.
	NotReadyTolerationSeconds, UnreachableTolerationSeconds int
	// Webhooks are asked by plug-ins; nil for none.
	Webhooks Webhooks
}

const defaultToleration = 300 // seconds

// SetDefaults fills in every field that is not set.
func (c *Config) SetDefaults() {
	c.NotReadyTolerationSeconds = cmp.Or(c.NotReadyTolerationSeconds, defaultToleration)
	c.UnreachableTolerationSeconds = cmp.Or(c.UnreachableTolerationSeconds, defaultToleration)
}

// Validate reports the mistakes, joined into one error, or nil.
func (c *Config) Validate() error {
	var all []error
	if err := checkEnabled(c.EnableAdmissionPlugins); err != nil {
		all = append(all, fmt.Errorf("--enable-admission-plugins: %w", err))
	}
	if err := checkDisabled(c.DisableAdmissionPlugins); err != nil {
		all = append(all, fmt.Errorf("--disable-admission-plugins: %w", err))
	}
	return errors.Join(all...)
}

// checkEnabled refuses names of plug-ins that this server does not have: an operator who
// turns one on relies on it.
func checkEnabled(names []string) error {
	if err := checkDisabled(names); err != nil {
		return err
	}
	var missing []string
	for _, n := range names {
		if slices.Contains(upstream, n) {
			missing = append(missing, n)
		}
	}
	if missing != nil {
		return fmt.Errorf("this server does not have %s, and would let pass what they refuse; leave them out if that is not relied upon", strings.Join(missing, ", "))
	}
	return nil
}

// checkDisabled refuses names that are not plug-ins, here or in kube-apiserver 1.25.
func checkDisabled(names []string) error {
	for _, n := range names {
		if !slices.Contains(Names(), n) && !slices.Contains(upstream, n) && !slices.Contains(builtIn, n) {
			return fmt.Errorf("there is no admission plug-in %q; this server has %s", n, strings.Join(Names(), ", "))
		}
	}
	return nil
}
