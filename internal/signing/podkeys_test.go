package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// certified is a certificate in PEM form that a key signs for itself.
func certified(t testing.TB, key crypto.Signer, template x509.Certificate) []byte {
	t.Helper()
	template.SerialNumber, template.Subject = big.NewInt(1), pkix.Name{CommonName: "a"}
	template.NotBefore, template.NotAfter = time.Unix(0, 0), time.Unix(7200, 0)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der})
}

func ownKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestCheckAnchors(t *testing.T) {
	anchor := string(certified(t, ownKey(t), x509.Certificate{IsCA: true, BasicConstraintsValid: true}))
	leaf := string(certified(t, ownKey(t), x509.Certificate{}))
	for _, test := range []struct{ text, want string }{
		{anchor, ""},
		{"a text\n" + anchor + "another\n", ""},
		{"", "at least one trust anchor must be provided"},
		{anchor + anchor, "duplicate trust anchor (indices [0 1])"},
		{anchor + leaf, "entry 1 does not have the CA bit set"},
		{strings.ReplaceAll(anchor, certificateBlock, "OTHER"), "entry 0 has bad block type: OTHER"},
		{strings.Replace(anchor, "\n", "\na: b\n\n", 1), "entry 0 has PEM block headers"},
		{"-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n" + leaf, "entry 0 does not parse as X.509;entry 1 does not have the CA bit set"},
	} {
		if got := strings.Join(CheckAnchors([]byte(test.text)), ";"); got != test.want {
			t.Errorf("%s: %q instead of %q", test.text, got, test.want)
		}
	}
}

func TestPodKeys(t *testing.T) {
	curve := func(c elliptic.Curve) crypto.Signer {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	short, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		key  crypto.Signer
		want string
	}{{ownKey(t), ""}, {curve(elliptic.P256()), ""}, {curve(elliptic.P521()), ""}, {curve(elliptic.P224()), "curve P-224"}, {short, "2048-bit modulus"}} {
		public, err := x509.MarshalPKIXPublicKey(test.key.Public())
		if err != nil {
			t.Fatal(err)
		}
		key, wrong := PublicKey(public)
		if shown := ""; wrong != nil && wrong.Shown != test.want || wrong == nil && test.want != shown {
			t.Errorf("%T: %+v", test.key, wrong)
		}
		stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, test.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, wrong := RequestedKey(stub); (wrong != nil) != (test.want != "") {
			t.Errorf("%T: %+v", test.key, wrong)
		}
		if test.want != "" {
			continue
		}
		stub[len(stub)-1] ^= 1
		if _, wrong := RequestedKey(stub); wrong == nil || wrong.Why != "invalid signature" && wrong.Why != "must be a valid PKCS#10 CSR" {
			t.Errorf("%T: another signature: %+v", test.key, wrong)
		}
		hash := sha256.Sum256([]byte("uid"))
		signed, options := hash[:], crypto.SignerOpts(crypto.SHA256)
		if _, ok := test.key.(ed25519.PrivateKey); ok {
			signed, options = []byte("uid"), crypto.Hash(0)
		}
		proof, err := test.key.Sign(rand.Reader, signed, options)
		if err != nil {
			t.Fatal(err)
		}
		if !Proves(key, "uid", proof) || Proves(key, "other", proof) {
			t.Errorf("%T: the proof is not judged", test.key)
		}
	}
}

// FuzzPEM: no text makes a check of keys, certificates and chains fail otherwise than by a mistake.
func FuzzPEM(f *testing.F) {
	key := ownKey(f)
	text := certified(f, key, x509.Certificate{IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"a"}})
	f.Add(text)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n"))
	if der, err := x509.MarshalPKIXPublicKey(key.Public()); err == nil {
		f.Add(der)
	}
	if der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key); err == nil {
		f.Add(der)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 10<<10 {
			return
		}
		anchors := CheckAnchors(data)
		if public, wrong := PublicKey(data); wrong == nil {
			Proves(public, "uid", data)
		}
		if public, wrong := RequestedKey(data); public == nil && wrong == nil {
			t.Error("a request without a key has no mistake")
		}
		leaf, rest, mistakes := Leaf(data, key.Public())
		if leaf == nil && len(mistakes) == 0 {
			t.Error("a chain without a certificate has no mistake")
		}
		if len(anchors) == 0 && CheckRest(data) != "" {
			t.Errorf("certificates of authorities are no chain: %q", data)
		}
		CheckRest(rest)
	})
}
