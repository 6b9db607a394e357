package signing

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Times of issued certificates. They are valid from somewhat before their making, for
// clocks that are behind.
const (
	backdated    = 5 * time.Minute
	shortestLife = 2 * backdated
	shortLife    = 8 * time.Hour // a shorter life is not shortened by the backdating
)

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// ParseAuthority reads an authority of one certificate and its key, PEM.
func ParseAuthority(cert, key []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	if len(pair.Certificate) != 1 {
		return nil, fmt.Errorf("expected 1 certificate, found %d", len(pair.Certificate))
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the private key cannot sign")
	}
	if c := pair.Leaf; c.Version == 3 && !c.BasicConstraintsValid || c.BasicConstraintsValid && !c.IsCA { // its certificates would not verify
		return nil, errors.New("the certificate is not one of an authority")
	}
	return &Authority{pair.Leaf, signer}, nil
}

// Life is the life of a certificate: as many seconds as requested (0 for any), within
// bounds.
func Life(seconds int64, longest time.Duration) time.Duration {
	if seconds <= 0 || seconds >= int64(longest/time.Second) {
		return longest
	}
	return max(time.Duration(seconds)*time.Second, shortestLife)
}

// Issue makes the requested certificate, PEM. Of the request it has the subject, the
// alternative names and the public key, and no other extensions.
func (a *Authority) Issue(request *x509.CertificateRequest, usages []string, life time.Duration, now time.Time) ([]byte, error) {
	end := a.Certificate.NotAfter
	if !now.Before(end) {
		return nil, fmt.Errorf("the signer has expired: NotAfter=%v", end)
	}
	template := &x509.Certificate{ // CreateCertificate chooses a random serial number
		Subject:               request.Subject,
		DNSNames:              request.DNSNames,
		IPAddresses:           request.IPAddresses,
		EmailAddresses:        request.EmailAddresses,
		URIs:                  request.URIs,
		BasicConstraintsValid: true,
		NotBefore:             now.Add(-backdated),
		NotAfter:              now.Add(life),
	}
	if life >= shortLife {
		template.NotAfter = template.NotBefore.Add(life)
	}
	if template.NotAfter.After(end) {
		template.NotAfter = end
	}
	if err := setUsages(template, usages); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, request.PublicKey, a.Key)
	if err != nil {
		return nil, fmt.Errorf("failed to sign certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// keyUsages and extendedUsages are the usages of requests as certificates have them.
var (
	keyUsages = map[string]x509.KeyUsage{
		"signing":            x509.KeyUsageDigitalSignature,
		digitalSignature:     x509.KeyUsageDigitalSignature,
		"content commitment": x509.KeyUsageContentCommitment,
		keyEncipherment:      x509.KeyUsageKeyEncipherment,
		"key agreement":      x509.KeyUsageKeyAgreement,
		"data encipherment":  x509.KeyUsageDataEncipherment,
		"cert sign":          x509.KeyUsageCertSign,
		"crl sign":           x509.KeyUsageCRLSign,
		"encipher only":      x509.KeyUsageEncipherOnly,
		"decipher only":      x509.KeyUsageDecipherOnly,
	}
	extendedUsages = map[string]x509.ExtKeyUsage{
		"any":              x509.ExtKeyUsageAny,
		serverAuth:         x509.ExtKeyUsageServerAuth,
		clientAuth:         x509.ExtKeyUsageClientAuth,
		"code signing":     x509.ExtKeyUsageCodeSigning,
		"email protection": x509.ExtKeyUsageEmailProtection,
		"s/mime":           x509.ExtKeyUsageEmailProtection,
		"ipsec end system": x509.ExtKeyUsageIPSECEndSystem,
		"ipsec tunnel":     x509.ExtKeyUsageIPSECTunnel,
		"ipsec user":       x509.ExtKeyUsageIPSECUser,
		"timestamping":     x509.ExtKeyUsageTimeStamping,
		"ocsp signing":     x509.ExtKeyUsageOCSPSigning,
		"microsoft sgc":    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
		"netscape sgc":     x509.ExtKeyUsageNetscapeServerGatedCrypto,
	}
)

// setUsages gives a certificate the usages of a request.
func setUsages(template *x509.Certificate, usages []string) error {
	extended := map[x509.ExtKeyUsage]bool{}
	var unknown []string
	for _, name := range usages {
		if usage, ok := keyUsages[name]; ok {
			template.KeyUsage |= usage
		} else if usage, ok := extendedUsages[name]; ok {
			extended[usage] = true
		} else {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return fmt.Errorf("unrecognized usage values: %q", unknown)
	}
	template.ExtKeyUsage = slices.Sorted(maps.Keys(extended))
	return nil
}
