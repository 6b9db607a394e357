package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// logText is a log that may be read while it is written.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) count(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), word)
}

// credentialsAt are the credentials that a server makes at some time.
func credentialsAt(t *testing.T, now time.Time) *pki.Credentials {
	t.Helper()
	keys, err := pki.Open(PKI{}, pki.Site{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return keys.Credentials()
}

// reloads is a server all of whose certificates and tokens are files.
type reloads struct {
	t      *testing.T
	dir    string
	server *Server
	log    *logText
}

// startReloads starts it with the certificates of one authority; its files are checked on
// request of the test.
func startReloads(t *testing.T, first *pki.Credentials) *reloads {
	t.Helper()
	r := &reloads{t: t, dir: t.TempDir(), log: &logText{}}
	log, err := logging.New(r.log, "text", slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{InMemory: true, Background: Background{Controllers: []string{"root-ca-cert-publisher"}}, Logger: log, PKI: PKI{KubeconfigFile: r.dir + "/kubeconfig",
		TLSCertFile: r.write("tls.crt", first.Cert), TLSPrivateKeyFile: r.write("tls.key", first.Key),
		TokenAuthFile: r.write("tokens", []byte("first-token,admin,1,system:masters\n"))}}
	cfg.Seams.Durations = seams.Production
	cfg.Seams.Durations.Reload = time.Hour
	r.server = r.start(cfg)
	return r
}

func (r *reloads) start(cfg Config) *Server {
	r.t.Helper()
	s, err := Start(context.Background(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

func (r *reloads) write(name string, text []byte) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// client trusts roots and presents a client certificate (nil: none), on connections of
// its own.
func (r *reloads) client(roots []byte, identity *pki.Credentials) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	c := &tls.Config{RootCAs: pool}
	if identity != nil {
		pair, err := tls.X509KeyPair(identity.AdminCert, identity.AdminKey)
		if err != nil {
			r.t.Fatal(err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get returns the code of an answer, 0 without one.
func (r *reloads) get(client *http.Client, token string) int {
	req, err := http.NewRequest("GET", r.server.URL()+"/api/v1/nodes", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (r *reloads) expect(what string, got, want int) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

func TestServingCertificateIsReloaded(t *testing.T) {
	a, b := credentialsAt(t, time.Now()), credentialsAt(t, time.Now())
	old := credentialsAt(t, time.Now().AddDate(-2, 0, 0))
	r := startReloads(t, a)
	const token = "first-token"
	kept := r.client(a.CA, nil)
	r.expect("before", r.get(kept, token), 200)

	r.write("tls.crt", b.Cert)
	for range 3 {
		r.server.Reload()
	}
	r.expect("half of the pair is there, the old one", r.get(r.client(a.CA, nil), token), 200)
	r.expect("complaints", r.log.count("cannot be used"), 1)

	r.write("tls.key", b.Key)
	r.server.Reload()
	r.expect("the new one", r.get(r.client(b.CA, nil), token), 200)
	r.expect("the old one", r.get(r.client(a.CA, nil), token), 0)
	r.expect("a connection from before", r.get(kept, token), 200)
	r.expect("notes", r.log.count("the serving certificate has changed and is in use"), 1)
	r.expect("notes with an end", r.log.count("notAfter="), 1)
	if text, err := os.ReadFile(r.dir + "/kubeconfig"); err != nil || !bytes.Equal(text, r.server.Kubeconfig()) || !bytes.Equal(r.server.CA(), b.Cert) {
		t.Errorf("the kubeconfig is as before: %v", err)
	}

	for what, change := range map[string]func(){
		"one that has ended": func() { r.write("tls.crt", old.Cert); r.write("tls.key", old.Key) },
		"text":               func() { r.write("tls.crt", []byte("hello")) },
		"no file":            func() { _ = os.Remove(r.dir + "/tls.key") },
	} {
		complaints := r.log.count("cannot be used")
		change()
		r.server.Reload()
		r.server.Reload()
		r.expect(what, r.get(r.client(b.CA, nil), token), 200)
		r.expect(what+", complaints", r.log.count("cannot be used"), complaints+1)
	}
}

func TestClientAuthoritiesAndTokensAreReloaded(t *testing.T) {
	a, b := credentialsAt(t, time.Now()), credentialsAt(t, time.Now())
	r := startReloads(t, a)
	cfg := r.server.cfg
	cfg.Listener, cfg.ClientCAFile = nil, r.write("clients.crt", a.CA)
	r.server = r.start(cfg)

	theirs := r.client(a.CA, a)
	r.expect("one of the first authority", r.get(theirs, ""), 200)
	r.expect("one of the other", r.get(r.client(a.CA, b), ""), 401)
	r.write("clients.crt", b.CA[:len(b.CA)/2])
	r.server.Reload()
	r.expect("with half a file", r.get(theirs, ""), 200)
	r.write("clients.crt", b.CA)
	r.server.Reload()
	r.expect("one of the first authority, on the same connection", r.get(theirs, ""), 401)
	r.expect("one of the other", r.get(r.client(a.CA, b), ""), 200)

	user := r.client(a.CA, nil)
	r.write("tokens", []byte("second-token,admin,1,system:masters\nshort\n"))
	r.server.Reload()
	r.expect("the first token, with a wrong file", r.get(user, "first-token"), 200)
	for _, text := range []string{"", "\n", " \r\n\n"} {
		r.write("tokens", []byte(text))
		r.server.Reload()
		r.server.Reload()
		r.expect("the first token, with an empty file", r.get(user, "first-token"), 200)
		r.expect("empty token files in the log", r.log.count("tokens is empty"), 1)
	}
	r.write("tokens", []byte("second-token,admin,1,system:masters\n"))
	r.server.Reload()
	r.expect("the first token", r.get(user, "first-token"), 401)
	r.expect("the second token", r.get(user, "second-token"), 200)
	r.expect("tokens in the log", r.log.count("-token"), 0)
}

// TestFilesCaughtWhileWritten: a file that is empty, or ends inside of a certificate, is
// logged and changes nothing, whatever it is for.
func TestFilesCaughtWhileWritten(t *testing.T) {
	a, b := credentialsAt(t, time.Now()), credentialsAt(t, time.Now())
	r := startReloads(t, a)
	const encrypted = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{aescbc: {keys: [{name: k, secret: MDEyMzQ1Njc4OWFiY2RlZg==}]}}]}]\n"
	cfg := r.server.cfg
	cfg.Listener, cfg.ClientCAFile = nil, r.write("clients.crt", append(bytes.Clone(a.CA), b.CA...))
	cfg.RequestHeaderClientCAFile = r.write("proxies.crt", credentialsAt(t, time.Now()).CA)
	cfg.EncryptionConfigFile, cfg.EncryptionConfigReload = r.write("encryption.yaml", []byte(encrypted)), true
	r.server = r.start(cfg)
	works := func(when string) {
		t.Helper()
		r.expect("one of the first authority, "+when, r.get(r.client(a.CA, a), ""), 200)
		r.expect("one of the last authority, "+when, r.get(r.client(a.CA, b), ""), 200)
		r.expect("a token, "+when, r.get(r.client(a.CA, nil), "first-token"), 200)
		if _, err := r.server.cipher.Sealer("core/secrets/default/a"); err != nil {
			t.Errorf("encryption, %s: %v", when, err)
		} else if seal, _ := r.server.cipher.Sealer("core/secrets/default/a"); seal == nil {
			t.Errorf("encryption, %s: secrets are plain", when)
		}
	}
	works("at first")
	names := []string{"tokens", "clients.crt", "proxies.crt", "encryption.yaml", "tls.crt", "tls.key"}
	for _, name := range names {
		r.write(name, nil)
	}
	r.server.Reload()
	works("with empty files")
	r.expect("empty files in the log", r.log.count("is empty"), len(names)-1) // the certificate and its key are one mistake
	r.write("clients.crt", append(bytes.Clone(a.CA), b.CA[:len(b.CA)/2]...))
	r.write("tls.crt", append(bytes.Clone(a.Cert), b.CA[:len(b.CA)/2]...))
	r.write("tls.key", a.Key)
	r.server.Reload()
	works("with cut files")
	r.expect("cut files in the log", r.log.count("ends in the middle"), 2)
}

// TestFilesAreLookedAt: the server finds changed files by itself; clients of the old
// certificate learn the new one.
func TestFilesAreLookedAt(t *testing.T) {
	a, b := credentialsAt(t, time.Now()), credentialsAt(t, time.Now())
	r := startReloads(t, a)
	cfg := r.server.cfg
	cfg.Listener = nil
	cfg.Seams.Durations.Reload = time.Millisecond
	r.server = r.start(cfg)
	changed := make(chan struct{}, 1)
	_, cancel := r.server.store.Subscribe(store.Streams, func(store.Batch) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer cancel()
	published := func(want []byte) {
		t.Helper()
		for {
			e, err := r.server.store.Get(context.Background(), "core/configmaps/default/kube-root-ca.crt")
			if err == nil && bytes.Contains(e.Body, bytes.ReplaceAll(want, []byte("\n"), []byte(`\n`))) {
				return
			}
			select {
			case <-changed:
			case <-time.After(10 * time.Second):
				t.Fatalf("kube-root-ca.crt does not have what was expected: %v %s", err, e.Body)
			}
		}
	}
	published(a.Cert)
	r.write("tls.crt", b.Cert)
	r.write("tls.key", b.Key)
	published(b.Cert)
	r.expect("the new one", r.get(r.client(b.CA, nil), "first-token"), 200)
}

func TestOwnCertificatesAreRenewedInTime(t *testing.T) {
	now := atomic.Pointer[time.Time]{}
	begin := time.Now()
	now.Store(&begin)
	r := &reloads{t: t}
	s := r.start(Config{DataDir: t.TempDir(), Background: Background{Controllers: []string{"-*"}}, Clock: func() time.Time { return *now.Load() }})
	before := s.keys.Credentials()
	if err := s.keys.RenewOwn(); err != nil || s.keys.Credentials() != before {
		t.Fatalf("renewed without need: %v", err)
	}
	later := begin.Add(340 * 24 * time.Hour)
	now.Store(&later)
	if err := s.keys.RenewOwn(); err != nil {
		t.Fatal(err)
	}
	after := s.keys.Credentials()
	if !bytes.Equal(after.CA, before.CA) || bytes.Equal(after.Cert, before.Cert) || bytes.Equal(after.AdminCert, before.AdminCert) {
		t.Error("want another serving and another administrator's certificate, of the same authority")
	}
	if text, err := os.ReadFile(s.KubeconfigPath()); err != nil || !bytes.Equal(text, s.Kubeconfig()) {
		t.Errorf("the kubeconfig has the old certificate: %v", err)
	}
}

// TestNamedCertificates: a client gets the certificate for its server name, and those
// files are checked as well.
func TestNamedCertificates(t *testing.T) {
	certs := map[string]*pki.Credentials{}
	for _, name := range []string{"all", "shop", "wild", "in", "next"} {
		certs[name] = credentialsAt(t, time.Now())
	}
	r := startReloads(t, certs["all"])
	cfg := r.server.cfg
	cfg.Listener = nil
	for _, c := range []struct{ name, names string }{{"in", ""}, {"shop", ":shop.example.com,Other.example.com"}, {"wild", ":*.example.com"}} {
		cfg.TLSSNICertKeys = append(cfg.TLSSNICertKeys, r.write(c.name+".crt", certs[c.name].Cert)+","+r.write(c.name+".key", certs[c.name].Key)+c.names)
	}
	r.server = r.start(cfg)
	shown := func(name string) string {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(r.server.URL(), "https://"), &tls.Config{ServerName: name, InsecureSkipVerify: true}) // the test is about which certificate is presented
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		leaf := conn.ConnectionState().PeerCertificates[0]
		for name, c := range certs {
			if pair, err := tls.X509KeyPair(c.Cert, c.Key); err == nil && pair.Leaf.Equal(leaf) {
				return name
			}
		}
		return "none of them"
	}
	for name, want := range map[string]string{"shop.example.com": "shop", "OTHER.example.com": "shop", "more.example.com": "wild", "a.more.example.com": "all",
		"example.com": "all", "localhost": "in", "": "in", "elsewhere": "all"} {
		if got := shown(name); got != want {
			t.Errorf("%q is shown the certificate of %s, want that of %s", name, got, want)
		}
	}
	r.write("shop.crt", certs["next"].Cert)
	r.server.Reload()
	if got := shown("shop.example.com"); got != "shop" {
		t.Errorf("half of the pair is there: %s", got)
	}
	r.write("shop.key", certs["next"].Key)
	r.server.Reload()
	if got := shown("shop.example.com") + " " + shown("more.example.com"); got != "next wild" {
		t.Errorf("both are there: %s", got)
	}
}
