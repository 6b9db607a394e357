package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is a credential plug-in as well: it writes the file answer of a folder, and adds
// a line to the file log.
func TestMain(m *testing.M) {
	dir := os.Getenv("CAPSTAN_TEST_PLUGIN")
	if dir == "" {
		os.Exit(m.Run())
	}
	answer, err := os.ReadFile(filepath.Join(dir, "answer"))
	if err != nil {
		os.Exit(3)
	}
	calls, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(calls, strings.Join(os.Args[1:], " "), os.Getenv("KUBERNETES_EXEC_INFO"))
	}
	if err != nil {
		os.Exit(4)
	}
	_, _ = os.Stdout.Write(answer)
	os.Exit(0)
}

// files is a folder of a test.
type files struct {
	t   *testing.T
	dir string
}

func (f files) write(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// kubeconfig writes a kubeconfig of one context.
func (f files) kubeconfig(cluster, user string) string {
	return f.write("kubeconfig", "clusters: [{name: c, cluster: {"+cluster+"}}]\nusers: [{name: u, user: {"+user+"}}]\n"+
		"contexts: [{name: x, context: {cluster: c, user: u, namespace: shop}}]\ncurrent-context: x\n")
}

// pair is a new certificate that signs itself, with its key, PEM.
func (f files) pair(name string) (certificate, key string) {
	f.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		f.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// echo is an HTTPS server that answers with the credentials of the request, as the error
// of a Status. It refuses the token "old", and holds watches open.
func echo(t *testing.T) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get("Authorization")
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		for key, values := range r.Header {
			if strings.HasPrefix(key, "Impersonate-") {
				name += fmt.Sprintf(" %s=%v", key, values)
			}
		}
		if r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		code := http.StatusTeapot
		if name == "Bearer old" {
			code = http.StatusUnauthorized
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(Status{Status: "Failure", Message: name, Reason: "Test", Code: code})
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// whoami is the message of the server's answer, or another error.
func whoami(c *REST) string {
	err := c.do(context.Background(), request{method: "GET", path: "/"}, nil)
	if e, ok := err.(*Error); ok {
		return e.Status.Message
	}
	return fmt.Sprint(err)
}

func TestKubeconfig(t *testing.T) {
	f := files{t, t.TempDir()}
	s := echo(t)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	f.write("ca.crt", ca)
	f.write("token", "from-file\n")
	cert, key := f.pair("bob")
	f.write("bob.crt", cert)
	f.write("bob.key", key)
	proxied := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied++
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	at := "server: '" + s.URL + "', "
	trusted := at + "certificate-authority: ca.crt"
	byName := strings.Replace(at, "127.0.0.1", "localhost", 1)
	for _, c := range []struct{ cluster, user, want string }{
		{trusted, "", ""},
		{at + "certificate-authority-data: " + encoded(ca), "token: t", "Bearer t"},
		{trusted, "token: t, tokenFile: token", "Bearer from-file"},
		{trusted, "token: t, tokenFile: missing", "Bearer t"},
		{trusted, "tokenFile: missing", "no such file"},
		{trusted, "username: bob, password: secret", "Basic " + encoded("bob:secret")},
		{trusted, "client-certificate: bob.crt, client-key: bob.key", "bob"},
		{trusted, "client-certificate-data: " + encoded(cert) + ", client-key: bob.key", "bob"},
		{trusted, "client-certificate: bob.crt, client-key: missing", "no such file"},
		{trusted, "token: t, as: carol, as-uid: '7', as-groups: [dev], as-user-extra: {'example.com/a b': [x]}", "Bearer t Impersonate-"},
		{at + "insecure-skip-tls-verify: true", "token: t", "Bearer t"},
		{byName + "certificate-authority: ca.crt", "token: t", "not localhost"},
		{byName + "certificate-authority: ca.crt, tls-server-name: example.com", "token: t", "Bearer t"},
		{at, "token: t", "unknown authority"},
		{trusted + ", proxy-url: '" + proxy.URL + "'", "token: t", "Bad Gateway"},
	} {
		config, namespace, err := LoadKubeconfig(f.kubeconfig(c.cluster, c.user), "")
		if err != nil || namespace != "shop" {
			t.Errorf("%s, %s: %q %v", c.cluster, c.user, namespace, err)
			continue
		}
		rest, err := NewREST(config)
		if err != nil {
			t.Fatal(err)
		}
		if got := whoami(rest); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s, %s: %q, want %q", c.cluster, c.user, got, c.want)
		}
	}
	if proxied != 1 {
		t.Errorf("the proxy was asked %d times", proxied)
	}
	for want, c := range map[string][2]string{
		"contradict each other":                   {trusted + ", insecure-skip-tls-verify: true", ""},
		"no certificates in PEM":                  {at + "certificate-authority-data: c2VjcmV0", ""},
		"want a URL with the scheme":              {trusted + ", proxy-url: 'ftp://secret'", ""},
		"needs its key":                           {trusted, "client-certificate: bob.crt"},
		"client-key-data: tls:":                   {trusted, "client-certificate-data: c2VjcmV0, client-key-data: c2VjcmV0"},
		"not both":                                {trusted, "username: bob, token: secret"},
		"use exec":                                {trusted, "auth-provider: {name: gcp}"},
		"impersonation needs":                     {trusted, "as-groups: [dev]"},
		"want a URL like":                         {"server: ''", ""},
		"credentials can be read":                 {"server: 'http://example.com'", "token: secret"},
		"exec: command is missing":                {trusted, "exec: {apiVersion: client.authentication.k8s.io/v1}"},
		`apiVersion "client`:                      {trusted, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}"},
		"interactiveMode is missing":              {trusted, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1}"},
		`interactiveMode "Sometimes"`:             {trusted, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Sometimes}"},
		"not a client configuration (kubeconfig)": {"[", "secret"},
		"no such file":                            {at + "certificate-authority: missing", ""},
	} {
		if _, _, err := LoadKubeconfig(f.kubeconfig(c[0], c[1]), "x"); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v, want %q", c, err, want)
		}
	}
	f.write("strange", "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x")
	if _, _, err := LoadKubeconfig(filepath.Join(f.dir, "strange"), ""); err == nil || !strings.Contains(err.Error(), "cluster or a user that is missing") {
		t.Error(err)
	}
	if _, _, err := LoadKubeconfig(f.kubeconfig(trusted, ""), "y"); err == nil || !strings.Contains(err.Error(), `no context "y"`) {
		t.Error(err)
	}
}

// TestRenewedFiles: files are read again after a minute, and a new certificate ends the
// connections of the old one.
func TestRenewedFiles(t *testing.T) {
	f := files{t, t.TempDir()}
	s := echo(t)
	cert, key := f.pair("bob")
	config := Config{Host: s.URL, TLS: &tls.Config{InsecureSkipVerify: true}, CertificateFile: f.write("crt", cert), KeyFile: f.write("key", key)}
	rest, err := NewREST(config)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	rest.login.now = func() time.Time { return now }
	step := func(what, want string, after time.Duration) {
		t.Helper()
		now = now.Add(after)
		if got := whoami(rest); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	step("at first", "bob", 0)
	watch, err := rest.send(t.Context(), request{method: "GET", path: "/", query: url.Values{"watch": {"1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	cert, key = f.pair("carol")
	f.write("crt", cert)
	step("soon", "bob", time.Second)
	step("half written", "bob", time.Hour)
	f.write("key", key)
	step("renewed", "carol", time.Hour)
	if _, err := io.ReadAll(watch.Body); err == nil || t.Context().Err() != nil {
		t.Error("the connection of the old certificate is open")
	}
	if err := os.Remove(filepath.Join(f.dir, "key")); err != nil {
		t.Fatal(err)
	}
	step("gone", "carol", time.Hour)

	rest, err = NewREST(Config{Host: s.URL, TLS: &tls.Config{InsecureSkipVerify: true}, BearerTokenFile: f.write("token", "one")})
	if err != nil {
		t.Fatal(err)
	}
	rest.login.now = func() time.Time { return now }
	step("the first token", "Bearer one", 0)
	f.write("token", "two")
	step("soon", "Bearer one", time.Second)
	step("later", "Bearer two", time.Hour)
	f.write("token", "")
	step("empty", "Bearer two", time.Hour)
}

// plugin is a credential plug-in of a test: its configuration, and the lines of its calls.
type plugin struct{ files }

func (p plugin) config(version, more string) string {
	return fmt.Sprintf("exec: {command: %q, args: [login, now], apiVersion: client.authentication.k8s.io/%s, env: [{name: CAPSTAN_TEST_PLUGIN, value: %q}], %s}", os.Args[0], version, p.dir, more)
}

func (p plugin) answer(version, status string) {
	p.write("answer", fmt.Sprintf(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/%s","status":{%s}}`, version, status))
}

func (p plugin) calls() []string {
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestExec(t *testing.T) {
	p := plugin{files{t, t.TempDir()}}
	s := echo(t)
	load := func(version, more string) *REST {
		t.Helper()
		config, _, err := LoadKubeconfig(p.kubeconfig("server: '"+s.URL+"', insecure-skip-tls-verify: true, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]", p.config(version, more)), "")
		if err != nil {
			t.Fatal(err)
		}
		rest, err := NewREST(config)
		if err != nil {
			t.Fatal(err)
		}
		return rest
	}
	now := time.Now()
	rest := load("v1", "interactiveMode: IfAvailable, provideClusterInfo: true")
	rest.login.now, rest.login.terminal = func() time.Time { return now }, func() bool { return true }
	step := func(what, want string, calls int) {
		t.Helper()
		if got := whoami(rest); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		if n := len(p.calls()); n != calls {
			t.Errorf("%s: the program ran %d times, want %d", what, n, calls)
		}
	}
	until := func(d time.Duration) string {
		return `,"expirationTimestamp":"` + now.Add(d).UTC().Format(time.RFC3339) + `"`
	}
	p.answer("v1", `"token":"one"`+until(time.Minute))
	step("first", "Bearer one", 1)
	want := `login now {"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{"server":"` + s.URL + `","insecure-skip-tls-verify":true,"config":{"audience":"x"}},"interactive":true}}`
	if got := p.calls()[0]; got != want {
		t.Errorf("the program got\n%s, want\n%s", got, want)
	}
	p.answer("v1", `"token":"old"`)
	step("cached", "Bearer one", 1)
	now = now.Add(2 * time.Minute)
	step("after the end", "Bearer old", 2)
	cert, key := p.pair("bob")
	pair := func(cert, key string) string {
		return fmt.Sprintf(`"clientCertificateData":%q,"clientKeyData":%q`, cert, key)
	}
	p.answer("v1", pair(cert, key)+until(time.Minute))
	step("after a refusal", "bob", 3)
	watch, err := rest.send(t.Context(), request{method: "GET", path: "/", query: url.Values{"watch": {"1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	p.answer("v1", pair(p.pair("carol")))
	now = now.Add(2 * time.Minute)
	step("another certificate", "carol", 4)
	if _, err := io.ReadAll(watch.Body); err == nil {
		t.Error("the connection of the old certificate is open")
	}

	rest = load("v1beta1", "")
	rest.login.terminal = func() bool { return false }
	p.answer("v1beta1", `"token":"beta"`)
	step("v1beta1", "Bearer beta", 5)
	if got := p.calls()[4]; !strings.HasSuffix(got, `"spec":{"interactive":false}}`) {
		t.Errorf("the program got %s", got)
	}
	for _, c := range []struct{ answer, want string }{
		{`secret`, "something else than an ExecCredential"},
		{`{"kind":"Secret","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"secret"}}`, "something else"},
		{`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"secret"}}`, `wrote "client.authentication.k8s.io/v1beta1"`},
		{`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}`, "neither a token"},
		{`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientKeyData":"secret"}}`, "only one of"},
		{`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientKeyData":"secret","clientCertificateData":"secret"}}`, "certificate: tls:"},
	} {
		p.write("answer", c.answer)
		if got := whoami(load("v1", "interactiveMode: Never")); !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", c.answer, got, c.want)
		}
	}
	if err := os.Remove(filepath.Join(p.dir, "answer")); err != nil {
		t.Fatal(err)
	}
	if got := whoami(load("v1", "interactiveMode: Never")); !strings.Contains(got, "exit status 3") {
		t.Error(got)
	}
	rest = load("v1", "interactiveMode: Always")
	rest.login.terminal = func() bool { return false }
	if got := whoami(rest); !strings.Contains(got, "not a terminal") {
		t.Error(got)
	}
	config, _, err := LoadKubeconfig(p.kubeconfig("server: '"+s.URL+"'", "exec: {command: ./missing, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, installHint: get it}"), "")
	if err != nil {
		t.Fatal(err)
	}
	if rest, err = NewREST(config); err != nil {
		t.Fatal(err)
	}
	if got := whoami(rest); !strings.Contains(got, p.dir) || !strings.Contains(got, "get it") {
		t.Error(got)
	}
}
