package nodeapi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/client"
)

// The authorization modes.
const (
	modeAlwaysAllow = "AlwaysAllow"
	modeWebhook     = "Webhook"
)

// Flags are the command line of an endpoint: the flags of the kubelet under their names.
// Where an API server is named, it reviews tokens and rights unless a flag says otherwise.
type Flags struct {
	// Node is the name of the node; "" for that of the machine.
	Node string
	// Kubeconfig is the client configuration for the API server; "" for no server.
	Kubeconfig string
	// ClientCAFile holds the authorities of client certificates, PEM; "" for none. It is
	// read again within 10 s of a change.
	ClientCAFile string
	// RefuseAnonymous answers requests without credentials with 401.
	RefuseAnonymous bool
	// TokenWebhook lets users log in by bearer tokens, which the API server reviews; nil
	// where there is a server.
	TokenWebhook *bool
	// AuthorizationMode is AlwaysAllow, or Webhook: the API server is asked; "" for Webhook
	// where there is a server.
	AuthorizationMode string
	// TokenTTL, AllowedTTL and OthersTTL are those of Config.
	TokenTTL, AllowedTTL, OthersTTL time.Duration
}

// AddFlags defines the command line. The flags write to f.
func (f *Flags) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.Node, "hostname-override", f.Node, "name of the node (default: that of this machine)")
	fs.StringVar(&f.Kubeconfig, "kubeconfig", f.Kubeconfig, "client configuration for the API server that reviews tokens and rights (default: none)")
	fs.StringVar(&f.ClientCAFile, "client-ca-file", f.ClientCAFile, "authorities whose client certificates are accepted, PEM (default: none)")
	fs.VarPF((*negated)(&f.RefuseAnonymous), "anonymous-auth", "", "accept requests without credentials as system:anonymous").NoOptDefVal = "true"
	fs.BoolFunc("authentication-token-webhook", "accept bearer tokens, which the API server reviews (default: with --kubeconfig)", f.setTokenWebhook)
	fs.StringVar(&f.AuthorizationMode, "authorization-mode", f.AuthorizationMode,
		"who may do what: AlwaysAllow, or Webhook: the API server is asked (default: Webhook with --kubeconfig, AlwaysAllow without)")
	fs.Var(life{&f.TokenTTL, tokenTTL}, "authentication-token-webhook-cache-ttl", "how long an answer about a token counts; 0 for not at all")
	fs.Var(life{&f.AllowedTTL, allowedTTL}, "authorization-webhook-cache-authorized-ttl", "how long an answer that allows a request counts; 0 for not at all")
	fs.Var(life{&f.OthersTTL, othersTTL}, "authorization-webhook-cache-unauthorized-ttl", "how long any other answer about a request counts; 0 for not at all")
}

func (f *Flags) setTokenWebhook(text string) error {
	on, err := parseBool(text)
	f.TokenWebhook = &on
	return err
}

// reviewsTokens reports whether the API server reviews tokens.
func (f *Flags) reviewsTokens() bool {
	if f.TokenWebhook != nil {
		return *f.TokenWebhook
	}
	return f.Kubeconfig != ""
}

// reviewsRights reports whether the API server is asked for the rights.
func (f *Flags) reviewsRights() bool {
	return f.AuthorizationMode == modeWebhook || f.AuthorizationMode == "" && f.Kubeconfig != ""
}

// Validate reports all mistakes, with the flags that make them.
func (f *Flags) Validate() error {
	var all []error
	wrong := func(is bool, text string) {
		if is {
			all = append(all, errors.New(text))
		}
	}
	known := f.AuthorizationMode == "" || f.AuthorizationMode == modeAlwaysAllow || f.AuthorizationMode == modeWebhook
	wrong(!known, fmt.Sprintf("--authorization-mode: %q is unknown; use %s or %s", f.AuthorizationMode, modeAlwaysAllow, modeWebhook))
	wrong(f.Kubeconfig == "" && f.reviewsTokens(), "--authentication-token-webhook: there is no API server that reviews tokens; add --kubeconfig")
	wrong(f.Kubeconfig == "" && f.reviewsRights(), "--authorization-mode: there is no API server to ask; add --kubeconfig, or use AlwaysAllow")
	noTokens := "no token is reviewed; add --kubeconfig, or leave the flag out"
	noRights := "no right is reviewed; add --kubeconfig, or leave the flag out"
	if f.Kubeconfig != "" {
		noTokens = "no token is reviewed with --authentication-token-webhook=false; leave one out"
		noRights = "no right is reviewed with --authorization-mode=AlwaysAllow; leave one out"
	}
	wrong(f.TokenTTL != 0 && !f.reviewsTokens(), "--authentication-token-webhook-cache-ttl: "+noTokens)
	wrong(f.AllowedTTL != 0 && known && !f.reviewsRights(), "--authorization-webhook-cache-authorized-ttl: "+noRights)
	wrong(f.OthersTTL != 0 && known && !f.reviewsRights(), "--authorization-webhook-cache-unauthorized-ttl: "+noRights)
	return errors.Join(all...)
}

// Config is the configuration of the endpoint, without a logger. It reads the client
// configuration and does not connect.
func (f *Flags) Config() (Config, error) {
	if err := f.Validate(); err != nil {
		return Config{}, err
	}
	c := Config{Node: f.Node, ClientCAFile: f.ClientCAFile, RefuseAnonymous: f.RefuseAnonymous,
		RefuseTokens: !f.reviewsTokens(), AlwaysAllow: !f.reviewsRights(),
		TokenTTL: f.TokenTTL, AllowedTTL: f.AllowedTTL, OthersTTL: f.OthersTTL}
	if c.Node == "" {
		name, err := os.Hostname()
		if err != nil {
			return Config{}, fmt.Errorf("--hostname-override: the name of the machine cannot be read: %w", err)
		}
		c.Node = strings.ToLower(strings.TrimSpace(name))
	}
	if f.Kubeconfig == "" {
		return c, nil
	}
	server, _, err := client.LoadKubeconfig(f.Kubeconfig, "")
	if err == nil {
		c.Server, err = client.NewREST(server)
	}
	if err != nil {
		return Config{}, fmt.Errorf("--kubeconfig: %w", err)
	}
	return c, nil
}

func parseBool(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return on, nil
}

// negated is a boolean flag for a field with the opposite meaning.
type negated bool

func (v *negated) String() string { return strconv.FormatBool(!bool(*v)) }
func (v *negated) Type() string   { return "bool" }
func (v *negated) Set(text string) error {
	on, err := parseBool(text)
	if err == nil {
		*v = negated(!on)
	}
	return err
}

// life is a flag for the time for which an answer counts, 0 for not at all. Not at all is
// negative in the field, whose own 0 is the default.
type life struct {
	at        *time.Duration
	byDefault time.Duration
}

func (v life) String() string {
	switch {
	case v.at == nil || *v.at == 0: // pflag asks a zero value for its text
		return v.byDefault.String()
	default:
		return max(*v.at, 0).String()
	}
}
func (v life) Type() string { return "duration" }
func (v life) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time to come; write it like 90s or 1h30m, or 0 for not at all", text)
	}
	if *v.at = d; d == 0 {
		*v.at = -1
	}
	return nil
}
