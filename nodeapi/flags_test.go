package nodeapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// parsed are the flags of a command line.
func parsed(line string) (*Flags, *pflag.FlagSet, error) {
	f, fs := &Flags{}, pflag.NewFlagSet("agent", pflag.ContinueOnError)
	f.AddFlags(fs)
	return f, fs, fs.Parse(strings.Fields(line))
}

// kubeconfigFile is a client configuration for a server that nobody connects to.
func kubeconfigFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagDefaults(t *testing.T) {
	_, fs, err := parsed("")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"anonymous-auth": "true", "client-ca-file": "", "authorization-mode": "",
		"authentication-token-webhook": "", "authentication-token-webhook-cache-ttl": "2m0s",
		"authorization-webhook-cache-authorized-ttl": "5m0s", "authorization-webhook-cache-unauthorized-ttl": "30s", "kubeconfig": "", "hostname-override": "",
	} {
		if f := fs.Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s: %+v, want the default %q", name, f, want)
		}
	}
}

// TestFlagsToConfig: the configuration that a command line makes. K stands for a client
// configuration.
func TestFlagsToConfig(t *testing.T) {
	kubeconfig := kubeconfigFile(t)
	const protected, open = "server", "refuse tokens, allow always"
	for line, want := range map[string]string{
		"":                      open,
		"--kubeconfig=":         open,
		"--kubeconfig=K":        protected,
		"--authorization-mode=": open,
		"--authorization-mode=AlwaysAllow --authentication-token-webhook=false":      open,
		"--kubeconfig=K --authorization-mode=Webhook --authentication-token-webhook": protected,
		"--kubeconfig=K --authorization-mode=AlwaysAllow":                            "server, allow always",
		"--kubeconfig=K --authentication-token-webhook=false":                        "server, refuse tokens",
		"--anonymous-auth=false": open + ", refuse anonymous",
		"--anonymous-auth":       open,
		"--client-ca-file=ca":    open + ", authorities ca",
		"--kubeconfig=K --authentication-token-webhook-cache-ttl=9s":                                  protected + ", token 9s",
		"--kubeconfig=K --authentication-token-webhook-cache-ttl=0":                                   protected + ", token -1ns",
		"--kubeconfig=K --authorization-webhook-cache-authorized-ttl=1h":                              protected + ", allowed 1h0m0s",
		"--kubeconfig=K --authorization-webhook-cache-unauthorized-ttl=1m30s":                         protected + ", others 1m30s",
		"--kubeconfig=K --authorization-mode=AlwaysAllow --authentication-token-webhook-cache-ttl=2m": "server, allow always, token 2m0s",
	} {
		f, _, err := parsed(strings.ReplaceAll("--hostname-override=n "+line, "=K", "="+kubeconfig))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		c, err := f.Config()
		if got := describe(c); err != nil || c.Node != "n" || got != want {
			t.Errorf("%s: %v, %s, want %s", line, err, got, want)
		}
	}
	if f, _, _ := parsed(""); f != nil {
		if c, err := f.Config(); err != nil || c.Node == "" || c.Node != strings.ToLower(c.Node) {
			t.Errorf("the name of the machine: %q, %v", c.Node, err)
		}
	}
}

// describe lists the fields that differ from an empty configuration.
func describe(c Config) string {
	var parts []string
	say := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	say(c.Server != nil, "server")
	say(c.RefuseTokens, "refuse tokens")
	say(c.AlwaysAllow, "allow always")
	say(c.RefuseAnonymous, "refuse anonymous")
	say(c.ClientCAFile != "", "authorities "+c.ClientCAFile)
	for _, ttl := range []struct {
		name string
		d    time.Duration
	}{{"token", c.TokenTTL}, {"allowed", c.AllowedTTL}, {"others", c.OthersTTL}} {
		say(ttl.d != 0, fmt.Sprintf("%s %v", ttl.name, ttl.d))
	}
	return strings.Join(parts, ", ")
}

// TestFlagMistakes: each mistake is an error that names its flag.
func TestFlagMistakes(t *testing.T) {
	kubeconfig := kubeconfigFile(t)
	const (
		tokens   = "authentication-token-webhook-cache-ttl"
		allowed  = "authorization-webhook-cache-authorized-ttl"
		others   = "authorization-webhook-cache-unauthorized-ttl"
		noTokens = ": no token is reviewed; add --kubeconfig, or leave the flag out"
		noRights = ": no right is reviewed; add --kubeconfig, or leave the flag out"
		noTime   = " is no time to come; write it like 90s or 1h30m, or 0 for not at all"
		alone    = "--authentication-token-webhook: there is no API server that reviews tokens; add --kubeconfig"
		unasked  = "--authorization-mode: there is no API server to ask; add --kubeconfig, or use AlwaysAllow"
		off      = "--kubeconfig=K --authentication-token-webhook=false"
		open     = "--kubeconfig=K --authorization-mode=AlwaysAllow"
	)
	for line, want := range map[string]string{
		"--authentication-token-webhook":                              alone,
		"--authorization-mode=Webhook":                                unasked,
		"--authentication-token-webhook --authorization-mode=Webhook": alone + "\n" + unasked,
		"--authorization-mode=webhook":                                `--authorization-mode: "webhook" is unknown; use AlwaysAllow or Webhook`,
		"--authorization-mode=RBAC":                                   `--authorization-mode: "RBAC" is unknown; use AlwaysAllow or Webhook`,
		"--" + tokens + "=1m":                                         "--" + tokens + noTokens,
		"--" + allowed + "=0":                                         "--" + allowed + noRights,
		"--" + others + "=30s":                                        "--" + others + noRights,
		"--kubeconfig=missing":                                        "--kubeconfig: open missing: no such file or directory",
		"--" + allowed + "=-1s":                                       `invalid argument "-1s" for "--` + allowed + `" flag: "-1s"` + noTime,
		"--" + others + "=5":                                          `invalid argument "5" for "--` + others + `" flag: "5"` + noTime,
		"--anonymous-auth=no":                                         `invalid argument "no" for "--anonymous-auth" flag: "no" is neither true nor false`,
		"--authentication-token-webhook=2":                            `invalid argument "2" for "--authentication-token-webhook" flag: "2" is neither true nor false`,
		off + " --" + tokens + "=1m":                                  "--" + tokens + ": no token is reviewed with --authentication-token-webhook=false; leave one out",
		open + " --" + allowed + "=1m":                                "--" + allowed + ": no right is reviewed with --authorization-mode=AlwaysAllow; leave one out",
		open + " --" + others + "=1m":                                 "--" + others + ": no right is reviewed with --authorization-mode=AlwaysAllow; leave one out",
	} {
		f, _, err := parsed(strings.ReplaceAll(line, "=K", "="+kubeconfig))
		if err == nil {
			_, err = f.Config()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", line, err, want)
		}
	}
}

// TestWrongAuthorities: a guard does not start with a file that cannot be used.
func TestWrongAuthorities(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:       "--client-ca-file: " + file + ": there is no certificate in PEM; the file must hold those of the authorities",
		file + "x": "--client-ca-file: open " + file + "x: no such file or directory",
	} {
		if _, err := Guard(Config{Node: "n", ClientCAFile: path}, nil); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
