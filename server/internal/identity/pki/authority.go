package pki

import (
	"fmt"
	"maps"

	"github.com/capstan-dev/capstan/internal/signing"
)

// everySigner stands for all signers among the given authorities.
const everySigner = ""

// Authority signs the certificates that certificate signing requests for a signer ask for:
// the given one, or the server's own, whose certificates the server accepts from its
// clients; nil for a server that has neither, and for a signer without one where others
// have theirs.
func (k *Keyring) Authority(signer string) *signing.Authority {
	cr := k.credentials.Load()
	switch all := cr.authorities[everySigner]; {
	case len(cr.authorities) > 1, len(cr.authorities) == 1 && all == nil: // some have theirs
		return cr.authorities[signer]
	case all != nil:
		return all
	}
	return cr.ownAuthority
}

// authorityFiles are the files of given authorities, by signer.
func (c *Config) authorityFiles() map[string]AuthorityFiles {
	files := map[string]AuthorityFiles{everySigner: {c.ClusterSigningCertFile, c.ClusterSigningKeyFile}}
	for _, f := range c.SignerAuthorities.Each() {
		files[f.Signer] = *f.AuthorityFiles
	}
	maps.DeleteFunc(files, func(_ string, f AuthorityFiles) bool { return f.Cert == "" })
	return files
}

// loadAuthorities reads the given authorities of certificate signing requests.
func (cr *Credentials) loadAuthorities(c *source) error {
	cr.authorities = map[string]*signing.Authority{}
	for signer, files := range c.authorityFiles() {
		texts, err := (&watchedFiles{paths: []string{files.Cert, files.Key}}).read()
		if err != nil {
			return fmt.Errorf("signing authority: %w", err)
		}
		if cr.authorities[signer], err = files.parse(texts); err != nil {
			return err
		}
	}
	return nil
}

func (f AuthorityFiles) parse(texts [][]byte) (*signing.Authority, error) {
	authority, err := signing.ParseAuthority(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Errorf("signing authority: %s and %s are not an authority and its key in PEM: %w", f.Cert, f.Key, err)
	}
	return authority, nil
}

// watchAuthorities takes changed authorities.
func (k *Keyring) watchAuthorities() {
	for signer, files := range k.source.authorityFiles() {
		k.Watch("signing authority", func(texts [][]byte) ([]any, error) {
			authority, err := files.parse(texts)
			if err != nil {
				return nil, err
			}
			return about(authority.Certificate), k.changeCredentials(func(cr *Credentials) {
				cr.authorities = maps.Clone(cr.authorities)
				cr.authorities[signer] = authority
			})
		}, files.Cert, files.Key)
	}
}
