package authn

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Reference names the object that a token is bound to.
type Reference struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// AccountToken is the content of a service account's token.
type AccountToken struct {
	ID        string // "" for none
	Namespace string
	Account   Reference
	Pod       *Reference // the token is invalid without it; nil for none
	Node      *Reference // as Pod; with a pod it is that of the pod, for information, without a uid if it does not exist
	Secret    *Reference
	Audiences []string
	From, To  time.Time
	Stale     time.Time // from when on its use is counted as one of a token that is too old; zero for never
}

// TokenIssuer signs tokens of service accounts (RFC 7519).
type TokenIssuer struct {
	name   string
	signer jose.Signer
}

// NewTokenIssuer returns an issuer of that name which signs with an RSA or ECDSA key,
// PEM.
func NewTokenIssuer(name string, keyPEM []byte) (*TokenIssuer, error) {
	key, err := parseSigningKey(keyPEM)
	if err != nil {
		return nil, err
	}
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	algorithm, err := algorithmOf(key.Public())
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		return nil, fmt.Errorf("the key cannot sign tokens: %w", err)
	}
	return &TokenIssuer{name, signer}, nil
}

// accountClaims are the claims of 1.25 in addition to those of RFC 7519, under the label
// domain, and the node of later releases.
type accountClaims struct {
	Namespace string     `json:"namespace"`
	Pod       *Reference `json:"pod,omitempty"`
	Secret    *Reference `json:"secret,omitempty"`
	Node      *Reference `json:"node,omitempty"`
	Account   Reference  `json:"serviceaccount"`
	Stale     int64      `json:"warnafter,omitempty"` // seconds since 1970
}

// Issue signs a token.
func (i *TokenIssuer) Issue(t AccountToken) (string, error) {
	standard := jwt.Claims{ID: t.ID, Issuer: i.name, Subject: AccountName(t.Namespace, t.Account.Name),
		IssuedAt: jwt.NewNumericDate(t.From), NotBefore: jwt.NewNumericDate(t.From), Expiry: jwt.NewNumericDate(t.To)}
	claims := accountClaims{Namespace: t.Namespace, Account: t.Account, Pod: t.Pod, Secret: t.Secret, Node: t.Node}
	if !t.Stale.IsZero() {
		claims.Stale = t.Stale.Unix()
	}
	own := map[string]any{
		"aud":               t.Audiences, // a list, also of one
		profile.LabelDomain: claims,
	}
	return jwt.Signed(i.signer).Claims(standard).Claims(own).Serialize()
}

// IssueForSecret signs the token of a secret: it ends with the secret.
func (i *TokenIssuer) IssueForSecret(namespace string, account Reference, secret string) (string, error) {
	const own = profile.LabelDomain + "/serviceaccount/"
	return jwt.Signed(i.signer).Claims(jwt.Claims{Issuer: LegacyIssuer, Subject: AccountName(namespace, account.Name)}).Claims(map[string]any{
		own + "namespace": namespace, own + "secret.name": secret, own + "service-account.name": account.Name, own + "service-account.uid": account.UID}).Serialize()
}

// AccountName is the user name of a service account.
func AccountName(namespace, name string) string {
	return ServiceAccountPrefix + namespace + ":" + name
}

func parseSigningKey(text []byte) (crypto.Signer, error) {
	block, rest := pem.Decode(text)
	if block != nil && block.Type == curveBlock {
		block, _ = pem.Decode(rest)
	}
	if block == nil {
		return nil, errors.New("no PEM block with a private key")
	}
	switch block.Type {
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("not a private key: %w", err)
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	}
	return nil, fmt.Errorf("a key of type %T cannot sign tokens; use RSA or ECDSA", key)
}

// keyID identifies a key: a hash of its public part.
func keyID(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
