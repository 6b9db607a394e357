package otlp

import (
	"net"
	"strings"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Config is a configuration of traces.
type Config struct {
	// Rate is the part of the requests that are recorded, of those whose clients may not
	// choose: 0 to 1,000,000.
	Rate             int
	network, address string // of the collector
}

// defaultEndpoint is that of collectors on this machine.
const defaultEndpoint = "localhost:4317"

// Read reads a configuration; nil for the path "". Errors begin with file and line.
func Read(path string) (*Config, error) {
	if path == "" {
		return nil, nil
	}
	file, err := configfile.Read(path)
	const group = "apiserver.config." + profile.GroupSuffix
	if err == nil {
		err = file.Is("TracingConfiguration", group+"/v1alpha1", group+"/v1beta1", group+"/v1")
	}
	var text struct {
		Endpoint               *string `yaml:"endpoint"`
		SamplingRatePerMillion *int    `yaml:"samplingRatePerMillion"`
	}
	if err == nil {
		err = file.Decode(&text)
	}
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if text.SamplingRatePerMillion != nil {
		if c.Rate = *text.SamplingRatePerMillion; c.Rate < 0 || c.Rate > 1e6 {
			return nil, file.At("samplingRatePerMillion").Wrong("samplingRatePerMillion: %d is out of range; use 0 to 1000000", c.Rate)
		}
	}
	endpoint := defaultEndpoint
	if text.Endpoint != nil && *text.Endpoint != "" {
		endpoint = *text.Endpoint
	}
	if c.network, c.address = target(endpoint); c.address == "" {
		return nil, file.At("endpoint").Wrong("endpoint: %q: write HOST:PORT, dns:///HOST:PORT, unix:///PATH or unix-abstract:NAME; collectors are reached without TLS", endpoint)
	}
	return c, nil
}

// target is the address that a target of gRPC means; "" for one that it does not know.
func target(endpoint string) (network, address string) {
	scheme, rest, found := strings.Cut(endpoint, ":")
	switch {
	case found && scheme == "unix":
		return "unix", strings.TrimPrefix(rest, "//")
	case found && scheme == "unix-abstract":
		if name := strings.TrimPrefix(rest, "//"); name != "" {
			return "unix", "@" + name
		}
		return "unix", ""
	case strings.HasPrefix(endpoint, "dns:"):
		endpoint = rest
		if path, found := strings.CutPrefix(endpoint, "//"); found {
			_, endpoint, _ = strings.Cut(path, "/") // without the server of names, which is not used
		}
	case strings.Contains(endpoint, "/"):
		return "", ""
	}
	if _, _, err := net.SplitHostPort(endpoint); err != nil {
		if strings.Contains(endpoint, ":") || endpoint == "" {
			return "", ""
		}
		endpoint = net.JoinHostPort(endpoint, "443") // the port of gRPC's targets without one
	}
	return "tcp", endpoint
}
