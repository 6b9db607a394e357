package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/mail"
	"strings"
)

const certificateBlock = "CERTIFICATE"

// Mistake is a mistake in a key or a chain.
type Mistake struct {
	Shown string // the wrong part; "" for the whole
	Why   string
}

// PublicKey reads a public key in the form PKIX, and reports whether it may be the key of
// a pod.
func PublicKey(der []byte) (crypto.PublicKey, *Mistake) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, &Mistake{Why: "must be a valid PKIX-serialized public key"}
	}
	return key, keyMistake(key, "P256 or P384")
}

// RequestedKey is the public key of a PKCS#10 request in the form DER. A signature is
// checked only by a key of a known size, so that the work is bounded.
func RequestedKey(der []byte) (crypto.PublicKey, *Mistake) {
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, &Mistake{Why: "must be a valid PKCS#10 CSR"}
	}
	if wrong := keyMistake(request.PublicKey, "P256, P384, or P521"); wrong != nil {
		return request.PublicKey, wrong
	}
	if request.CheckSignature() != nil {
		return request.PublicKey, &Mistake{Why: "invalid signature"}
	}
	return request.PublicKey, nil
}

// keyMistake reports why a key may not be that of a pod; nil for a good one.
func keyMistake(key crypto.PublicKey, curves string) *Mistake {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() && key.Curve != elliptic.P521() {
			return &Mistake{"curve " + key.Curve.Params().Name, "elliptic public keys must use curve " + curves}
		}
		return nil
	case *rsa.PublicKey:
		if bits := key.Size() * 8; bits != 3072 && bits != 4096 {
			return &Mistake{fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096"}
		}
		return nil
	}
	return &Mistake{Why: "unknown public key type; supported types are Ed25519, ECDSA, and RSA"}
}

// Proves reports whether a signature of a text is made with the private key of a key of a
// pod.
func Proves(key crypto.PublicKey, text string, signature []byte) bool {
	hash := sha256.Sum256([]byte(text))
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, []byte(text), signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, hash[:], signature)
	case *rsa.PublicKey:
		return rsa.VerifyPSS(key, crypto.SHA256, hash[:], signature, nil) == nil
	}
	return false
}

// Leaf reads the first certificate of a chain in PEM form, which is to be of a key, and
// returns the rest of the chain. The certificate is nil where the rest of it cannot be
// judged.
func Leaf(chain []byte, key crypto.PublicKey) (leaf *x509.Certificate, rest []byte, mistakes []Mistake) {
	block, rest := pem.Decode(chain)
	if block == nil {
		return nil, nil, []Mistake{{Why: "issued certificate chain must contain at least one certificate"}}
	}
	if block.Type != certificateBlock {
		return nil, nil, []Mistake{{Why: "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"}}
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, []Mistake{{Why: "leaf certificate does not parse as valid X.509"}}
	}
	mistakes = nameMistakes(leaf)
	if of, ok := key.(interface{ Equal(crypto.PublicKey) bool }); ok && !of.Equal(leaf.PublicKey) {
		return nil, nil, append(mistakes, Mistake{Why: "leaf certificate was not issued to the requested public key"})
	}
	return leaf, rest, mistakes
}

// nameMistakes are the mistakes in the names of a certificate.
func nameMistakes(leaf *x509.Certificate) (mistakes []Mistake) {
	for _, name := range leaf.DNSNames {
		if name == "" {
			mistakes = append(mistakes, Mistake{name, "leaf certificate should not contain empty DNSName"})
		}
		if strings.Contains(name, "..") {
			mistakes = append(mistakes, Mistake{name, "leaf certificate's DNSName should not contain '..'"})
		}
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
			mistakes = append(mistakes, Mistake{name, "leaf certificate's DNSName should not start or end with '.'"})
		}
	}
	for _, address := range leaf.EmailAddresses {
		if _, err := mail.ParseAddress(address); err != nil {
			mistakes = append(mistakes, Mistake{address, "leaf certificate should not contain invalid EmailAddress"})
		}
	}
	return mistakes
}

// CheckRest reports the mistake in the certificates of a chain after the first one; "" for
// none.
func CheckRest(chain []byte) string {
	for {
		var block *pem.Block
		if block, chain = pem.Decode(chain); block == nil {
			return ""
		}
		if block.Type != certificateBlock {
			return "issued certificate chain must consist entirely of CERTFICATE PEM blocks"
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "intermediate certificate does not parse as valid X.509"
		}
	}
}
