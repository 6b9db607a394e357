package authn

import (
	"fmt"
	"time"
)

// Settings holds what an operator sets of authentication, except for files.
type Settings struct {
	// DisableAnonymousAuth refuses requests without credentials with 401. They
	// are refused with the authorization mode AlwaysAllow too.
	DisableAnonymousAuth bool
	// ServiceAccountIssuer is the issuer in tokens, and their default audience. Default
	// https://kubernetes.default.svc.
	ServiceAccountIssuer string
	// APIAudiences are the names of this server in tokens: the default audiences of
	// service accounts' tokens, of which a review of a token must name one, if any.
	// Default ServiceAccountIssuer.
	APIAudiences []string
	// ServiceAccountMaxTokenExpiration bounds the life of a service account's token: a
	// request for a longer one gets this and a warning. Default 0: no bound.
	ServiceAccountMaxTokenExpiration time.Duration
}

// SetDefaults fills in every field that is not set; ownHost is the name by which clients
// inside the cluster know the server.
func (c *Settings) SetDefaults(ownHost string) {
	if c.ServiceAccountIssuer == "" {
		c.ServiceAccountIssuer = "https://" + ownHost
	}
	if len(c.APIAudiences) == 0 {
		c.APIAudiences = []string{c.ServiceAccountIssuer}
	}
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
	if err := CheckTokenLife(c.ServiceAccountMaxTokenExpiration); err != nil {
		return fmt.Errorf("--service-account-max-token-expiration: %w", err)
	}
	return nil
}
