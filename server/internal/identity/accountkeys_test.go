package identity_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// accountKey is a key that signs tokens of service accounts, in a file as openssl writes it.
func accountKey(t *testing.T) (file string, key *ecdsa.PrivateKey, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := asn1.Marshal(asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7})
	if err != nil {
		t.Fatal(err)
	}
	text = append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: curve}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
	return writeFile(t, "key.pem", text), key, text
}

func writeFile(t *testing.T, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// servingCertificate is a certificate of a server by its own key.
func servingCertificate(t *testing.T, public, private any) string {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "s"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}},
		&x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "s"}}, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "serving.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// accountTokens are three tokens of one account: as requested, of a secret, and one that
// somebody else made with a key.
func accountTokens(t *testing.T, h *harness.Server, foreign []byte) (requested, secret, made string) {
	t.Helper()
	const ns = "/api/v1/namespaces/default"
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"web"}}`)
	uid := h.Get(ns+"/serviceaccounts/web").Field(t, "metadata.uid").(string)
	h.Create(ns+"/secrets", `{"metadata":{"name":"s","annotations":{"kubernetes.io/service-account.name":"web"}},"type":"kubernetes.io/service-account-token"}`)
	h.Await(ns+"/secrets", func(o harness.Contents) bool {
		text, _ := o.In("s", "data.token").(string)
		decoded, _ := base64.StdEncoding.DecodeString(text)
		secret = string(decoded)
		return secret != ""
	})
	requested = h.Post(ns+"/serviceaccounts/web/token", `{"spec":{}}`).Field(t, "status.token").(string)
	issuer, err := authn.NewTokenIssuer("https://kubernetes.default.svc", foreign)
	if err == nil {
		made, err = issuer.Issue(t.Context(), authn.AccountToken{Namespace: "default", Account: authn.Reference{Name: "web", UID: uid}, Audiences: []string{"https://kubernetes.default.svc"}, From: time.Now(), To: time.Now().Add(time.Hour)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return requested, secret, made
}

func signedBy(t *testing.T, token string, key *ecdsa.PublicKey) bool {
	t.Helper()
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Claims(key, &jwt.Claims{}) == nil
}

// TestKeysOfAccountTokens: which key signs the tokens that are requested and those in
// secrets, and that keys verify them which nobody named: those that sign, and the serving
// one.
func TestKeysOfAccountTokens(t *testing.T) {
	signing, signingKey, _ := accountKey(t)
	private, privateKey, _ := accountKey(t)
	serving, servingKey, servingText := accountKey(t)
	cert := servingCertificate(t, &servingKey.PublicKey, servingKey)
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(edKey)
	if err != nil {
		t.Fatal(err)
	}
	edCert, edFile := servingCertificate(t, edPublic, edKey), writeFile(t, "ed.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for name, c := range map[string]struct {
		keys              server.PKI
		requested, secret *ecdsa.PublicKey // that verify; nil for the server's own
		logins            [3]int           // of the requested token, that of the secret, and one that the serving key signed
		published         int              // keys
	}{
		"nothing":               {server.PKI{}, nil, nil, [3]int{200, 200, 401}, 1},
		"a private key":         {server.PKI{ServiceAccountPrivateKeyFile: private}, &privateKey.PublicKey, &privateKey.PublicKey, [3]int{200, 200, 401}, 1},
		"both":                  {server.PKI{ServiceAccountSigningKeyFile: signing, ServiceAccountPrivateKeyFile: private}, &signingKey.PublicKey, &privateKey.PublicKey, [3]int{200, 200, 401}, 2},
		"a serving key":         {server.PKI{TLSCertFile: cert, TLSPrivateKeyFile: serving}, nil, nil, [3]int{200, 200, 200}, 2},
		"a serving Ed25519":     {server.PKI{TLSCertFile: edCert, TLSPrivateKeyFile: edFile}, nil, nil, [3]int{200, 200, 401}, 1},
		"the serving key twice": {server.PKI{TLSCertFile: cert, TLSPrivateKeyFile: serving, ServiceAccountSigningKeyFile: serving}, &servingKey.PublicKey, &servingKey.PublicKey, [3]int{200, 200, 200}, 1},
		"keys that verify":      {server.PKI{TLSCertFile: cert, TLSPrivateKeyFile: serving, ServiceAccountSigningKeyFile: signing, ServiceAccountPrivateKeyFile: private, ServiceAccountKeyFiles: []string{private}}, &signingKey.PublicKey, &privateKey.PublicKey, [3]int{401, 200, 401}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := harness.Start(t, func(cfg *server.Config) {
				tokens := cfg.TokenAuthFile
				cfg.PKI, cfg.Controllers = c.keys, []string{"serviceaccount-token"}
				cfg.TokenAuthFile = tokens
			})
			requested, secret, made := accountTokens(t, h, servingText)
			for i, token := range []string{requested, secret, made} {
				got := h.Send("GET", "/api/v1/namespaces/default/configmaps", "", nil, "Authorization", "Bearer "+token).Code
				if got == 403 { // known, without rights
					got = 200
				}
				if got != c.logins[i] {
					t.Errorf("token %d: %d, want %d", i, got, c.logins[i])
				}
			}
			for _, v := range []struct {
				token string
				key   *ecdsa.PublicKey
			}{{requested, c.requested}, {secret, c.secret}} {
				if v.key != nil && !signedBy(t, v.token, v.key) {
					t.Errorf("a token that another key signed: %s", v.token)
				}
			}
			keys := h.Send("GET", "/openid/v1/jwks", "", nil, "Accept", "application/jwk-set+json")
			if n := strings.Count(string(keys.Body), `"kid"`); n != c.published {
				t.Errorf("%d keys are published: %s", n, keys.Body)
			}
		})
	}
}

// TestServersWarn: deprecated forms of configuration files, and controllers that the server
// does not have, are in its log.
func TestServersWarn(t *testing.T) {
	logins := writeFile(t, "hooks", []byte("users: [{name: 'a', user: {token: secret}}]\n"))
	log := &harness.Lines{}
	harness.Start(t, func(c *server.Config) {
		c.AdmissionControlConfigFile = harness.AdmissionFile(t, "- name: ValidatingAdmissionWebhook\n  configuration: {apiVersion: apiserver.config.k8s.io/v1alpha1, kind: WebhookAdmission, kubeConfigFile: "+logins+"}\n")
		c.Controllers, c.Logger = []string{"deployment", "-cronjob"}, slog.New(slog.NewTextHandler(log, nil))
	})
	log.Mu.Lock()
	defer log.Mu.Unlock()
	for _, want := range []string{"admission.yaml:5: this form is deprecated; write kind: WebhookAdmissionConfiguration", "--controllers: this server does not have these controllers", "controllers=deployment\n"} {
		if !strings.Contains(log.Text.String(), want) {
			t.Errorf("no %q in\n%s", want, log.Text.String())
		}
	}
}
