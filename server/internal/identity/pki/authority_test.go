package pki

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/signing"
)

// A server signs by the given authority, which is reloaded, else by its own; one that has
// neither signs nothing.
func TestAuthority(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	one, other := load(t, sourceAt(filepath.Join(dir, "one"), now)), load(t, sourceAt(filepath.Join(dir, "other"), now))
	key := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name, "pki", "ca.key"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	site := Site{Now: time.Now, Log: slog.New(slog.DiscardHandler), Changed: func(_, _ *Credentials) {}}
	open := func(c Config) *Keyring {
		t.Helper()
		k, err := Open(c, site)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	own := open(Config{})
	if own.Authority(signing.ClientSigner) == nil || !own.Authority(signing.ClientSigner).Certificate.Equal(own.Credentials().ownAuthority.Certificate) {
		t.Error("a server with an authority of its own does not sign by it")
	}
	given := Config{TLSCertFile: write(t, dir, "tls.crt", string(one.Cert)), TLSPrivateKeyFile: write(t, dir, "tls.key", string(one.Key)), ClientCAFile: write(t, dir, "clients.crt", string(one.CA))}
	if open(given).Authority(signing.ClientSigner) != nil {
		t.Error("a server without an authority signs")
	}
	given.ClusterSigningCertFile, given.ClusterSigningKeyFile = write(t, dir, "signing.crt", string(one.CA)), write(t, dir, "signing.key", key("one"))
	k := open(given)
	signs := func(cr *Credentials) bool {
		return bytes.Equal(k.Authority(signing.ClientSigner).Certificate.Raw, cr.ownAuthority.Certificate.Raw)
	}
	if !signs(one) {
		t.Error("the given authority does not sign")
	}
	write(t, dir, "signing.crt", string(other.CA)) // half a change
	if k.Reload(); !signs(one) {
		t.Error("a certificate without its key is in use")
	}
	write(t, dir, "signing.key", key("other"))
	if k.Reload(); !signs(other) {
		t.Error("the changed authority is not in use")
	}
	for _, c := range []struct{ name, cert, key, want string }{
		{"another's key", string(one.CA), key("other"), "are not an authority and its key"},
		{"two certificates", string(one.CA) + string(other.CA), key("one"), "expected 1 certificate, found 2"},
		{"not an authority", string(one.Cert), string(one.Key), "not one of an authority"},
		{"not PEM", "x", "y", "are not an authority and its key"},
	} {
		write(t, dir, "signing.crt", c.cert)
		write(t, dir, "signing.key", c.key)
		if _, err := Open(given, site); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	given.ClusterSigningKeyFile = filepath.Join(dir, "nowhere")
	if _, err := Open(given, site); err == nil || !strings.Contains(err.Error(), "signing authority: open ") {
		t.Error(err)
	}
}
