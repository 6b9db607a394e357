// Package signing reads certificate signing requests.
package signing

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// ClientSigner is the signer of the certificates that this server accepts from its
// clients.
const ClientSigner = profile.LabelDomain + "/kube-apiserver-client"

// ParseRequest reads a PKCS#10 request in PEM form. Text after the first block is
// ignored.
func ParseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// CheckCertificates reports mistakes in a chain of certificates in PEM form. An empty
// text is correct.
func CheckCertificates(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	for blocks := 0; ; blocks++ {
		block, rest := pem.Decode(data)
		if block == nil {
			if blocks == 0 {
				return errors.New("must contain at least one CERTIFICATE PEM block")
			}
			return nil
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		certificates, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certificates) == 0 {
			return errors.New("found a CERTIFICATE PEM block that contains no certificate")
		}
		data = rest
	}
}

// Has reports whether a list of conditions has one of that type.
func Has(conditions document.Value, kind string) bool {
	return conditions.ElementBy("type", kind).Exists()
}
