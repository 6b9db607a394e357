package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/capstan-dev/capstan/internal/authn"
)

// SigningKey is the key that signs the tokens of service accounts, PEM: the one that
// the configuration names, or the server's own.
func (k *Keyring) SigningKey() ([]byte, error) {
	c := &k.source
	if c.ServiceAccountSigningKeyFile != "" {
		return os.ReadFile(c.ServiceAccountSigningKeyFile)
	}
	path := filepath.Join(c.CertDir, "sa.key")
	if c.CertDir != "" {
		if key, err := os.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if c.CertDir != "" {
		err = errors.Join(os.MkdirAll(c.CertDir, 0o700), writePrivate(path, text))
	}
	return text, err
}

// AccountKeys are the keys that verify the tokens of service accounts; signing is the one
// that signs them.
func (k *Keyring) AccountKeys(signing []byte) ([]crypto.PublicKey, error) {
	if len(k.source.ServiceAccountKeyFiles) == 0 {
		return authn.ParsePublicKeys(signing)
	}
	var all []crypto.PublicKey
	for _, file := range k.source.ServiceAccountKeyFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		keys, err := authn.ParsePublicKeys(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, keys...)
	}
	return all, nil
}
