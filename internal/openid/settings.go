package openid

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Settings holds what an operator sets of an issuer of ID tokens (the specification,
// OpenID Connect tokens).
type Settings struct {
	// AuthenticationConfigFile names issuers of ID tokens, with the users of their tokens, and the paths for which requests without
	// credentials are let in, from release 1.30 on. Changes of the file count. Without one there is the issuer of the other fields.
	AuthenticationConfigFile string
	// OIDCIssuerURL is the issuer, https; "" for none.
	OIDCIssuerURL string
	// OIDCClientID is the client that tokens have to be for. Required with an issuer.
	OIDCClientID string
	// OIDCCAFile has the authorities of the issuer's certificate, PEM. Default: those of the
	// machine.
	OIDCCAFile string
	// OIDCUsernameClaim is the claim with the user name. Default sub.
	OIDCUsernameClaim string
	// OIDCUsernamePrefix is put before user names; "-" for nothing. Default: the issuer and
	// "#", and nothing for the claim email.
	OIDCUsernamePrefix string
	// OIDCGroupsClaim is the claim with the groups, a text or a list; "" for no groups.
	OIDCGroupsClaim string
	// OIDCGroupsPrefix is put before groups.
	OIDCGroupsPrefix string
	// OIDCRequiredClaims are claims that a token must have, with their values.
	OIDCRequiredClaims map[string]string
	// OIDCSigningAlgorithms are the accepted algorithms. Default RS256.
	OIDCSigningAlgorithms []string
}

// algorithms are those of public keys (RFC 7518, section 3.1).
var algorithms = strings.Fields("RS256 RS384 RS512 ES256 ES384 ES512 PS256 PS384 PS512")

// SetDefaults fills in every field that is not set.
func (c *Settings) SetDefaults() {
	if c.OIDCUsernameClaim == "" {
		c.OIDCUsernameClaim = "sub"
	}
	if len(c.OIDCSigningAlgorithms) == 0 {
		c.OIDCSigningAlgorithms = []string{"RS256"}
	}
}

// Validate reports all mistakes, joined into one error, or nil. It opens no file.
func (c *Settings) Validate() error {
	var all []error
	if c.AuthenticationConfigFile != "" && (c.OIDCIssuerURL != "" || c.OIDCClientID != "") {
		all = append(all, errors.New("--authentication-config: authentication-config file and oidc-* flags are mutually exclusive: name all issuers in the file"))
	}
	if (c.OIDCIssuerURL == "") != (c.OIDCClientID == "") {
		all = append(all, errors.New("--oidc-issuer-url and --oidc-client-id belong together; set both or none"))
	}
	if issuer, err := url.Parse(c.OIDCIssuerURL); c.OIDCIssuerURL != "" && (err != nil || issuer.Scheme != "https" || issuer.Host == "") {
		all = append(all, fmt.Errorf("--oidc-issuer-url: %q is not a URL with the scheme https", c.OIDCIssuerURL))
	}
	for _, a := range c.OIDCSigningAlgorithms {
		if !slices.Contains(algorithms, a) {
			all = append(all, fmt.Errorf("--oidc-signing-algs: %q is not one of %s", a, strings.Join(algorithms, ", ")))
		}
	}
	return errors.Join(all...)
}

// usernamePrefix is the text before user names.
func (c *Settings) usernamePrefix() string {
	switch {
	case c.OIDCUsernamePrefix == "-":
		return ""
	case c.OIDCUsernamePrefix == "" && c.OIDCUsernameClaim != emailClaim:
		return c.OIDCIssuerURL + "#"
	}
	return c.OIDCUsernamePrefix
}

// Origin is the scheme, host and port of a URL, for security policies of pages, which are texts with
// separators. It is "" for another scheme than https, and for hosts with other signs than names and
// addresses of version 4 have.
func Origin(address string) string {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" || !plainHost.MatchString(at.Host) {
		return ""
	}
	return "https://" + at.Host
}

var plainHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)
