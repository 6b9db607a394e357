package verbs

import (
	"encoding/base64"
	"testing"
)

// FuzzPageToken: a token gives back what it was made of, to the collection it
// was made for only; nothing else is a token.
func FuzzPageToken(f *testing.F) {
	p := &pages{secret: []byte("0123456789abcdef0123456789abcdef")}
	good := p.seal(7, "core/pods/default/", "core/pods/default/web-1")
	f.Add(good, uint64(7), "web-1", uint(3))
	f.Add("", uint64(0), "", uint(0))
	f.Add("!not base64", uint64(1), "a/b", uint(1))
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, macSize+8)), ^uint64(0), "\xff\x00", uint(99))
	f.Fuzz(func(t *testing.T, text string, revision uint64, name string, bit uint) {
		const prefix, other = "core/pods/default/", "core/pods/other/"
		token := p.seal(revision, prefix, prefix+name)
		at, key, err := p.open(token, prefix)
		if err != nil || at != revision || key != prefix+name {
			t.Fatalf("token of %d %q opens as %d %q, %v", revision, name, at, key, err)
		}
		if _, _, err := p.open(token, other); err == nil {
			t.Fatalf("%s is accepted for another collection", token)
		}
		if _, _, err := (&pages{secret: []byte("another secret")}).open(token, prefix); err == nil {
			t.Fatalf("%s is accepted by another server", token)
		}
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		bit %= uint(len(raw) * 8)
		raw[bit/8] ^= 1 << (bit % 8)
		if _, _, err := p.open(base64.RawURLEncoding.EncodeToString(raw), prefix); err == nil {
			t.Fatalf("a token is accepted with bit %d turned", bit)
		}
		if at, key, err := p.open(text, prefix); err == nil {
			raw, _ := base64.RawURLEncoding.DecodeString(text)
			want, _ := base64.RawURLEncoding.DecodeString(p.seal(at, prefix, key))
			if string(raw) != string(want) {
				t.Fatalf("%q is accepted and was not made here", text)
			}
		}
	})
}
