package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/kubeconfig"
	"github.com/google/go-cmp/cmp"
)

// sourceAt keeps its files in a directory; its clock stands still.
func sourceAt(dir string, now time.Time) *source {
	c := &source{Site: Site{Address: "127.0.0.1", Now: func() time.Time { return now }}}
	c.SetDefaults(dir)
	return c
}

func load(t *testing.T, c *source) *Credentials {
	t.Helper()
	cr, err := loadCredentials(c)
	if err != nil {
		t.Fatal(err)
	}
	return cr
}

// pems are the certificates and keys, to compare.
func pems(cr *Credentials) map[string]string {
	return map[string]string{"CA": string(cr.CA), "server": string(cr.Cert) + string(cr.Key), "admin": string(cr.AdminCert) + string(cr.AdminKey)}
}

func TestCredentialsAreKept(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	// The rest of a server that was killed while it wrote a key.
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "pki"), 0o700), os.WriteFile(filepath.Join(dir, "pki", ".ca.key.new"), []byte("half a k"), 0o600)); err != nil {
		t.Fatal(err)
	}
	first := load(t, sourceAt(dir, now))
	if diff := cmp.Diff(pems(first), pems(load(t, sourceAt(dir, now.Add(300*24*time.Hour))))); diff != "" {
		t.Errorf("made anew though nothing has changed: %s", diff)
	}
	for _, name := range []string{"ca.crt", "ca.key", "server.crt", "server.key", "admin.crt", "admin.key"} {
		info, err := os.Stat(filepath.Join(dir, "pki", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "pki")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("pki: %v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "pki", ".*.new")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCredentialsOfServersThatStartTogether: servers of one directory have one authority and one key for tokens, also
// when they start in the same moment: with a new directory, and with an authority that ends.
func TestCredentialsOfServersThatStartTogether(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for _, at := range []time.Time{now, now.Add(authorityLife)} {
		const servers = 8
		var all sync.WaitGroup
		made, tokens := make([]*Credentials, servers), make([][]byte, servers)
		for i := range servers {
			all.Go(func() {
				c, err := sourceAt(dir, at), error(nil)
				if made[i], err = loadCredentials(c); err != nil {
					t.Error(err)
					return
				}
				if tokens[i], err = (&Keyring{source: *c}).ownSigningKey(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		for i := range servers {
			if diff := cmp.Diff(pems(made[0]), pems(made[i])); diff != "" || !bytes.Equal(tokens[0], tokens[i]) {
				t.Fatalf("servers have made different certificates or keys: %s", diff)
			}
		}
		if diff := cmp.Diff(pems(made[0]), pems(load(t, sourceAt(dir, at)))); diff != "" {
			t.Errorf("the directory has others than the servers: %s", diff)
		}
	}
}

// TestCredentialsWait: a server waits for another that has locked the directory. One that has nothing to make does not.
func TestCredentialsWait(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	first := load(t, sourceAt(dir, now))
	held, err := certDir{path: filepath.Join(dir, "pki")}.lock()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pems(first), pems(load(t, sourceAt(dir, now)))); diff != "" {
		t.Errorf("made anew though nothing has changed: %s", diff)
	}
	remove(t, filepath.Join(dir, "pki"), "admin.crt")
	begun := time.Now()
	time.AfterFunc(50*time.Millisecond, func() { _ = held.Close() })
	if load(t, sourceAt(dir, now)); time.Since(begun) < 50*time.Millisecond {
		t.Error("a certificate was made in a directory that another server had locked")
	}
}

// TestCredentialsAreRenewed changes one thing after a first start; each case lists the
// certificates that the second start makes anew.
func TestCredentialsAreRenewed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, pki string, c *source)
		want   string // names, in the order CA, server, admin
	}{
		"nothing":          {func(*testing.T, string, *source) {}, ""},
		"another address":  {func(_ *testing.T, _ string, c *source) { c.Address = "192.0.2.1" }, "server"},
		"another services": {func(_ *testing.T, _ string, c *source) { c.Names = []string{"10.9.0.1"} }, "server"},
		"month before end": {func(_ *testing.T, _ string, c *source) {
			now := c.Now().Add(340 * 24 * time.Hour)
			c.Now = func() time.Time { return now }
		}, "server admin"},
		"end of authority": {func(_ *testing.T, _ string, c *source) {
			now := c.Now().Add(3640 * 24 * time.Hour)
			c.Now = func() time.Time { return now }
		}, "CA server admin"},
		"no server key":       {func(t *testing.T, pki string, _ *source) { remove(t, pki, "server.key") }, "server"},
		"damaged certificate": {func(t *testing.T, pki string, _ *source) { write(t, pki, "admin.crt", "x") }, "admin"},
		"no authority":        {func(t *testing.T, pki string, _ *source) { remove(t, pki, "ca.crt"); remove(t, pki, "ca.key") }, "CA server admin"},
		"crash between files": {func(t *testing.T, pki string, _ *source) { remove(t, pki, "ca.crt") }, "CA server admin"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sourceAt(t.TempDir(), time.Now())
			before := pems(load(t, cfg))
			c.change(t, cfg.CertDir, cfg)
			after := pems(load(t, cfg))
			var changed []string
			for _, name := range []string{"CA", "server", "admin"} {
				if before[name] != after[name] {
					changed = append(changed, name)
				}
			}
			if got := strings.Join(changed, " "); got != c.want {
				t.Errorf("made anew: %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(after, pems(load(t, cfg))); diff != "" {
				t.Errorf("made anew a second time: %s", diff)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCredentialsErrors(t *testing.T) {
	other := load(t, sourceAt(t.TempDir(), time.Now()))
	for want, change := range map[string]func(t *testing.T, c *source){
		"own certificate authority": func(t *testing.T, c *source) { remove(t, c.CertDir, "ca.key") },
		"ca.key":                    func(t *testing.T, c *source) { write(t, c.CertDir, "ca.key", string(other.Key)) },
		"serving certificate: open /nowhere/x.crt": func(_ *testing.T, c *source) { c.TLSCertFile, c.TLSPrivateKeyFile = "/nowhere/x.crt", "/nowhere/x.key" },
		"not a certificate and its key": func(t *testing.T, c *source) {
			c.TLSCertFile = write(t, c.CertDir, "a.crt", string(other.Cert))
			c.TLSPrivateKeyFile = write(t, c.CertDir, "a.key", string(other.AdminKey))
		},
		"client authorities: open /nowhere/ca": func(_ *testing.T, c *source) { c.ClientCAFile = "/nowhere/ca" },
		"ca.pem holds no certificate in PEM":   func(t *testing.T, c *source) { c.ClientCAFile = write(t, c.CertDir, "ca.pem", "hello") },
	} {
		cfg := sourceAt(t.TempDir(), time.Now())
		load(t, cfg)
		change(t, cfg)
		if _, err := loadCredentials(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestCredentialsThatAreNotKept(t *testing.T) {
	c := sourceAt("", time.Now())
	c.CertDir = ""
	if a, b := load(t, c), load(t, c); bytes.Equal(a.CA, b.CA) {
		t.Error("two servers share an authority")
	}
}

func TestGivenCertificates(t *testing.T) {
	dir := t.TempDir()
	theirs := load(t, sourceAt(t.TempDir(), time.Now()))
	cfg := sourceAt(dir, time.Now())
	cfg.TLSCertFile, cfg.TLSPrivateKeyFile = write(t, dir, "tls.crt", string(theirs.Cert)), write(t, dir, "tls.key", string(theirs.Key))
	cr := load(t, cfg)
	if !bytes.Equal(cr.Cert, theirs.Cert) || !bytes.Equal(cr.CA, theirs.Cert) || cr.AdminCert == nil {
		t.Error("given certificate without client authorities: want it, and an administrator of our own")
	}
	cfg.ClientCAFile = write(t, dir, "ca.crt", string(theirs.CA))
	if cr = load(t, cfg); cr.OwnCA != nil || cr.AdminCert != nil || cr.Kubeconfig("https://x") != nil {
		t.Error("everything is given: want nothing of our own")
	}
}

func TestServingCertificateInCertDir(t *testing.T) {
	dir := t.TempDir()
	theirs := load(t, sourceAt(t.TempDir(), time.Now()))
	cert := write(t, dir, "apiserver.crt", string(theirs.Cert))
	cfg := &source{Config: Config{CertDir: dir}, Site: Site{Address: "127.0.0.1", Now: time.Now}}
	cfg.FindServing()
	if _, err := loadCredentials(cfg); err == nil || !strings.Contains(err.Error(), "apiserver.key") {
		t.Errorf("a certificate without its key: %v", err)
	}
	write(t, dir, "apiserver.key", string(theirs.Key))
	if cr := load(t, cfg); !bytes.Equal(cr.Cert, theirs.Cert) || cfg.TLSCertFile != cert {
		t.Error("want the certificate in the directory")
	}
	named := &Config{CertDir: dir, TLSCertFile: "a", TLSPrivateKeyFile: "b"}
	if named.FindServing(); named.TLSCertFile != "a" {
		t.Error("a certificate that is named comes first")
	}
}

// clientOf makes an HTTP client and the server's URL from a client configuration.
func clientOf(t *testing.T, text []byte) (*http.Client, string) {
	t.Helper()
	k, err := kubeconfig.Parse[struct{}](text)
	if err != nil {
		t.Fatal(err)
	}
	at, as := &k.Clusters[0].Cluster, &k.Users[0].User
	pair, err := tls.X509KeyPair(as.CertificateData, as.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(at.CAData) {
		t.Fatal("no certificate authority")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, at.Server
}

// TestKubeconfigLogsIn goes the whole way: certificates, TLS, authentication.
func TestKubeconfigLogsIn(t *testing.T) {
	theirs := load(t, sourceAt(t.TempDir(), time.Now()))
	for name, given := range map[string]bool{"own certificate": false, "given certificate": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := sourceAt(dir, time.Now())
			if given {
				cfg.TLSCertFile, cfg.TLSPrivateKeyFile = write(t, dir, "tls.crt", string(theirs.Cert)), write(t, dir, "tls.key", string(theirs.Key))
			}
			cr := load(t, cfg)
			chain := authn.New(authn.Config{Log: slog.New(slog.DiscardHandler), Certificates: cr.logins, Anonymous: true})
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				u, err := chain.Authenticate(r)
				if err != nil {
					http.Error(w, err.Error(), http.StatusUnauthorized)
					return
				}
				w.Header().Set("User", u.User.Name+" "+strings.Join(u.User.Groups, ","))
			}))
			srv.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return cr.tls, nil }}
			srv.EnableHTTP2 = true
			srv.StartTLS()
			defer srv.Close()

			client, url := clientOf(t, cr.Kubeconfig(srv.URL))
			r, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if got := r.Header.Get("User"); r.ProtoMajor != 2 || got != adminName+" "+authn.GroupMasters+","+authn.GroupAuthenticated {
				t.Errorf("%s, user %q", r.Proto, got)
			}

			// A certificate of another server is refused, not taken for anonymous.
			stranger := client.Transport.(*http.Transport).TLSClientConfig.Clone()
			pair, err := tls.X509KeyPair(theirs.AdminCert, theirs.AdminKey)
			if err != nil {
				t.Fatal(err)
			}
			stranger.Certificates, stranger.NextProtos = nil, nil
			stranger.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
			transport := &http.Transport{TLSClientConfig: stranger}
			defer transport.CloseIdleConnections()
			if r, err = (&http.Client{Transport: transport}).Get(url); err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != http.StatusUnauthorized {
				t.Errorf("a stranger's certificate: %s, user %q", r.Status, r.Header.Get("User"))
			}
		})
	}
}

func BenchmarkCredentials(b *testing.B) {
	load := func(b *testing.B, c *source) {
		if _, err := loadCredentials(c); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("made", func(b *testing.B) {
		c := sourceAt("", time.Now())
		c.CertDir = ""
		for b.Loop() {
			load(b, c)
		}
	})
	b.Run("written", func(b *testing.B) {
		for b.Loop() {
			load(b, sourceAt(b.TempDir(), time.Now()))
		}
	})
	b.Run("read", func(b *testing.B) {
		c := sourceAt(b.TempDir(), time.Now())
		for b.Loop() {
			load(b, c)
		}
	})
}

func TestServingNames(t *testing.T) {
	for address, want := range map[string][]string{
		"192.0.2.7": {"192.0.2.7", "127.0.0.1", "localhost", "::1", "shop"}, "::ffff:192.0.2.9": {"192.0.2.9"}, "0.0.0.0": {"localhost"}, "": {"localhost"},
	} {
		got := servingNames(&source{Site: Site{Address: address, Names: []string{"shop"}}})
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %q is not among %q", address, w, got)
			}
		}
		if slices.Contains(got, "0.0.0.0") || slices.Contains(got, "") {
			t.Errorf("%s: %q", address, got)
		}
	}
}
