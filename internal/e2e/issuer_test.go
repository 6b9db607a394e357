package e2e

import (
	"bufio"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// asIssuer in the environment makes the program of the tests an issuer of ID tokens.
const asIssuer = "CAPSTAN_E2E_ISSUER"

// runIssuer is an issuer of ID tokens until its standard input ends. It writes its URL and
// the certificate of its authority, as JSON, and gives a token to everybody who asks: GET
// /token?NAME=VALUE has these claims.
func runIssuer() int {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return 1
	}
	encode := base64.RawURLEncoding.EncodeToString
	var s *httptest.Server
	token := func(claims map[string]any) string {
		claims["iss"], claims["aud"], claims["exp"] = s.URL, "kit", time.Now().Add(time.Hour).Unix()
		payload, _ := json.Marshal(claims)
		text := encode([]byte(`{"alg":"RS256","kid":"one"}`)) + "." + encode(payload)
		sum := sha256.Sum256([]byte(text))
		signature, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		return text + "." + encode(signature)
	}
	s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": s.URL, "jwks_uri": s.URL + "/keys", "authorization_endpoint": s.URL + "/a", "token_endpoint": s.URL + "/t"})
		case "/keys":
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig",
				"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes())}}})
		case "/groups": // of a distributed claim
			if r.Header.Get("Authorization") == "Bearer of-the-groups" {
				_, _ = io.WriteString(w, token(map[string]any{"groups": []string{"devs"}}))
			}
		case "/token":
			claims := map[string]any{}
			for name, values := range r.URL.Query() {
				claims[name] = values[0]
			}
			if claims["groups"] == nil {
				claims["_claim_names"] = map[string]string{"groups": "s"}
				claims["_claim_sources"] = map[string]any{"s": map[string]string{"endpoint": s.URL + "/groups", "access_token": "of-the-groups"}}
			}
			_, _ = io.WriteString(w, token(claims))
		}
	}))
	defer s.Close()
	_ = json.NewEncoder(os.Stdout).Encode(issuer{URL: s.URL, CA: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))})
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// issuer is a process that issues ID tokens.
type issuer struct {
	URL, CA string
	file    string // with CA
	client  *http.Client
}

// startIssuer starts one, which ends with the test.
func startIssuer(t *testing.T) *issuer {
	t.Helper()
	cmd := exec.Command(must[string](t)(os.Executable()))
	cmd.Env = append(os.Environ(), asIssuer+"=1")
	in := must[io.WriteCloser](t)(cmd.StdinPipe())
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	i := &issuer{file: filepath.Join(t.TempDir(), "ca.crt")}
	if err := json.Unmarshal(must[[]byte](t)(bufio.NewReader(out).ReadBytes('\n')), i); err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM([]byte(i.CA))
	i.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}}
	t.Cleanup(i.client.CloseIdleConnections)
	if err := os.WriteFile(i.file, []byte(i.CA), 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

// token asks for an ID token with some claims.
func (i *issuer) token(t *testing.T, claims url.Values) string {
	t.Helper()
	resp := must[*http.Response](t)(i.client.Get(i.URL + "/token?" + claims.Encode()))
	defer resp.Body.Close()
	return string(must[[]byte](t)(io.ReadAll(resp.Body)))
}
