package server

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

func TestConfigDefaultsAreValid(t *testing.T) {
	for name, c := range map[string]Config{
		"in memory": {InMemory: true},
		"on disk":   {DataDir: "/data"},
		"unbounded": {InMemory: true, Requests: Requests{MaxRequestsInflight: -1, MaxMutatingRequestsInflight: -1}},
		"ipv6":      {InMemory: true, BindAddress: "::", Addresses: Addresses{ServiceClusterIPRange: "10.0.0.0/16,fd00::/108"}},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSetDefaults(t *testing.T) {
	c := Config{DataDir: "/data", History: time.Hour}
	c.setDefaults()
	if c.History != time.Hour || c.RequestTimeout != 60*time.Second || c.MaxRequestBytes != 3<<20 || c.MaxObjectBytes != 1572864 {
		t.Errorf("%+v", c)
	}
	if c.CertDir != "/data/pki" || c.KubeconfigFile != "/data/admin.kubeconfig" || c.SecurePort != 0 {
		t.Errorf("%+v", c)
	}
	if c.Logger == nil || c.Clock().IsZero() || !c.anonymous() {
		t.Errorf("%+v", c)
	}
	memory := Config{InMemory: true, PKI: PKI{CertDir: "/data/pki"}, Authorization: Authorization{AuthorizationModes: []string{"AlwaysAllow"}}}
	memory.setDefaults()
	if memory.CertDir != "" || memory.KubeconfigFile != "" || memory.anonymous() || memory.keepsFiles() {
		t.Errorf("%+v", memory)
	}
}

func TestValidateSaysAllThatIsWrong(t *testing.T) {
	base := Config{InMemory: true}
	for want, change := range map[string]func(*Config){
		"data directory": func(c *Config) { c.InMemory = false },
		"no form of objects": func(c *Config) {
			c.InMemory, c.DataDir, c.EtcdServers, c.StorageMediaType = false, "d", []string{"http://a"}, "application/xml"
			c.OpenEtcd = func(context.Context, shared.Config) (shared.Store, error) { return nil, nil }
		},
		"bind address":              func(c *Config) { c.BindAddress = "localhost" },
		"--secure-port":             func(c *Config) { c.SecurePort = 65536 },
		"serving certificate":       func(c *Config) { c.TLSCertFile = "x" },
		"no certificate and key":    func(c *Config) { c.TLSSNICertKeys = []string{"a,b", "a:b"} },
		"an empty name":             func(c *Config) { c.TLSSNICertKeys = []string{"a,b:c,"} },
		"no feature gate Nonsense":  func(c *Config) { c.FeatureGates = []string{"Nonsense=true"} },
		"least TLS version":         func(c *Config) { c.TLSMinVersion = "VersionTLS10" },
		"TLS cipher suite":          func(c *Config) { c.TLSCipherSuites = []string{"TLS_RSA_WITH_RC4_128_SHA"} },
		"authorization mode":        func(c *Config) { c.AuthorizationModes = []string{"RBAC", "x"} },
		"is not a CIDR":             func(c *Config) { c.ServiceClusterIPRange = "10.0.0.0" },
		"has room for fewer":        func(c *Config) { c.ServiceClusterIPRange = "10.0.0.1/32" },
		"is too wide":               func(c *Config) { c.ServiceClusterIPRange = "fd00::/64" },
		"is not a range of ports":   func(c *Config) { c.ServiceNodePortRange = "a-b" },
		"between 1 and 65535":       func(c *Config) { c.ServiceNodePortRange = "2-1" },
		"one address family":        func(c *Config) { c.ServiceClusterIPRange = "10.0.0.0/24,10.1.0.0/24" },
		"has 3 ranges":              func(c *Config) { c.ServiceClusterIPRange = "10.0.0.0/24,fd00::/108,10.1.0.0/24" },
		"--history":                 func(c *Config) { c.History = -1 },
		"--request-timeout":         func(c *Config) { c.RequestTimeout = time.Nanosecond },
		"--min-request-timeout":     func(c *Config) { c.MinRequestTimeout = -1 },
		"--shutdown-delay-duration": func(c *Config) { c.ShutdownDelay = -1 },
		"--max-object-bytes: -1":    func(c *Config) { c.MaxObjectBytes = -1 },
		"--max-request-bytes":       func(c *Config) { c.MaxRequestBytes = 1 << 20 },
		"--list-memory-bytes":       func(c *Config) { c.ListMemoryBytes = -1 },
		"--binary-cache-bytes":      func(c *Config) { c.BinaryCacheBytes = -1 },
		"--slow-requests":           func(c *Config) { c.SlowRequests = 1 << 20 },
		"--slow-request-threshold":  func(c *Config) { c.SlowRequestThreshold = -1 },
		"out of range; use 1h0m0s":  func(c *Config) { c.ServiceAccountMaxTokenExpiration = time.Minute },
		"there is no admission":     func(c *Config) { c.EnableAdmissionPlugins = []string{"Priority", "PodSecurty"} },
		"unknown or not safe":       func(c *Config) { c.TLSCipherSuites = []string{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"} },
		"controllers":               func(c *Config) { c.Controllers = []string{"*", "-"} },
	} {
		c := base
		change(&c)
		err := c.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", want, err)
		}
	}

	c := Config{BindAddress: "x", SecurePort: -1, History: -1}
	if err := c.Validate(); err == nil || len(strings.Split(err.Error(), "\n")) != 4 {
		t.Errorf("want four mistakes: %v", err)
	}
}

func TestServiceRanges(t *testing.T) {
	got, err := addresses.Ranges("10.3.4.5/16, fd00::1/108")
	want := []netip.Prefix{netip.MustParsePrefix("10.3.0.0/16"), netip.MustParsePrefix("fd00::/108")}
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzServiceRanges(f *testing.F) {
	for _, s := range []string{addresses.DefaultServiceCIDR, "10.0.0.0/16,fd00::/108", "::/0", ",", "1.2.3.4/33"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ranges, err := addresses.Ranges(text)
		for _, r := range ranges {
			if first := r.Addr().Next(); err != nil || !r.Contains(first) {
				t.Fatalf("%q: no first address in %v (%v)", text, r, err)
			}
		}
	})
}

// listenerAt is a listener with only an address.
type listenerAt struct {
	net.Listener
	addr net.Addr
}

func (l listenerAt) Addr() net.Addr { return l.addr }

// TestSite checks the names and addresses in the certificate.
func TestSite(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want []string
	}{
		"default":    {Config{}, []string{"127.0.0.1", "kubernetes.default.svc.cluster.local", "10.0.0.1"}},
		"bind":       {Config{BindAddress: "192.0.2.7"}, []string{"192.0.2.7"}},
		"dual stack": {Config{Addresses: Addresses{ServiceClusterIPRange: "10.3.0.0/16,fd00::/108"}}, []string{"10.3.0.1", "fd00::1"}},
		"listener":   {Config{Listener: listenerAt{addr: &net.TCPAddr{IP: net.ParseIP("192.0.2.8"), Port: 1}}}, []string{"192.0.2.8"}},
		"no TCP":     {Config{Listener: listenerAt{addr: &net.UnixAddr{Name: "/tmp/s"}}}, []string{"127.0.0.1"}},
	} {
		c.cfg.setDefaults()
		site := (&Server{cfg: c.cfg}).site()
		got := append(site.Names, site.Address)
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %q is not among %q", name, w, got)
			}
		}
	}
}

func TestHiddenMetrics(t *testing.T) {
	for version, right := range map[string]bool{"": true, "1.24": true, "1.25": false, "1.23": false, "24": false, "v1.24": false} {
		if err := (&Config{InMemory: true, Features: Features{ShowHiddenMetricsForVersion: version}}).Validate(); (err == nil) != right {
			t.Errorf("%q: %v", version, err)
		}
	}
}
