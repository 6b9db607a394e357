package admission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Config selects the plug-ins, with the settings of some.
type Config struct {
	// DisableAdmissionPlugins names plug-ins that are off.
	DisableAdmissionPlugins []string
	// EnableAdmissionPlugins names plug-ins that are on. Of the others those are that 1.25
	// has on by default.
	EnableAdmissionPlugins []string
	// NotReadyTolerationSeconds and UnreachableTolerationSeconds are the time that a pod
	// without own tolerations stays on a node that is not ready or not reachable. Default
	// 300; negative for 0.
	NotReadyTolerationSeconds, UnreachableTolerationSeconds int
	// RemoteRights is set where rights are decided outside of the server: then any write may
	// block.
	RemoteRights bool
	// AdmissionControl names all plug-ins that are on, instead of both.
	AdmissionControl []string
	// AdmissionControlConfigFile configures plug-ins; "" for their defaults.
	AdmissionControlConfigFile string

	// Settings, of that file, and the others are set by the server at its start.
	Settings Settings
	Webhooks Webhooks // nil for none
	Policies Policies // nil for none
	Quotas   Quotas   // the bounds of namespaces; nil for none
	Metrics  *metrics.PodSecurity
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
	if err := checkEnabled(c.AdmissionControl); err != nil {
		all = append(all, fmt.Errorf("--admission-control: %w", err))
	}
	if c.AdmissionControl != nil && (c.EnableAdmissionPlugins != nil || c.DisableAdmissionPlugins != nil) {
		all = append(all, errors.New("--admission-control names all plug-ins that are on: leave it out, or --enable-admission-plugins and --disable-admission-plugins"))
	}
	if err := checkDisabled(c.DisableAdmissionPlugins); err != nil {
		all = append(all, fmt.Errorf("--disable-admission-plugins: %w", err))
	}
	for _, n := range c.EnableAdmissionPlugins {
		if slices.Contains(c.DisableAdmissionPlugins, n) {
			all = append(all, fmt.Errorf("--enable-admission-plugins and --disable-admission-plugins: both name %s; leave it out of one", n))
		}
	}
	return errors.Join(all...)
}

// on reports whether a plug-in runs.
func (c *Config) on(p *plugin) bool {
	if c.AdmissionControl != nil {
		return slices.Contains(c.AdmissionControl, p.name)
	}
	return slices.Contains(c.EnableAdmissionPlugins, p.name) || !p.optional && !slices.Contains(c.DisableAdmissionPlugins, p.name)
}

// checkEnabled refuses names of plug-ins that this server does not have: an operator who
// turns one on relies on it.
func checkEnabled(names []string) error {
	if err := checkDisabled(names); err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !find(n).missing() })
	if len(missing) > 0 {
		return fmt.Errorf("this server does not have %s, and would let pass what they refuse; leave them out if that is not relied upon", strings.Join(missing, ", "))
	}
	return nil
}

// checkDisabled refuses names that are not plug-ins of 1.25.
func checkDisabled(names []string) error {
	for _, n := range names {
		if find(n) == nil {
			return fmt.Errorf("there is no admission plug-in %q; there are %s", n, strings.Join(slices.Concat(Names(false), Names(true)), ", "))
		}
	}
	return nil
}
