package admission

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/webhook"
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
	// Since reports whether the release of the built-in kinds is a named one or a later one. Nil: the oldest one.
	Since func(release string) bool
	// Gate reports whether a feature is on, by the name of its gate. Nil: none of the later ones is.
	Gate func(name string) bool
	// RemoteRights is set where rights are decided outside of the server: then any write may
	// block.
	RemoteRights bool
	// AdmissionControl names all plug-ins that are on, instead of both.
	AdmissionControl []string
	// AdmissionControlConfigFile configures plug-ins; "" for their defaults.
	AdmissionControlConfigFile string

	// Settings, of that file, and the others are set by the server at its start.
	Settings Settings
	Webhooks Reviewer // nil for none
	Policies Reviewer // nil for none
	Quotas   Quotas   // the bounds of namespaces; nil for none
	Metrics  *metrics.PodSecurity
	Timings  *metrics.Admission

	ImageWebhook webhook.Caller // asked by ImagePolicyWebhook
}

const (
	defaultToleration = 300 // seconds
	claimGate         = "DRAResourceClaimGranularStatusAuthorization"
)

// SetDefaults fills in every field that is not set.
func (c *Config) SetDefaults() {
	c.NotReadyTolerationSeconds = cmp.Or(c.NotReadyTolerationSeconds, defaultToleration)
	c.UnreachableTolerationSeconds = cmp.Or(c.UnreachableTolerationSeconds, defaultToleration)
}

// Validate reports the mistakes, joined into one error, or nil.
func (c *Config) Validate() error {
	var all []error
	if err := checkNames(c.EnableAdmissionPlugins); err != nil {
		all = append(all, fmt.Errorf("--enable-admission-plugins: %w", err))
	}
	if err := checkNames(c.AdmissionControl); err != nil {
		all = append(all, fmt.Errorf("--admission-control: %w", err))
	}
	if c.AdmissionControl != nil && (c.EnableAdmissionPlugins != nil || c.DisableAdmissionPlugins != nil) {
		all = append(all, errors.New("--admission-control names all plug-ins that are on: leave it out, or --enable-admission-plugins and --disable-admission-plugins"))
	}
	if err := checkNames(c.DisableAdmissionPlugins); err != nil {
		all = append(all, fmt.Errorf("--disable-admission-plugins: %w", err))
	}
	for _, n := range c.EnableAdmissionPlugins {
		if slices.Contains(c.DisableAdmissionPlugins, n) {
			all = append(all, fmt.Errorf("--enable-admission-plugins and --disable-admission-plugins: both name %s; leave it out of one", n))
		}
	}
	return errors.Join(all...)
}

// Load reads the settings. Errors name file and line of a mistake.
func (c *Config) Load() (err error) {
	if c.Settings, err = ReadSettings(c.AdmissionControlConfigFile); err != nil {
		return err
	}
	if c.On("EventRateLimit") && len(c.Settings.Events) == 0 {
		return errors.New("--admission-control-config-file: the plug-in EventRateLimit needs limits")
	}
	if !c.On("ImagePolicyWebhook") {
		return nil
	}
	if c.Settings.ImagePolicy.Kubeconfig == "" {
		return errors.New("--admission-control-config-file: the plug-in ImagePolicyWebhook needs a kubeConfigFile")
	}
	c.ImageWebhook, err = webhook.Open(c.Settings.ImagePolicy.Kubeconfig)
	return err
}

// On reports whether the plug-in with a name runs.
func (c *Config) On(name string) bool { return c.on(find(name)) }

func (c *Config) since(release string) bool { return c.Since != nil && c.Since(release) }

func (c *Config) gate(name string) bool { return c.Gate != nil && c.Gate(name) }

// on reports whether a plug-in runs.
func (c *Config) on(p *plugin) bool {
	if p.since != "" && !c.since(p.since) || p.gate != "" && !c.gate(p.gate) && (!p.early || c.since("1.26")) {
		return false
	}
	if c.AdmissionControl != nil {
		return slices.Contains(c.AdmissionControl, p.name)
	}
	return slices.Contains(c.EnableAdmissionPlugins, p.name) || !p.optional && !slices.Contains(c.DisableAdmissionPlugins, p.name)
}

// checkNames refuses names that are not plug-ins of 1.25.
func checkNames(names []string) error {
	for _, n := range names {
		if find(n) == nil {
			return fmt.Errorf("there is no admission plug-in %q; there are %s", n, strings.Join(slices.Concat(Names(false), Names(true)), ", "))
		}
	}
	return nil
}
