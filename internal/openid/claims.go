package openid

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/authn"
)

// claims are those of an ID token, by name.
type claims map[string]json.RawMessage

// emailClaim is the claim with an address, which counts only if the issuer has verified
// it.
const emailClaim = "email"

// read reads a claim that has to be there.
func (c claims) read(name string, to any) error {
	value, ok := c[name]
	if !ok {
		return fmt.Errorf("the token has no claim %q", name)
	}
	if err := json.Unmarshal(value, to); err != nil {
		return fmt.Errorf("claim %q: %w", name, err)
	}
	return nil
}

// user makes the user of the claims of a valid token.
func (a *Authenticator) user(c claims) (*authn.User, error) {
	u := &authn.User{}
	if err := c.read(a.cfg.OIDCUsernameClaim, &u.Name); err != nil {
		return nil, err
	}
	if _, says := c["email_verified"]; says && a.cfg.OIDCUsernameClaim == emailClaim {
		var verified bool
		if err := c.read("email_verified", &verified); err != nil {
			return nil, err
		}
		if !verified {
			return nil, errors.New("the issuer has not verified the address of the user")
		}
	}
	if u.Name == "" {
		return nil, fmt.Errorf("claim %q is empty", a.cfg.OIDCUsernameClaim)
	}
	u.Name = a.prefix + u.Name
	if name := a.cfg.OIDCGroupsClaim; name != "" && c[name] != nil {
		var groups oneOrMore
		if err := c.read(name, &groups); err != nil {
			return nil, err
		}
		for _, g := range groups {
			u.Groups = append(u.Groups, a.cfg.OIDCGroupsPrefix+g)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.cfg.OIDCRequiredClaims)) {
		var value string
		if err := c.read(name, &value); err != nil {
			return nil, err
		}
		if value != a.cfg.OIDCRequiredClaims[name] {
			return nil, fmt.Errorf("claim %q is not what is required", name)
		}
	}
	return u, nil
}

// oneOrMore is a text or a list of texts.
type oneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	var one string
	err := json.Unmarshal(text, (*[]string)(o)) // of null: none
	if err != nil && json.Unmarshal(text, &one) == nil {
		*o, err = oneOrMore{one}, nil
	}
	return err
}
