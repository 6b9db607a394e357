package openid

import (
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// configuration is the content of a file: an AuthenticationConfiguration of kube-apiserver.
type configuration struct {
	JWT       []jwtIssuer `yaml:"jwt"`
	Anonymous *Anonymous  `yaml:"anonymous"`
}

// Anonymous says whether requests without credentials are let in, and for which paths.
type Anonymous struct {
	Enabled    bool            `yaml:"enabled"`
	Conditions []AnonymousPath `yaml:"conditions"` // none for all paths
}

// Paths are those of the conditions.
func (a *Anonymous) Paths() (paths []string) {
	for _, c := range a.Conditions {
		paths = append(paths, c.Path)
	}
	return paths
}

// AnonymousPath is a path that requests without credentials are let in for.
type AnonymousPath struct {
	Path string `yaml:"path"`
}

// jwtIssuer is an issuer with the users of its tokens.
type jwtIssuer struct {
	Issuer               issuerEntry   `yaml:"issuer"`
	ClaimValidationRules []claimRule   `yaml:"claimValidationRules"`
	ClaimMappings        claimMappings `yaml:"claimMappings"`
	UserValidationRules  []userRule    `yaml:"userValidationRules"`
}

type issuerEntry struct {
	URL                  string   `yaml:"url"`
	DiscoveryURL         string   `yaml:"discoveryURL"`
	CertificateAuthority string   `yaml:"certificateAuthority"` // PEM
	Audiences            []string `yaml:"audiences"`
	AudienceMatchPolicy  string   `yaml:"audienceMatchPolicy"`
	EgressSelectorType   string   `yaml:"egressSelectorType"`

	algorithms []string // that are accepted; nil for all
}

type claimRule struct {
	Claim         string `yaml:"claim"`
	RequiredValue string `yaml:"requiredValue"`
	Expression    string `yaml:"expression"`
	Message       string `yaml:"message"`
}

type claimMappings struct {
	Username mapping        `yaml:"username"`
	Groups   mapping        `yaml:"groups"`
	UID      claimOr        `yaml:"uid"`
	Extra    []extraMapping `yaml:"extra"`
}

type mapping struct {
	Claim      string  `yaml:"claim"`
	Prefix     *string `yaml:"prefix"`
	Expression string  `yaml:"expression"`
}

type claimOr struct {
	Claim      string `yaml:"claim"`
	Expression string `yaml:"expression"`
}

type extraMapping struct {
	Key             string `yaml:"key"`
	ValueExpression string `yaml:"valueExpression"`
}

type userRule struct {
	Expression string `yaml:"expression"`
	Message    string `yaml:"message"`
}

// read reads the text of a file of a release.
func read(path string, text []byte, since func(string) bool) (c configuration, err error) {
	versions := configfile.Versions("apiserver.config."+profile.GroupSuffix, since, "1.30", "1.34")
	v, err := configfile.LoadText(path, text, &c, "AuthenticationConfiguration", versions...)
	if err != nil {
		return c, err
	}
	if at := v.At("anonymous"); at.Exists() && !since("1.31") {
		return c, at.Wrong("unknown field %q", "anonymous")
	}
	for i := range c.JWT {
		for name, release := range map[string]string{"discoveryURL": "1.30", "audienceMatchPolicy": "1.30", "egressSelectorType": "1.34"} {
			if at := v.At("jwt", i, "issuer", name); at.Exists() && !since(release) {
				return c, at.Wrong("unknown field %q", name)
			}
		}
	}
	return c, nil
}

// entry is the issuer of the flags, as a file would have it.
func (c *Settings) entry(roots string) *jwtIssuer {
	prefix := c.usernamePrefix()
	e := &jwtIssuer{Issuer: issuerEntry{URL: c.OIDCIssuerURL, CertificateAuthority: roots, Audiences: []string{c.OIDCClientID},
		algorithms: c.OIDCSigningAlgorithms},
		ClaimMappings: claimMappings{Username: mapping{Claim: c.OIDCUsernameClaim, Prefix: &prefix},
			Groups: mapping{Claim: c.OIDCGroupsClaim, Prefix: &c.OIDCGroupsPrefix}}}
	for _, name := range slices.Sorted(maps.Keys(c.OIDCRequiredClaims)) {
		e.ClaimValidationRules = append(e.ClaimValidationRules, claimRule{Claim: name, RequiredValue: c.OIDCRequiredClaims[name]})
	}
	return e
}
