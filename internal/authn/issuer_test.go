package authn

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

func TestTokensVerify(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{"ES384": ec, "RS256": rsaKey} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		issuer, err := NewTokenIssuer("https://issuer", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		text, err := issuer.Issue(t.Context(), AccountToken{Namespace: "ns", Account: Reference{"a", "1"}, Audiences: []string{"x"}, From: now, To: now.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(name)})
		if err != nil {
			t.Fatal(err)
		}
		var claims jwt.Claims
		if err := token.Claims(key.Public(), &claims); err != nil {
			t.Errorf("%s: the signature is wrong: %v", name, err)
		}
		if err := claims.Validate(jwt.Expected{Issuer: "https://issuer", Subject: "system:serviceaccount:ns:a", AnyAudience: jwt.Audience{"x"}, Time: now}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if token.Headers[0].KeyID == "" {
			t.Errorf("%s: the key has no name", name)
		}
	}
}

func TestKeysThatCannotSign(t *testing.T) {
	small, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(small)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"nothing":     nil,
		"no key":      []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
		"small curve": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
	} {
		if _, err := NewTokenIssuer("i", text); err == nil {
			t.Errorf("%s was taken for a signing key", name)
		}
	}
}

// The token of a secret is one that AccountTokens accepts with the secret.
func TestIssueForSecret(t *testing.T) {
	m := newMint(t)
	token, err := m.IssueForSecret("shop", Reference{"web", "u1"}, "s")
	if err != nil {
		t.Fatal(err)
	}
	a := m.authenticator(boundObjects{"serviceaccounts/web": {UID: "u1"}, "secrets/s": {Token: []byte(token)}}, m.key.Public())
	if identity, err := a.AuthenticateToken(t.Context(), token); identity == nil || identity.User.Name != "system:serviceaccount:shop:web" {
		t.Errorf("%v, %v", identity, err)
	}
}
