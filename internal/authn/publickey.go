package authn

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// curveBlock is the type of a PEM block that files of openssl have before an ECDSA key.
const curveBlock = "EC PARAMETERS"

// ParsePublicKeys reads all RSA and ECDSA keys in a PEM text: public keys, certificates,
// and the public parts of private keys.
func ParsePublicKeys(text []byte) ([]crypto.PublicKey, error) {
	var keys []crypto.PublicKey
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type == curveBlock {
			continue
		}
		key, err := publicKey(block)
		if err != nil {
			return nil, err
		}
		if _, err := algorithmOf(key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("no PEM block with a public or private key")
	}
	return keys, nil
}

func publicKey(block *pem.Block) (crypto.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	}
	private, err := parseSigningKey(pem.EncodeToMemory(block))
	if err != nil {
		return nil, err
	}
	return private.Public(), nil
}

// algorithmOf is the algorithm of signatures by a key.
func algorithmOf(key crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		switch bits := k.Curve.Params().BitSize; bits {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		default:
			return "", fmt.Errorf("a key on a curve of %d bits cannot sign tokens; use P-256, P-384 or P-521", bits)
		}
	}
	return "", fmt.Errorf("a key of type %T cannot sign tokens; use RSA or ECDSA", key)
}

// PublicKey is a key that verifies tokens.
type PublicKey struct {
	ID  string // which the headers of tokens have
	Key crypto.PublicKey
	// Hidden keeps the key out of the documents about the issuer: it signs no new tokens.
	Hidden bool
}

// NamePublicKeys gives keys the names that a TokenIssuer with a key of its own writes into tokens.
func NamePublicKeys(keys []crypto.PublicKey) ([]PublicKey, error) {
	named := make([]PublicKey, 0, len(keys))
	for _, key := range keys {
		id, err := keyID(key)
		if err != nil {
			return nil, err
		}
		named = append(named, PublicKey{ID: id, Key: key})
	}
	return named, nil
}

// IssuerDocuments describe an issuer of tokens to other programs (OpenID Connect
// Discovery 1.0, section 4.2, and RFC 7517).
type IssuerDocuments struct{ Configuration, Keys []byte }

// NewIssuerDocuments makes the documents of an issuer, whose keys are published at a URL.
func NewIssuerDocuments(issuer, keysURL string, keys []PublicKey) (*IssuerDocuments, error) {
	var set jose.JSONWebKeySet
	var algorithms []string
	for _, key := range keys {
		if key.Hidden {
			continue
		}
		algorithm, err := algorithmOf(key.Key)
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Key, KeyID: key.ID, Algorithm: string(algorithm), Use: "sig"})
		algorithms = append(algorithms, string(algorithm))
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("all keys are excluded from the documents about the issuer")
	}
	slices.Sort(algorithms)
	configuration, err := json.Marshal(struct {
		Issuer     string   `json:"issuer"`
		KeysURL    string   `json:"jwks_uri"`
		Responses  []string `json:"response_types_supported"`
		Subjects   []string `json:"subject_types_supported"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}{issuer, keysURL, []string{"id_token"}, []string{"public"}, slices.Compact(algorithms)})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(set)
	return &IssuerDocuments{configuration, text}, err
}
