package server

import (
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

// newTokenIssuer prepares signing with the key that the configuration names, or
// with the server's own.
func newTokenIssuer(c *Config) (*authn.TokenIssuer, error) {
	key, err := signingKey(c)
	if err != nil {
		return nil, fmt.Errorf("service account signing key: %w", err)
	}
	issuer, err := authn.NewTokenIssuer(c.ServiceAccountIssuer, key)
	if err != nil {
		return nil, fmt.Errorf("service account signing key: %w", err)
	}
	return issuer, nil
}

func signingKey(c *Config) ([]byte, error) {
	if c.ServiceAccountSigningKeyFile != "" {
		return os.ReadFile(c.ServiceAccountSigningKeyFile)
	}
	path := filepath.Join(c.CertDir, "sa.key")
	if c.keepsFiles() {
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
	if c.keepsFiles() {
		err = errors.Join(os.MkdirAll(c.CertDir, 0o700), writePrivate(path, text))
	}
	return text, err
}
