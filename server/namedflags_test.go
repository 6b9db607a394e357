package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/options"
)

// TestNamedFlags: the flags that the specification names, with their defaults and with
// what a value of them changes. Those of agents are in package nodeapi.
func TestNamedFlags(t *testing.T) {
	for _, f := range []struct {
		flag, byDefault, line string // the line has what the flag needs too
		effect                func(c *Config) bool
	}{
		{"enable-admission-plugins", "[]", "PodNodeSelector,AlwaysPullImages", func(c *Config) bool { return c.On("PodNodeSelector") && c.On("AlwaysPullImages") }},
		{"livez-grace-period", "0s", "1m", func(c *Config) bool { return c.LivezGracePeriod == time.Minute }},
		{"shutdown-delay-duration", "0s", "5s", func(c *Config) bool { return c.ShutdownDelay == 5*time.Second }},
		{"slow-requests", "200", "0", func(c *Config) bool { return c.SlowRequests < 0 }},
		{"slow-request-threshold", "500ms", "2s", func(c *Config) bool { return c.SlowRequestThreshold == 2*time.Second }},
		{"client-ca-file", "", "ca", func(c *Config) bool { return c.ClientCAFile == "ca" }},
		{"token-auth-file", "", "f", func(c *Config) bool { return c.TokenAuthFile == "f" }},
		{"emulated-version", "[]", "fleet.example.com=1.0,kube=1.25", func(c *Config) bool {
			return slices.Equal(c.EmulatedVersion, []string{"fleet.example.com=1.0", "kube=1.25"})
		}},
		{"hide-newer-objects", "false", "true", func(c *Config) bool { return c.HideNewerObjects }},
		{"enable-bootstrap-token-auth", "false", "true", func(c *Config) bool { return c.EnableBootstrapTokenAuth }},
		{"controllers", "[*]", "*,tokencleaner", func(c *Config) bool { return slices.Equal(c.Controllers, []string{"*", "tokencleaner"}) }},
		{"controllers", "[*]", "*,bootstrapsigner", func(c *Config) bool { return slices.Equal(c.Controllers, []string{"*", "bootstrapsigner"}) }},
		{"service-account-key-file", "[]", "a --service-account-key-file=b", func(c *Config) bool { return slices.Equal(c.ServiceAccountKeyFiles, []string{"a", "b"}) }},
		{"tls-private-key-file", "", "k --tls-cert-file=c", func(c *Config) bool { return c.TLSPrivateKeyFile == "k" }},
		{"service-account-lookup", "true", "false", func(c *Config) bool { return c.DisableServiceAccountLookup }},
		{"service-account-signing-endpoint", "", "@signer", func(c *Config) bool { return c.ServiceAccountSigningEndpoint == "@signer" }},
		{"service-account-private-key-file", "", "k", func(c *Config) bool { return c.ServiceAccountPrivateKeyFile == "k" }},
		{"anonymous-auth", "true", "false", func(c *Config) bool { return !c.anonymous() }},
		{"oidc-issuer-url", "", "https://i --oidc-client-id=x", func(c *Config) bool { return c.OIDCIssuerURL == "https://i" }},
		{"oidc-client-id", "", "x --oidc-issuer-url=https://i", func(c *Config) bool { return c.OIDCClientID == "x" }},
		{"oidc-username-claim", "sub", "email" + issuerFlags, func(c *Config) bool { return c.OIDCUsernameClaim == "email" }},
		{"oidc-username-prefix", "", "-" + issuerFlags, func(c *Config) bool { return c.OIDCUsernamePrefix == "-" }},
		{"oidc-groups-claim", "", "g" + issuerFlags, func(c *Config) bool { return c.OIDCGroupsClaim == "g" }},
		{"oidc-groups-prefix", "", "p" + issuerFlags, func(c *Config) bool { return c.OIDCGroupsPrefix == "p" }},
		{"oidc-required-claim", "[]", "a=1 --oidc-required-claim=b=2" + issuerFlags, func(c *Config) bool { return c.OIDCRequiredClaims["a"] == "1" && c.OIDCRequiredClaims["b"] == "2" }},
		{"oidc-ca-file", "", "ca" + issuerFlags, func(c *Config) bool { return c.OIDCCAFile == "ca" }},
		{"oidc-signing-algs", "[RS256]", "ES256,PS512" + issuerFlags, func(c *Config) bool { return slices.Equal(c.OIDCSigningAlgorithms, []string{"ES256", "PS512"}) }},
		{"authentication-token-webhook-config-file", "", "f", func(c *Config) bool { return c.TokenWebhookConfigFile == "f" }},
		{"authentication-token-webhook-cache-ttl", "2m0s", "9s --authentication-token-webhook-config-file=f", func(c *Config) bool { return c.TokenWebhookCacheTTL == 9*time.Second }},
		{"authentication-token-webhook-version", "v1beta1", "authentication.k8s.io/v1 --authentication-token-webhook-config-file=f", func(c *Config) bool { return c.TokenWebhookVersion == "v1" }},
		{"authentication-token-webhook-version", "v1beta1", "authentication.k8s.io/v1beta1 --authentication-token-webhook-config-file=f", func(c *Config) bool { return c.TokenWebhookVersion == "v1beta1" }},
		{"authentication-token-webhook-version", "v1beta1", "v1 --authentication-token-webhook-config-file=f", func(c *Config) bool { return c.TokenWebhookVersion == "v1" }},
		{"requestheader-username-headers", "[]", "X-U,X-V --requestheader-client-ca-file=ca", func(c *Config) bool { return slices.Equal(c.RequestHeaderUsernameHeaders, []string{"X-U", "X-V"}) }},
		{"requestheader-group-headers", "[]", "X-G" + proxyFlags, func(c *Config) bool { return slices.Equal(c.RequestHeaderGroupHeaders, []string{"X-G"}) }},
		{"requestheader-extra-headers-prefix", "[]", "X-E-" + proxyFlags, func(c *Config) bool { return slices.Equal(c.RequestHeaderExtraHeadersPrefix, []string{"X-E-"}) }},
		{"requestheader-client-ca-file", "", "ca --requestheader-username-headers=X-U", func(c *Config) bool { return c.RequestHeaderClientCAFile == "ca" }},
		{"requestheader-allowed-names", "[]", "a,b" + proxyFlags, func(c *Config) bool { return slices.Equal(c.RequestHeaderAllowedNames, []string{"a", "b"}) }},
		{"authorization-mode", "[RBAC]", "Node,ABAC,RBAC,Webhook,AlwaysDeny --authorization-policy-file=p --authorization-webhook-config-file=f",
			func(c *Config) bool {
				return strings.Join(c.AuthorizationModes, " ") == "Node ABAC RBAC Webhook AlwaysDeny"
			}},
		{"authentication-config", "", "f", func(c *Config) bool { return c.AuthenticationConfigFile == "f" }},
		{"authorization-config", "", "f", func(c *Config) bool { return c.AuthorizationConfigFile == "f" && c.AuthorizationModes == nil }},
		{"authorization-mode", "[RBAC]", "AlwaysAllow", func(c *Config) bool { return !c.anonymous() }},
		{"kubelet-client-certificate", "", "c --kubelet-client-key=k", func(c *Config) bool { return c.KubeletClientCertFile == "c" }},
		{"kubelet-client-key", "", "k --kubelet-client-certificate=c", func(c *Config) bool { return c.KubeletClientKeyFile == "k" }},
		{"runtime-config", "[]", "api/alpha,batch/v1=false", func(c *Config) bool { return slices.Equal(c.RuntimeConfig, []string{"api/alpha", "batch/v1=false"}) }},
		{"show-hidden-metrics-for-version", "", "1.24", func(c *Config) bool { return c.ShowHiddenMetricsForVersion == "1.24" }},
	} {
		c, fs, err := parse("--in-memory --" + f.flag + "=" + f.line)
		if err != nil {
			t.Error(err)
			continue
		}
		valid := c.Validate()
		c.setDefaults()
		if found, err := options.Check(fs); err != nil || found != nil || valid != nil || !f.effect(c) {
			t.Errorf("--%s=%s: %v, %v, %v; %+v", f.flag, f.line, valid, err, found, c)
		}
		if known := fs.Lookup(f.flag); known.DefValue != f.byDefault || known.Hidden {
			t.Errorf("--%s: the default is %q, want %q", f.flag, known.DefValue, f.byDefault)
		}
	}
}

// TestEmptyLists: a list without a value counts as left out, as the warning says.
func TestEmptyLists(t *testing.T) {
	left, _, err := parse("--in-memory")
	if err != nil {
		t.Fatal(err)
	}
	left.setDefaults()
	empty, _, err := parse("--in-memory --controllers= --authorization-mode=")
	if err != nil {
		t.Fatal(err)
	}
	empty.setDefaults()
	if !slices.Equal(empty.Controllers, left.Controllers) || !slices.Equal(empty.AuthorizationModes, left.AuthorizationModes) {
		t.Errorf("empty lists: controllers %q, authorizers %q; left out: %q, %q",
			empty.Controllers, empty.AuthorizationModes, left.Controllers, left.AuthorizationModes)
	}
}

const (
	issuerFlags = " --oidc-issuer-url=https://i --oidc-client-id=x"
	proxyFlags  = " --requestheader-client-ca-file=ca --requestheader-username-headers=X-U"
)

// TestWarnedFlags: a flag that does nothing where it stands is named.
func TestWarnedFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--storage-backend=etcd3 --watch-cache=false":                                                   "--storage-backend --watch-cache: these flags have no effect on this server",
		"--etcd-servers=http://a --in-memory":                                                           "--etcd-servers: these flags have no effect with --in-memory=true",
		"--etcd-prefix=/a --lease-reuse-duration-seconds=9 --storage-media-type=application/json":       "--etcd-prefix --lease-reuse-duration-seconds --storage-media-type: these flags have no effect without --etcd-servers",
		"--experimental-logging-sanitization":                                                           "--experimental-logging-sanitization: the log never has secrets, and nodes are reached by https only: these flags change neither",
		"--authentication-token-webhook-cache-ttl=1m":                                                   "--authentication-token-webhook-cache-ttl: these flags have no effect without --authentication-token-webhook-config-file",
		"--authentication-token-webhook-version=v1":                                                     "--authentication-token-webhook-version: these flags have no effect without --authentication-token-webhook-config-file",
		"--authorization-webhook-cache-authorized-ttl=1m":                                               "--authorization-webhook-cache-authorized-ttl: these flags have no effect without --authorization-webhook-config-file",
		"--authorization-webhook-cache-unauthorized-ttl=0":                                              "--authorization-webhook-cache-unauthorized-ttl: these flags have no effect without --authorization-webhook-config-file",
		"--authorization-webhook-version=v1":                                                            "--authorization-webhook-version: these flags have no effect without --authorization-webhook-config-file",
		"--oidc-required-claim=a=b --oidc-signing-algs=ES256":                                           "--oidc-required-claim --oidc-signing-algs: these flags have no effect without --oidc-issuer-url",
		"--requestheader-username-headers=X":                                                            "--requestheader-username-headers: these flags have no effect without --requestheader-client-ca-file",
		"--requestheader-client-ca-file=ca":                                                             "--requestheader-client-ca-file: these flags have no effect without --requestheader-username-headers",
		"--audit-log-maxage=3 --audit-log-mode=blocking-strict":                                         "--audit-log-maxage --audit-log-mode: these flags have no effect without --audit-log-path",
		"--audit-log-maxage=3 --audit-log-path=":                                                        "--audit-log-maxage: these flags have no effect without --audit-log-path",
		"--audit-webhook-mode=batch --audit-log-path=-":                                                 "--audit-webhook-mode: these flags have no effect without --audit-webhook-config-file",
		"--audit-webhook-batch-max-size=9 --audit-webhook-truncate-max-event-size=9":                    "--audit-webhook-batch-max-size --audit-webhook-truncate-max-event-size: these flags have no effect without --audit-webhook-config-file",
		"--admission-control=Priority":                                                                  "--admission-control: this flag is deprecated; name the plug-ins that differ from the defaults with --enable-admission-plugins and --disable-admission-plugins",
		"--anonymous-auth=true --authorization-mode=AlwaysAllow":                                        "--anonymous-auth: requests without credentials are refused all the same, since the authorization mode AlwaysAllow would let them do everything; use another mode",
		"--anonymous-auth=false --authorization-mode=AlwaysAllow":                                       "",
		"--authorization-mode= --controllers=":                                                          "--authorization-mode --controllers: these flags have no value, and count as if they were left out",
		"--oidc-username-claim=" + issuerFlags:                                                          "--oidc-username-claim: these flags have no value, and count as if they were left out",
		"--client-ca-file= --runtime-config=":                                                           "",
		"--audit-log-path=- --audit-log-batch-max-size=9":                                               "--audit-log-batch-max-size: these flags have no effect without --audit-log-mode=batch",
		"--audit-log-path=- --audit-log-batch-max-size=9 --audit-log-mode=batch":                        "",
		"--audit-webhook-config-file=f --audit-webhook-batch-max-size=9":                                "",
		"--audit-webhook-config-file=f --audit-webhook-batch-max-size=9 --audit-webhook-mode=blocking":  "--audit-webhook-batch-max-size: these flags have no effect without --audit-webhook-mode=batch",
		"--audit-log-path=a --audit-log-truncate-max-event-size=9":                                      "--audit-log-truncate-max-event-size: these flags have no effect without --audit-log-truncate-enabled=true",
		"--audit-log-path=a --audit-log-truncate-enabled --audit-log-truncate-max-event-size=9":         "",
		"--audit-log-path=- --audit-log-maxage=3":                                                       "--audit-log-maxage: these flags have no effect with --audit-log-path=-",
		"--default-not-ready-toleration-seconds=9 --disable-admission-plugins=DefaultTolerationSeconds": "--default-not-ready-toleration-seconds: these flags have no effect with --disable-admission-plugins=DefaultTolerationSeconds",
		"--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 --tls-min-version=VersionTLS13":      "--tls-cipher-suites: these flags have no effect with --tls-min-version=VersionTLS13",
		"--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256":                                     "",
		"--in-memory --data-dir=d":                                                                      "--data-dir: these flags have no effect with --in-memory=true",
		"--authorization-mode=AlwaysAllow":                                                              "",
		"--oidc-groups-claim=":                                                                          "",
		"--max-connection-bytes-per-sec=0 --kubelet-https":                                              "--kubelet-https: the log never has secrets, and nodes are reached by https only: these flags change neither",
		"--audit-log-path=a --audit-log-maxage=3":                                                       "",
		"--egress-selector-config-file=":                                                                "",
		"--oidc-issuer-url=https://i --oidc-client-id=x --oidc-groups-claim=g":                          "",
	} {
		_, fs, err := parse(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		warnings, err := options.Check(fs)
		var got []string
		for _, w := range warnings {
			got = append(got, strings.Join(w.Flags, " ")+": "+w.Text)
		}
		if err != nil || strings.Join(got, "\n") != want {
			t.Errorf("%s: %v\ngot  %q\nwant %q", line, err, got, want)
		}
	}
}
