package pki

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"slices"

	"github.com/capstan-dev/capstan/internal/authn"
)

// SigningKeys are the keys that sign the tokens of service accounts, PEM: those that are
// requested, and those in secrets.
func (k *Keyring) SigningKeys() (requested, secrets []byte, err error) {
	c := &k.source
	if file := cmp.Or(c.ServiceAccountSigningKeyFile, c.ServiceAccountPrivateKeyFile); file != "" {
		requested, err = os.ReadFile(file)
	} else {
		requested, err = k.ownSigningKey()
	}
	if err != nil || c.ServiceAccountPrivateKeyFile == "" {
		return requested, requested, err
	}
	secrets, err = os.ReadFile(c.ServiceAccountPrivateKeyFile)
	return requested, secrets, err
}

// ownSigningKey is the key that the server makes for itself, or that another server of its directory has made.
func (k *Keyring) ownSigningKey() ([]byte, error) {
	dir := certDir{path: k.source.CertDir}
	if dir.path == "" {
		return newSigningKey()
	}
	path := dir.file("sa.key")
	return findOrMake(dir, "key for the tokens of service accounts", func() ([]byte, error) { return os.ReadFile(path) }, func() ([]byte, error) {
		text, err := newSigningKey()
		if err != nil {
			return nil, err
		}
		return text, writePrivate(path, text)
	})
}

func newSigningKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// AccountKeys are the keys that verify the tokens of service accounts; signing are those
// that sign them.
func (k *Keyring) AccountKeys(signing ...[]byte) ([]crypto.PublicKey, error) {
	c := &k.source
	if len(c.ServiceAccountKeyFiles) == 0 {
		return k.defaultAccountKeys(signing)
	}
	var all []crypto.PublicKey
	for _, file := range c.ServiceAccountKeyFiles {
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

// defaultAccountKeys are the public parts of the keys that sign, and of the serving key in
// a file. A serving key that cannot sign tokens is left out, as in 1.25.
func (k *Keyring) defaultAccountKeys(signing [][]byte) (all []crypto.PublicKey, err error) {
	add := func(text []byte) error {
		keys, err := authn.ParsePublicKeys(text)
		for _, key := range keys {
			if own := key.(interface{ Equal(crypto.PublicKey) bool }); !slices.ContainsFunc(all, own.Equal) {
				all = append(all, key)
			}
		}
		return err
	}
	for _, text := range signing {
		if err := add(text); err != nil {
			return nil, err
		}
	}
	if file := k.source.TLSPrivateKeyFile; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := add(text); err != nil {
			k.source.Log.Info("the key of the serving certificate verifies no tokens of service accounts", "file", file, "reason", err)
		}
	}
	return all, nil
}
