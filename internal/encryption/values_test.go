package encryption

import (
	"bytes"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/kmstest"
)

// TestValues: values in etcd are opened by the provider that their mark names, at their place, and are
// stale unless the first provider has written them.
func TestValues(t *testing.T) {
	const place = "/registry/secrets/default/s"
	a, b := "{name: a, secret: "+keyOf(32, "x")+"}", "{name: b, secret: "+keyOf(32, "y")+"}"
	for _, kind := range []string{"aesgcm", "aescbc", "secretbox"} {
		before := cipherOf(t, "{"+kind+": {keys: ["+a+"]}}, {identity: {}}")
		for n := range 40 {
			plain := []byte(strings.Repeat("p", n))
			sealed, err := before.SealValue(secret, place, plain)
			if err != nil || !bytes.HasPrefix(sealed, []byte("k8s:enc:"+kind+":v1:a:")) || n > 8 && bytes.Contains(sealed, plain) {
				t.Fatalf("%s: %q, %v", kind, sealed, err)
			}
			for providers, want := range map[string]string{
				"{" + kind + ": {keys: [" + a + "]}}":                                           "fresh",
				"{" + kind + ": {keys: [" + b + "," + a + "]}}":                                 "stale",
				"{identity: {}}, {" + kind + ": {keys: [" + a + "]}}":                           "stale",
				"{" + kind + ": {keys: [" + b + "]}}":                                           `secrets: it was encrypted with "` + kind + `:v1:a", which the encryption configuration does not have for secrets`,
				"{kms: {name: a, endpoint: \"unix:///nowhere\"}}":                               `secrets: it was encrypted with "` + kind + `:v1:a", which the encryption configuration does not have for secrets`,
				"{" + kind + ": {keys: [" + strings.Replace(b, "name: b", "name: a", 1) + "]}}": "",
			} {
				got, stale, err := cipherOf(t, providers).OpenValue(secret, place, sealed)
				said := map[bool]string{false: "fresh", true: "stale"}[stale]
				if err != nil {
					said = err.Error()
				}
				switch {
				case want == "": // another key of that name: AES-CBC may not notice
					if err == nil && bytes.Equal(got, plain) && n > 0 {
						t.Errorf("%s: opened with another key", kind)
					}
				case said != want || err == nil && !bytes.Equal(got, plain):
					t.Errorf("%s with %s: %q, %s", kind, providers, got, said)
				}
			}
			for i := range sealed {
				_, _, _ = before.OpenValue(secret, place, sealed[:i]) // no panic
			}
		}
		if _, _, err := before.OpenValue(secret, place+"x", must(before.SealValue(secret, place, []byte("p")))); (err == nil) != (kind != "aesgcm") {
			t.Errorf("%s at another place: %v", kind, err)
		}
		if plain, stale, err := before.OpenValue(secret, place, []byte("p")); err != nil || !stale || string(plain) != "p" {
			t.Errorf("a plain value: %q, %t, %v", plain, stale, err)
		}
		if data, err := before.SealValue("core/pods/default/p", "/registry/pods/default/p", []byte("p")); err != nil || string(data) != "p" {
			t.Errorf("a value of another resource: %q, %v", data, err)
		}
	}
	var none *Cipher
	if _, _, err := none.OpenValue(secret, place, []byte("k8s:enc:aescbc:v1:a:x")); err == nil || !strings.Contains(err.Error(), "--encryption-provider-config") {
		t.Errorf("without a configuration: %v", err)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// FuzzOpenValue reads values in etcd from anybody.
func FuzzOpenValue(f *testing.F) {
	kms := kmstest.Start(f)
	c := cipherOf(f, "{kms: {name: a, endpoint: \""+kms.Endpoint+"\"}}, {kms: {apiVersion: v2, name: b, endpoint: \""+kms.Endpoint+"\"}}, {aesgcm: {keys: [{name: a, secret: "+keyOf(16, "x")+"}]}}, {aescbc: {keys: [{name: a, secret: "+keyOf(16, "x")+"}]}}, {secretbox: {keys: [{name: a, secret: "+keyOf(32, "x")+"}]}}")
	for _, p := range c.now.Load().sets[0].providers {
		f.Add(must(p.sealValue([]byte(valueMark+p.id()+":"), "place", []byte("text"))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if plain, _, err := c.OpenValue(secret, "place", data); err == nil && len(plain) > len(data) {
			t.Fatalf("%d bytes of %d", len(plain), len(data))
		}
	})
}
