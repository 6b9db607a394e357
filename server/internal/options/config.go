package options

// Config turns features, versions and resources on and off.
type Config struct {
	// RuntimeConfig turns group versions and resources on and off, see
	// ParseRuntimeConfig: "batch/v1=false", "api/alpha". Alpha versions, and
	// beta versions that came after 1.24, are off.
	RuntimeConfig []string
	// FeatureGates turns features on and off, see Parse: "APIListChunking=false".
	FeatureGates []string
	// EmulatedVersion has the releases to serve, COMPONENT=RELEASE: of the API of another module by one of its
	// groups, fleet.example.com=1.1; kube stands for the built-in kinds, and may be left out.
	EmulatedVersion []string
	// ShowHiddenMetricsForVersion names the release before this one, whose hidden metrics
	// are to be shown. There are none, so only the name is checked.
	ShowHiddenMetricsForVersion string
}

// Validate reports the first mistake, or nil. It cannot check RuntimeConfig, which depends
// on the catalog.
func (c *Config) Validate() error {
	if _, _, err := Parse(c.FeatureGates, c.kube()); err != nil {
		return err
	}
	return CheckHiddenMetrics(c.ShowHiddenMetricsForVersion)
}
