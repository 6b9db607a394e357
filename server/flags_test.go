package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/internal/suggest"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// parse reads a command line (words with spaces between).
func parse(line string) (*Config, *pflag.FlagSet, error) {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	fs.SetOutput(nil)
	c := &Config{}
	c.AddFlags(fs)
	err := fs.Parse(strings.Fields(line))
	return c, fs, err
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		line string
		ok   func(c *Config) bool
	}{
		{"", func(c *Config) bool {
			return c.SecurePort == 6443 && c.BindAddress == "127.0.0.1" && c.DataDir == "./capstan-data" && c.anonymous() &&
				c.History == 5*time.Minute && c.MaxRequestsInflight == 400 && !c.DisableProfiling && c.CertDir == "" && c.KubeconfigFile == "" &&
				slices.Equal(c.AuthorizationModes, []string{"RBAC"})
		}},
		{"--secure-port=0 --bind-address 0.0.0.0", func(c *Config) bool { return c.SecurePort == 0 && c.BindAddress == "0.0.0.0" }},
		{"--anonymous-auth=false", func(c *Config) bool { return c.DisableAnonymousAuth }},
		{"--anonymous-auth --profiling=false", func(c *Config) bool { return !c.DisableAnonymousAuth && c.DisableProfiling }},
		{"--authorization-mode=Node,RBAC", func(c *Config) bool { return slices.Equal(c.AuthorizationModes, []string{"Node", "RBAC"}) }},
		{"--max-requests-inflight=0 --max-mutating-requests-inflight=7", func(c *Config) bool { return c.MaxRequestsInflight == -1 && c.MaxMutatingRequestsInflight == 7 }},
		{"--min-request-timeout=60 --request-timeout=5s", func(c *Config) bool { return c.MinRequestTimeout == time.Minute && c.RequestTimeout == 5*time.Second }},
		{"--token_auth_file=x --client-ca-file y", func(c *Config) bool { return c.TokenAuthFile == "x" && c.ClientCAFile == "y" }},
		{"--controllers=*,-garbagecollector", func(c *Config) bool { return slices.Equal(c.Controllers, []string{"*", "-garbagecollector"}) }},
		{"--service-account-issuer=a --service-account-issuer=b --api-audiences=c,d", func(c *Config) bool {
			return c.ServiceAccountIssuers[0] == "a" && slices.Equal(c.APIAudiences, []string{"c", "d"})
		}},
		{"--default-not-ready-toleration-seconds=0 --service-account-max-token-expiration=2h", func(c *Config) bool {
			return c.NotReadyTolerationSeconds == -1 && c.UnreachableTolerationSeconds == 300 && c.ServiceAccountMaxTokenExpiration == 2*time.Hour
		}},
		{"--event-ttl=0", func(c *Config) bool { return c.EventTTL == -1 }},
		{"--event-ttl=2h", func(c *Config) bool { return c.EventTTL == 2*time.Hour }},
		{"--tls-sni-cert-key=a,b:c,d --tls-sni-cert-key e,f", func(c *Config) bool { return slices.Equal(c.TLSSNICertKeys, []string{"a,b:c,d", "e,f"}) }},
		{"--etcd-prefix=b", func(c *Config) bool { return c.EtcdCountPeriod == time.Minute && c.EtcdSizeInterval == 30*time.Second }},
		{"--etcd-prefix=b --etcd-count-metric-poll-period=0 --etcd-db-metric-poll-interval=0", func(c *Config) bool { return c.EtcdCountPeriod < 0 && c.EtcdSizeInterval < 0 }},
		{"--write-kubeconfig=k --in-memory", func(c *Config) bool { return c.KubeconfigFile == "k" && c.InMemory }},
	} {
		cfg, _, err := parse(c.line)
		if err != nil || !c.ok(cfg) {
			t.Errorf("%s: %+v, %v", c.line, cfg, err)
		} else if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	for line, want := range map[string]string{
		"--etcd-server=x":                            "unknown flag --etcd-server; did you mean --etcd-servers?",
		"--secureport=1":                             "unknown flag --secureport; did you mean --secure-port?",
		"--data_dirs=1":                              "did you mean --data-dir?",
		"--complete-nonsense-here":                   "unknown flag --complete-nonsense-here; see --help",
		"-q":                                         "unknown flag -q; see --help",
		"--anonymous-auth=maybe":                     `"maybe" is neither true nor false`,
		"--allow-privileged=maybe":                   `"maybe" is neither true nor false`,
		"--min-request-timeout=1s":                   `"1s" is not a whole number of seconds`,
		"--max-requests-inflight=-1":                 `"-1" is not a whole number from 0`,
		"--secure-port":                              "flag needs an argument",
		"--request-timeout=forever":                  "invalid",
		"--service-account-key-file":                 "flag needs an argument",
		"--max-object-bytes=7 --x=1":                 "unknown flag --x",
		"--allow-privileged=false":                   "does not refuse privileged containers",
		"--history=5":                                `"5" is not a duration; write it like 90s`,
		"--list-memory-bytes=1e6":                    `"1e6" is not a whole number`,
		"--service-account-max-token-expiration=59m": `59m0s is out of range; use 1h0m0s to`,
	} {
		_, fs, err := parse(line)
		if err == nil {
			t.Errorf("%s: no error", line)
		} else if got := suggest.Flag(fs, err).Error(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestFlagRanges: every flag with a number or a time has bounds, and names itself in the
// error.
func TestFlagRanges(t *testing.T) {
	_, fs, _ := parse("")
	numbers := 0
	fs.VisitAll(func(f *pflag.Flag) {
		if kind := f.Value.Type(); kind != "int" && kind != "int64" && kind != "duration" {
			return
		}
		numbers++
		for _, value := range []string{"-1", "-1s", "99999999999999999999", "9999999h", "x", ""} {
			_, _, err := parse("--" + f.Name + "=" + value)
			if err == nil || !strings.Contains(err.Error(), `"--`+f.Name+`" flag: `) {
				t.Errorf("--%s=%s: %v", f.Name, value, err)
			}
		}
	})
	if numbers < 16 {
		t.Errorf("only %d flags hold a number", numbers)
	}
	for _, line := range []string{"--history=0", "--request-timeout=0s", "--list-memory-bytes=0", "--max-object-bytes=0", "--max-request-bytes=2147483648",
		"--secure-port=65536", "--goaway-chance=x", "--http2-max-streams-per-connection=0", "--min-request-timeout=0"} {
		if _, _, err := parse(line); err == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}

func TestInertFlags(t *testing.T) {
	c, fs, err := parse("--allow-privileged --secure-port=1234 --storage-backend=etcd3 --service-account-key-file a --service-account-key-file b " +
		"--oidc-required-claim=hd=kit --watch-cache=false --enable_bootstrap_token_auth --runtime-config api/all=true --requestheader-client-ca-file=x " +
		"--admission-control=")
	if err != nil || c.SecurePort != 1234 || fs.NArg() != 0 {
		t.Fatalf("%v, %v, %v", c, fs.Args(), err)
	}
	got, err := options.Check(fs)
	var names []string
	for _, f := range got {
		names = append(names, strings.Join(f.Flags, " "))
		if len(f.Text) < 20 {
			t.Errorf("%v: %q", f.Flags, f.Text)
		}
	}
	want := []string{"--storage-backend --watch-cache", "--oidc-required-claim", "--requestheader-client-ca-file", "--admission-control"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, names, want)
	}
	_, fs, _ = parse("--secure-port=1 --allow-privileged=true")
	if got, err := options.Check(fs); got != nil || err != nil {
		t.Errorf("a flag with effect is reported: %v, %v", got, err)
	}
	if usage := fs.FlagUsages(); strings.Contains(usage, "storage-backend") || !strings.Contains(usage, "--secure-port int") {
		t.Errorf("help: %s", usage)
	}
}

// TestRefusedFlags: the protection that a flag promises exists, or the server does not
// start.
func TestRefusedFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--strict-transport-security-directives=max-age=1": "Strict-Transport-Security",
		"--egress-selector-config-file=egress.yaml":        "--egress-selector-config-file: this server connects to nodes, webhooks and extension servers by itself",
		"--max-connection-bytes-per-sec=100":               "does not bound the bytes a second",
	} {
		_, fs, err := parse(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if _, err := options.Check(fs); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "leave it out") {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// TestConformanceFlags parses the command line of the conformance kit.
func TestConformanceFlags(t *testing.T) {
	_, fs, err := parse(`--tls-cert-file=server.crt --tls-private-key-file=server.key --client-ca-file=ca.crt --token-auth-file=tokens.csv
		--service-account-key-file=sa.pub --service-account-signing-key-file=sa.key --service-account-issuer=https://kubernetes.default.svc
		--authorization-mode=Node,RBAC,ABAC --authorization-policy-file=abac.jsonl --requestheader-client-ca-file=proxy-ca.crt
		--requestheader-allowed-names=front-proxy-client --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group
		--requestheader-extra-headers-prefix=X-Remote-Extra- --enable-bootstrap-token-auth=true
		--authentication-token-webhook-config-file=tokenwebhook.kubeconfig --authentication-token-webhook-version=v1
		--oidc-issuer-url=https://127.0.0.1:1/oidc --oidc-client-id=kit --oidc-ca-file=ca.crt --oidc-username-claim=name
		--oidc-username-prefix=oidc: --oidc-groups-claim=groups --oidc-groups-prefix=oidc: --oidc-required-claim=hd=kit
		--service-cluster-ip-range=10.0.0.0/16 --allow-privileged=true --secure-port=6443 --bind-address=127.0.0.1`)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := options.Check(fs); err != nil || len(found) != 0 {
		t.Errorf("%v: flags without effect: %v", err, found)
	}
}
