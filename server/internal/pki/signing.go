package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
