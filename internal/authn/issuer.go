package authn

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
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

// TokenIssuer makes tokens of service accounts (RFC 7519).
type TokenIssuer struct {
	name     string
	signer   jose.Signer
	external ExternalSigner // in place of signer; nil for none
}

// ExternalSigner is another program that signs tokens, and names the keys that verify them.
type ExternalSigner interface {
	// Sign makes a token of its claims, JSON.
	Sign(ctx context.Context, claims []byte) (token string, err error)
	// Keys returns the present keys of a name, or all of them for "". The program is asked for keys
	// when there are none.
	Keys(ctx context.Context, id string) []PublicKey
	// Generation is a number of the present keys. Other keys have another one.
	Generation() uint64
}

// NewExternalIssuer returns an issuer of that name whose tokens another program signs.
func NewExternalIssuer(name string, signer ExternalSigner) *TokenIssuer {
	return &TokenIssuer{name: name, external: signer}
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
	return &TokenIssuer{name: name, signer: signer}, nil
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

// Issue makes a token. An external signer is waited for until ctx ends.
func (i *TokenIssuer) Issue(ctx context.Context, t AccountToken) (string, error) {
	claims := accountClaims{Namespace: t.Namespace, Account: t.Account, Pod: t.Pod, Secret: t.Secret, Node: t.Node}
	if !t.Stale.IsZero() {
		claims.Stale = t.Stale.Unix()
	}
	all := map[string]any{
		"iss": i.name, "sub": AccountName(t.Namespace, t.Account.Name),
		"iat": jwt.NewNumericDate(t.From), "nbf": jwt.NewNumericDate(t.From), "exp": jwt.NewNumericDate(t.To),
		"aud":               t.Audiences, // a list, also of one
		profile.LabelDomain: claims,
	}
	if t.ID != "" {
		all["jti"] = t.ID
	}
	if i.external == nil {
		return jwt.Signed(i.signer).Claims(all).Serialize()
	}
	payload, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	return i.external.Sign(ctx, payload)
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
