package authn

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Settings holds what an operator sets of authentication, except for files.
type Settings struct {
	// DisableAnonymousAuth refuses requests without credentials with 401. They
	// are refused with the authorization mode AlwaysAllow too.
	DisableAnonymousAuth bool
	// ServiceAccountIssuers are the issuers of service accounts' tokens that are accepted;
	// the first is that of new ones. Default https://kubernetes.default.svc.
	ServiceAccountIssuers []string
	// APIAudiences are the names of this server in tokens, of which a token must have one:
	// the default audiences of service accounts' tokens, and those in reviews of tokens.
	// Default ServiceAccountIssuers.
	APIAudiences []string
	// DisableServiceAccountLookup accepts tokens in secrets that do not exist any more.
	DisableServiceAccountLookup bool
	// KeepTokenExpiration ends tokens of pods when their requests say. Without it, those
	// that every pod has by default last a year, with a note when they are stale.
	KeepTokenExpiration bool
	// ServiceAccountKeysURL is the public address of the keys of service accounts' tokens.
	// Default: that of this server.
	ServiceAccountKeysURL string
	// EnableBootstrapTokenAuth lets new nodes log in by the tokens in secrets of kube-system.
	EnableBootstrapTokenAuth bool
	// TokenWebhookConfigFile is the client configuration for a webhook that knows the users
	// of bearer tokens; "" for none.
	TokenWebhookConfigFile string
	// TokenWebhookVersion is the version of its TokenReviews: v1, or v1beta1, the default. It
	// may have the group before it.
	TokenWebhookVersion string
	// TokenWebhookCacheTTL is the time for which an answer of the webhook counts. Default
	// 2m; negative for not at all.
	TokenWebhookCacheTTL time.Duration
	// ServiceAccountMaxTokenExpiration bounds the life of a service account's token: a
	// request for a longer one gets this and a warning. Default 0: no bound.
	ServiceAccountMaxTokenExpiration time.Duration
}

// SetDefaults fills in every field that is not set; ownHost is the name by which clients
// inside the cluster know the server.
func (c *Settings) SetDefaults(ownHost string) {
	if len(c.ServiceAccountIssuers) == 0 {
		c.ServiceAccountIssuers = []string{"https://" + ownHost}
	}
	if len(c.APIAudiences) == 0 {
		c.APIAudiences = c.ServiceAccountIssuers
	}
	c.TokenWebhookVersion = cmp.Or(strings.TrimPrefix(c.TokenWebhookVersion, "authentication."+profile.GroupSuffix+"/"), "v1beta1")
	c.TokenWebhookCacheTTL = cmp.Or(c.TokenWebhookCacheTTL, 2*time.Minute)
}

// The bounds of ServiceAccountMaxTokenExpiration: 1.25's least, and one far from anything
// sensible.
const (
	leastTokenLife   = time.Hour
	longestTokenLife = 10 * 365 * 24 * time.Hour
)

// CheckTokenLife reports a bound of tokens' lives that is out of range.
func CheckTokenLife(d time.Duration) error {
	if d != 0 && (d < leastTokenLife || d > longestTokenLife) {
		return fmt.Errorf("%v is out of range; use %v to %v, or 0 for no bound", d, leastTokenLife, longestTokenLife)
	}
	return nil
}

// Validate reports the first mistake, or nil.
func (c *Settings) Validate() error {
	if v := c.TokenWebhookVersion; v != "v1" && v != "v1beta1" {
		return fmt.Errorf("--authentication-token-webhook-version: %q is neither v1 nor v1beta1, nor one of them after %q", v,
			"authentication."+profile.GroupSuffix+"/")
	}
	if err := checkIssuers(c.ServiceAccountIssuers); err != nil {
		return fmt.Errorf("--service-account-issuer: %w", err)
	}
	if u, err := url.Parse(c.ServiceAccountKeysURL); c.ServiceAccountKeysURL != "" && (err != nil || u.Scheme != "https") {
		return fmt.Errorf("--service-account-jwks-uri: %q is no URL with the scheme https", c.ServiceAccountKeysURL)
	}
	if err := CheckTokenLife(c.ServiceAccountMaxTokenExpiration); err != nil {
		return fmt.Errorf("--service-account-max-token-expiration: %w", err)
	}
	return nil
}

// checkIssuers reports an issuer of tokens without a name, one that is named twice, and one
// that looks like a URL and is none.
func checkIssuers(issuers []string) error {
	for i, issuer := range issuers {
		switch _, err := url.Parse(issuer); {
		case issuer == "":
			return errors.New("an issuer has no name; leave the flag out for the default")
		case slices.Contains(issuers[:i], issuer):
			return fmt.Errorf("%q is given twice; name it once", issuer)
		case err != nil && strings.Contains(issuer, ":"):
			return fmt.Errorf("%q has a colon and is no URL: %w", issuer, err)
		}
	}
	return nil
}
