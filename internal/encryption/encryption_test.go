package encryption

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/kmstest"
)

const configHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"

func keyOf(bytes int, fill string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, bytes)))
}

func resourceOf(key string) (group, plural string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) < 3 {
		return "", "", false
	}
	return strings.TrimPrefix(parts[0], "core"), parts[1], true
}

// cipherOf is the cipher of a configuration about secrets with these providers.
func cipherOf(t testing.TB, providers string) *Cipher {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(configHead+"resources: [{resources: [secrets], providers: ["+providers+"]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(file, resourceOf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func sealOf(t testing.TB, c *Cipher, key, plain string) []byte {
	t.Helper()
	seal, err := c.Sealer(key)
	if err != nil || seal == nil {
		t.Fatalf("%s is not encrypted: %v", key, err)
	}
	return seal(nil, []byte(key), []byte(plain))
}

const secret = "core/secrets/default/s"

// Each provider gives back what it has encrypted, under the same key of the store only.
func TestProviders(t *testing.T) {
	kms := kmstest.StartOnly(t, "v2")
	old := kmstest.StartOnly(t, "v1beta1")
	for _, p := range []string{
		"{aesgcm: {keys: [{name: a, secret: " + keyOf(16, "x") + "}]}}",
		"{aesgcm: {keys: [{name: a, secret: " + keyOf(32, "x") + "}]}}",
		"{aescbc: {keys: [{name: a, secret: " + keyOf(24, "x") + "}]}}",
		"{secretbox: {keys: [{name: a, secret: " + keyOf(32, "x") + "}]}}",
		"{kms: {apiVersion: v2, name: k, endpoint: \"" + kms.Endpoint + "\"}}",
		"{kms: {name: k, endpoint: \"" + old.Endpoint + "\", cachesize: 10, timeout: 2s}}",
	} {
		c := cipherOf(t, p)
		for n := range 40 {
			plain := strings.Repeat("p", n)
			sealed := sealOf(t, c, secret, plain)
			if n > 8 && bytes.Contains(sealed, []byte(plain)) {
				t.Fatalf("%s: the text can be read", p)
			}
			if got, err := c.Open(secret, []byte(secret), sealed); err != nil || string(got) != plain {
				t.Errorf("%s: %q, %v", p, got, err)
			}
			if _, err := c.Open(secret, []byte("core/secrets/default/other"), sealed); err == nil || !strings.Contains(err.Error(), "moved") || !strings.Contains(err.Error(), "secrets: ") {
				t.Errorf("%s: opened at another place: %v", p, err)
			}
			for i := range sealed {
				sealed[i] ^= 1
				if _, err := c.Open(secret, []byte(secret), sealed); err == nil {
					t.Fatalf("%s: opened with byte %d changed", p, i)
				}
				sealed[i] ^= 1
			}
			for i := range sealed {
				if _, err := c.Open(secret, []byte(secret), sealed[:i]); err == nil {
					t.Fatalf("%s: opened with %d bytes", p, i)
				}
			}
			if fresh, err := c.Fresh(secret, sealed); !fresh || err != nil {
				t.Errorf("%s: %v %v", p, fresh, err)
			}
		}
	}
}

// The first provider encrypts, all decrypt; what another one has encrypted is due for a
// rewrite.
func TestRotation(t *testing.T) {
	one, two := "{name: one, secret: "+keyOf(32, "1")+"}", "{name: two, secret: "+keyOf(32, "2")+"}"
	before := cipherOf(t, "{aesgcm: {keys: ["+one+"]}}")
	sealed := sealOf(t, before, secret, "text")
	for providers, want := range map[string]string{
		"{aesgcm: {keys: [" + one + "," + two + "]}}":                         "fresh",
		"{aesgcm: {keys: [" + two + "," + one + "]}}":                         "stale",
		"{identity: {}}, {aesgcm: {keys: [" + one + "]}}":                     "stale",
		"{secretbox: {keys: [" + two + "]}}, {aesgcm: {keys: [" + one + "]}}": "stale",
		"{aesgcm: {keys: [" + two + "]}}":                                     `secrets: it was encrypted with "aesgcm:v1:one", which the encryption configuration does not have for secrets`,
		"{aesgcm: {keys: [{name: one, secret: " + keyOf(32, "3") + "}]}}":     "secrets: aesgcm:v1:one: it cannot be decrypted: it has another key of that name",
	} {
		c := cipherOf(t, providers)
		plain, err := c.Open(secret, []byte(secret), sealed)
		got := "stale"
		if err != nil {
			got = err.Error()
		} else if fresh, err := c.Fresh(secret, sealed); err != nil || fresh {
			got = "fresh"
		}
		if !strings.HasPrefix(got, want) || err == nil && string(plain) != "text" {
			t.Errorf("%s: %s, want %s", providers, got, want)
		}
	}
	if fresh, err := cipherOf(t, "{aesgcm: {keys: ["+one+"]}}, {identity: {}}").Fresh(secret, nil); fresh || err != nil {
		t.Error("a plain value is due for a rewrite")
	}
	if _, err := before.Fresh(secret, nil); err == nil || !strings.Contains(err.Error(), "identity") {
		t.Errorf("a plain value is read without identity: %v", err)
	}
}

// Resources are named with their groups, groups and all by wildcards; the first list
// counts.
func TestResources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	list := func(names, key string) string {
		return "- {resources: [" + names + "], providers: [{aesgcm: {keys: [{name: " + key + ", secret: " + keyOf(16, "x") + "}]}}]}\n"
	}
	text := configHead + "resources:\n- {resources: [events], providers: [{identity: {}}]}\n" + list("secrets, deployments.apps", "named") + list(`"*.apps", "*."`, "group") + list(`"*.*"`, "all")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Read(file, resourceOf)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"core/events/x": "", "core/secrets/x": "named", "apps/deployments/x": "named", "apps/secrets/x": "group", "core/pods/x": "group", "batch/jobs/x": "all", "capstan/x": ""} {
		seal, err := c.Sealer(key)
		got := ""
		if seal != nil {
			id, _, _ := split(seal(nil, nil, nil))
			got = strings.TrimPrefix(id, "aesgcm:v1:")
		}
		if got != want || err != nil {
			t.Errorf("%s: %q, want %q (%v)", key, got, want, err)
		}
	}
}

// Mistakes are reported with file and line, and without keys.
func TestMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	with := func(providers string) string {
		return configHead + "resources:\n- resources: [secrets]\n  providers:\n" + providers
	}
	for text, want := range map[string]string{
		"kind: X\n": ":1: kind",
		configHead:  ":1: resources: name at least one",
		configHead + "resources:\n- resources: [secrets]\n":                            ":4: resources and providers",
		configHead + "resources:\n- resources: [a/b]\n  providers: [{identity: {}}]\n": `:4: "a/b"`,
		with("  - aes: {}\n"): ":6: unknown field",
		with("  - {}\n"):      ":6: a provider is one of",
		with("  - identity: {}\n    aesgcm: {keys: [{name: a, secret: " + keyOf(16, "x") + "}]}\n"): ":6: a provider is one of",
		with("  - aesgcm: {keys: []}\n"):                                                                                                         ":6: keys: at least one",
		with("  - aesgcm:\n      keys:\n      - secret: x\n"):                                                                                    ":8: name",
		with("  - aesgcm:\n      keys:\n      - name: a\n        secret: topsecret!\n"):                                                          ":8: secret: the key is needed in base64",
		with("  - aesgcm:\n      keys:\n      - name: a\n        secret: " + keyOf(15, "x") + "\n"):                                              ":8: secret: the key has 15 bytes",
		with("  - secretbox:\n      keys:\n      - name: a\n        secret: " + keyOf(16, "x") + "\n"):                                           ":8: secret: the key has 16 bytes",
		with("  - aesgcm:\n      keys:\n      - {name: a, secret: " + keyOf(16, "x") + "}\n      - {name: a, secret: " + keyOf(16, "y") + "}\n"): ":9: name: there are two keys",
		with("  - kms: {name: a, apiVersion: v3, endpoint: \"unix:///x\"}\n"):                                                                    ":6: apiVersion",
		with("  - kms: {name: \"a:b\", endpoint: \"unix:///x\"}\n"):                                                                              ":6: name",
		with("  - kms: {name: a, endpoint: \"tcp://x\"}\n"):                                                                                      ":6: endpoint",
		with("  - kms: {name: a, endpoint: \"unix:///x\", timeout: 0s}\n"):                                                                       ":6: timeout",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file, resourceOf)
		if err == nil || !strings.Contains(err.Error(), file+want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
	if c, err := Read("", resourceOf); c != nil || err != nil || c.Form() != "" || c.Checks() != nil {
		t.Error(c, err)
	}
}

// A service is asked once for a key, not for each value; another process asks it to
// decrypt the key. When the service's key changes new values have a new key, and old ones
// are due for a rewrite.
func TestKeyService(t *testing.T) {
	for _, group := range []string{"v2", "v2alpha1"} {
		k := kmstest.StartOnly(t, group)
		text := "{kms: {apiVersion: v2, name: k, endpoint: \"" + k.Endpoint + "\"}}"
		c := cipherOf(t, text)
		var sealed []byte
		for range 10 {
			sealed = sealOf(t, c, secret, "text")
		}
		again := cipherOf(t, text)
		for range 10 {
			if got, err := again.Open(secret, []byte(secret), sealed); err != nil || string(got) != "text" {
				t.Fatalf("%s: %q, %v", group, got, err)
			}
		}
		decrypts := map[string]int{"v2": 1, "v2alpha1": 2}[group] // the first learns the version
		if k.Calls("Encrypt") != decrypts || k.Calls("Decrypt") != decrypts {
			t.Errorf("%s: %d encryptions, %d decryptions", group, k.Calls("Encrypt"), k.Calls("Decrypt"))
		}
		k.Key.Store(2)
		c.now.Load().services[0].asked = time.Now().Add(-2 * statusEvery)
		before := c.Generation()
		if fresh, err := c.Fresh(secret, sealed); fresh || err != nil || c.Generation() == before {
			t.Errorf("%s: a value of the earlier key is not stale: %v", group, err)
		}
		if fresh, err := c.Fresh(secret, sealOf(t, c, secret, "text")); !fresh || err != nil {
			t.Errorf("%s: %v", group, err)
		}
		k.Fails.Store(grpc.Unavailable)
		c.now.Load().services[0].asked = time.Now().Add(-2 * statusEvery)
		sealOf(t, c, secret, "while it fails")
		if err := c.Checks()[0](); err == nil || !strings.Contains(err.Error(), "on purpose") {
			t.Errorf("%s: %v", group, err)
		}
		if _, err := cipherOf(t, text).Sealer(secret); err == nil || !strings.Contains(err.Error(), "secrets: kms:v2:k: the key management service failed: on purpose") {
			t.Errorf("%s: %v", group, err)
		}
	}
}

// A service that is not there is an error within the time-out.
func TestNoKeyService(t *testing.T) {
	c := cipherOf(t, "{kms: {apiVersion: v2, name: k, endpoint: \"unix:///nowhere\", timeout: 100ms}}")
	if _, err := c.Sealer(secret); err == nil || c.Checks()[0]() == nil {
		t.Errorf("%v", err)
	}
}

// FuzzOpen reads records from anybody.
func FuzzOpen(f *testing.F) {
	c := cipherOf(f, "{aesgcm: {keys: [{name: a, secret: "+keyOf(16, "x")+"}]}}, {aescbc: {keys: [{name: a, secret: "+keyOf(16, "x")+"}]}}, {secretbox: {keys: [{name: a, secret: "+keyOf(32, "x")+
		"}]}}, {kms: {apiVersion: v2, name: k, endpoint: \"unix:///nowhere\", timeout: 1ns}}")
	f.Add(sealOf(f, c, secret, "text"))
	for _, p := range c.now.Load().sets[0].providers {
		if l, ok := p.(*local); ok {
			id := append([]byte{byte(len(l.id()))}, l.id()...)
			f.Add(l.seal(id, []byte(secret), []byte("text")))
		}
	}
	f.Add([]byte("\x08kms:v2:k\x06\x0a\x02ab\x12\x00" + strings.Repeat("s", 64)))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		plain, err := c.Open(secret, []byte(secret), sealed)
		if err == nil && string(plain) != "text" {
			t.Fatal(fmt.Errorf("%q", plain))
		}
		_, _ = c.Fresh(secret, sealed)
		if errors.Is(err, errDamaged) && len(sealed) > 1<<20 {
			t.Skip()
		}
	})
}

func BenchmarkAESGCM(b *testing.B) {
	c := cipherOf(b, "{aesgcm: {keys: [{name: a, secret: "+keyOf(32, "x")+"}]}}")
	plain := bytes.Repeat([]byte("x"), 1000)
	for b.Loop() {
		seal, _ := c.Sealer(secret)
		if _, err := c.Open(secret, []byte(secret), seal(nil, []byte(secret), plain)); err != nil {
			b.Fatal(err)
		}
	}
}
