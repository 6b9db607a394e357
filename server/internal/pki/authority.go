package pki

import (
	"fmt"
	"os"

	"github.com/capstan-dev/capstan/internal/signing"
)

// Authority signs the certificates that certificate signing requests ask for: the given
// one, or the server's own, whose certificates the server accepts from its clients; nil
// for a server that has neither.
func (k *Keyring) Authority() *signing.Authority {
	cr := k.credentials.Load()
	if cr.authority != nil {
		return cr.authority
	}
	return cr.ownAuthority
}

// loadAuthority reads the given authority of certificate signing requests.
func (cr *Credentials) loadAuthority(c *source) error {
	if c.ClusterSigningCertFile == "" {
		return nil
	}
	cert, err := os.ReadFile(c.ClusterSigningCertFile)
	if err != nil {
		return fmt.Errorf("signing authority: %w", err)
	}
	key, err := os.ReadFile(c.ClusterSigningKeyFile)
	if err != nil {
		return fmt.Errorf("signing authority: %w", err)
	}
	cr.authority, err = parseAuthority(c, cert, key)
	return err
}

func parseAuthority(c *source, cert, key []byte) (*signing.Authority, error) {
	authority, err := signing.ParseAuthority(cert, key)
	if err != nil {
		return nil, fmt.Errorf("signing authority: %s and %s are not an authority and its key in PEM: %w", c.ClusterSigningCertFile, c.ClusterSigningKeyFile, err)
	}
	return authority, nil
}

// takeAuthority takes an authority of certificate signing requests and its key.
func (k *Keyring) takeAuthority(texts [][]byte) ([]any, error) {
	authority, err := parseAuthority(&k.source, texts[0], texts[1])
	if err != nil {
		return nil, err
	}
	return about(authority.Certificate), k.changeCredentials(func(cr *Credentials) { cr.authority = authority })
}
