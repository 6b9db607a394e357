package verbs

import (
	"encoding/base64"
	"reflect"
	"testing"
)

// FuzzPageToken: a token gives back its content, for its own collection only; no other
// text is a token.
func FuzzPageToken(f *testing.F) {
	p := &pages{secret: []byte("0123456789abcdef0123456789abcdef")}
	good := p.encode("core/pods/default/", place{revision: 7, key: "core/pods/default/web-1"})
	f.Add(good, uint64(7), "web-1", uint(3))
	f.Add("", uint64(0), "", uint(0))
	f.Add("!not base64", uint64(1), "a/b", uint(1))
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, macSize+8)), ^uint64(0), "\xff\x00", uint(99))
	f.Fuzz(func(t *testing.T, text string, revision uint64, name string, bit uint) {
		const prefix, other = "core/pods/default/", "core/pods/other/"
		made := place{revision: revision, key: prefix + name}
		if n := int64(bit); bit%2 > 0 {
			made.rest = &n
		}
		token := p.encode(prefix, made)
		if at, err := p.decode(token, prefix); err != nil || !reflect.DeepEqual(at, made) {
			t.Fatalf("token of %+v opens as %+v, %v", made, at, err)
		}
		if _, err := p.decode(token, other); err == nil {
			t.Fatalf("%s is accepted for another collection", token)
		}
		if _, err := (&pages{secret: []byte("another secret")}).decode(token, prefix); err == nil {
			t.Fatalf("%s is accepted by another server", token)
		}
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		bit %= uint(len(raw) * 8)
		raw[bit/8] ^= 1 << (bit % 8)
		if _, err := p.decode(base64.RawURLEncoding.EncodeToString(raw), prefix); err == nil {
			t.Fatalf("a token is accepted with bit %d turned", bit)
		}
		if at, err := p.decode(text, prefix); err == nil {
			raw, _ := base64.RawURLEncoding.DecodeString(text)
			want, _ := base64.RawURLEncoding.DecodeString(p.encode(prefix, at))
			if string(raw) != string(want) {
				t.Fatalf("%q is accepted and was not made here", text)
			}
		}
	})
}

// TestSharedTokens: servers that share a store take the tokens of kube-apiserver, and give such.
func TestSharedTokens(t *testing.T) {
	p := &pages{}
	const prefix = "core/pods/"
	four := int64(4)
	for _, made := range []place{{7, prefix + "default/web", nil}, {1 << 40, prefix + "a", &four}} {
		if at, err := p.decode(p.encode(prefix, made), prefix); err != nil || !reflect.DeepEqual(at, made) {
			t.Errorf("token of %+v opens as %+v, %v", made, at, err)
		}
	}
	for text, want := range map[string]place{
		`{"v":"meta.k8s.io/v1","rv":12,"start":"default/web\u0000"}`: {revision: 12, key: prefix + "default/web\x00"},
		`{"v":"meta.k8s.io/v1","rv":-1,"start":"default/web\u0000"}`: {key: prefix + "default/web\x00"},
	} {
		if at, err := p.decode(base64.RawURLEncoding.EncodeToString([]byte(text)), prefix); err != nil || at != want {
			t.Errorf("%s opens as %+v, %v", text, at, err)
		}
	}
	for _, text := range []string{"", "{", `{"v":"meta.k8s.io/v1","rv":12}`, `{"v":"meta.k8s.io/v1","start":"a"}`, `{"v":"meta.k8s.io/v2","rv":12,"start":"a"}`,
		`{"v":"meta.k8s.io/v1","rv":12,"start":"../secrets/a"}`, `{"v":"meta.k8s.io/v1","rv":12,"start":"/a"}`, `{"v":"meta.k8s.io/v1","rv":12,"start":"a/"}`} {
		if at, err := p.decode(base64.RawURLEncoding.EncodeToString([]byte(text)), prefix); err == nil {
			t.Errorf("%s opens as %+v", text, at)
		}
	}
}
