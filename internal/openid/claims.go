package openid

import (
	"encoding/json"
	"fmt"
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
