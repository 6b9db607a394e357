package encryption

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/nacl/secretbox"
)

// Values that servers share in etcd have the form of kube-apiserver 1.25: a mark, the provider with
// its key, and the encrypted bytes. AES-GCM binds a value to its key in etcd, the other algorithms do
// not, and AES-CBC finds no change of a value: who may write to etcd can exchange such values.

// valueMark begins an encrypted value.
const valueMark = "k8s:enc:"

// longestID bounds the name of a provider in an error.
const longestID = 300

// Encrypts reports whether the configuration names the resource of a key.
func (c *Cipher) Encrypts(key string) bool {
	if c == nil {
		return false
	}
	in, _ := c.of(key)
	return in != nil
}

// SealValue encrypts the value of a key of the store, which lies in etcd at a place. A key whose
// values stay plain gets plain back. Errors: those of a key management service.
func (c *Cipher) SealValue(key, place string, plain []byte) ([]byte, error) {
	if c == nil {
		return plain, nil
	}
	in, resource := c.of(key)
	if in == nil || in.providers[0] == nil {
		return plain, nil
	}
	p := in.providers[0]
	sealed, err := p.sealValue([]byte(valueMark+p.id()+":"), place, plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", resource, p.id(), err)
	}
	return sealed, nil
}

// OpenValue decrypts a value from etcd. stale says that it would be encrypted in another way today.
// Errors: store.KeyError when a key management service does not give the value's key.
func (c *Cipher) OpenValue(key, place string, data []byte) (plain []byte, stale bool, err error) {
	rest, sealed := bytes.CutPrefix(data, []byte(valueMark))
	if c == nil {
		if sealed {
			return nil, false, errors.New("it is encrypted; give the configuration that it was encrypted by (--encryption-provider-config)")
		}
		return data, false, nil
	}
	in, resource := c.of(key)
	switch {
	case in == nil && !sealed:
		return data, false, nil
	case in == nil:
		return nil, false, fmt.Errorf("%s: it is encrypted, and the encryption configuration does not name %s", resource, resource)
	}
	for i, p := range in.providers {
		if p == nil && !sealed {
			return data, i > 0, nil
		}
		if p == nil || !strings.HasPrefix(string(rest), p.id()+":") {
			continue
		}
		plain, stale, err = p.openValue(place, rest[len(p.id())+1:])
		if err != nil {
			return nil, false, fmt.Errorf("%s: %s: %w", resource, p.id(), err)
		}
		return plain, stale || i > 0, nil
	}
	if !sealed {
		return nil, false, fmt.Errorf("%s: it is not encrypted, and the encryption configuration does not have the provider identity for %s", resource, resource)
	}
	id := strings.SplitN(string(rest[:min(len(rest), longestID)]), ":", 4) // the fourth part is encrypted
	return nil, false, fmt.Errorf("%s: it was encrypted with %q, which the encryption configuration does not have for %s",
		resource, strings.Join(id[:min(len(id), 3)], ":"), resource)
}

func (l *local) sealValue(dst []byte, place string, plain []byte) ([]byte, error) {
	return l.algorithm.sealValue(dst, place, plain), nil
}

func (l *local) openValue(place string, sealed []byte) (plain []byte, stale bool, err error) {
	plain, err = l.algorithm.openValue(place, sealed)
	return plain, false, err
}

func (g gcm) sealValue(dst []byte, place string, plain []byte) []byte {
	return g.seal(dst, []byte(place), plain)
}

func (g gcm) openValue(place string, sealed []byte) ([]byte, error) {
	return g.open([]byte(place), sealed)
}

func (c cbc) sealValue(dst []byte, _ string, plain []byte) []byte {
	start := len(dst)
	dst = appendRandom(dst, aes.BlockSize)
	text := len(dst)
	dst = append(dst, plain...)
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	for range pad {
		dst = append(dst, byte(pad))
	}
	cipher.NewCBCEncrypter(c.block, dst[start:text]).CryptBlocks(dst[text:], dst[text:])
	return dst
}

func (c cbc) openValue(_ string, sealed []byte) ([]byte, error) {
	if len(sealed) < 2*aes.BlockSize || len(sealed)%aes.BlockSize != 0 {
		return nil, errDamaged
	}
	plain := bytes.Clone(sealed[aes.BlockSize:])
	cipher.NewCBCDecrypter(c.block, sealed[:aes.BlockSize]).CryptBlocks(plain, plain)
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize {
		return nil, errWrongKey
	}
	end := len(plain) - pad
	for _, b := range plain[end:] {
		if int(b) != pad {
			return nil, errWrongKey
		}
	}
	return plain[:end], nil
}

func (b box) sealValue(dst []byte, _ string, plain []byte) []byte {
	dst = appendRandom(dst, boxNonce)
	nonce := [boxNonce]byte(dst[len(dst)-boxNonce:])
	return secretbox.Seal(dst, plain, &nonce, &b.key)
}

func (b box) openValue(_ string, sealed []byte) ([]byte, error) {
	if len(sealed) < boxNonce {
		return nil, errDamaged
	}
	nonce := [boxNonce]byte(sealed)
	plain, ok := secretbox.Open(nil, sealed[boxNonce:], &nonce, &b.key)
	if !ok {
		return nil, errWrongKey
	}
	return plain, nil
}
