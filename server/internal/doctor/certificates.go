package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/client"
)

// soonEnded is the time before the end of a certificate from which on it is a finding. The server
// renews its own a month before their end.
const soonEnded = 7 * 24 * time.Hour

// checkCertificates looks at the certificates in the directory of the server, and their keys.
func checkCertificates(_ context.Context, s *Subject, _ *client.REST) []Finding {
	files, err := filepath.Glob(filepath.Join(s.CertDir, "*.crt"))
	if err != nil {
		return nil // the pattern is right
	}
	var all []Finding
	for _, file := range files {
		all = append(all, checkCertificate(file, s.Now)...)
	}
	return all
}

// checkCertificate looks at a file of certificates, and at the key next to it, if there is one.
func checkCertificate(file string, now time.Time) []Finding {
	text, err := os.ReadFile(file)
	if err != nil {
		return []Finding{problem("give the user of the server the right to read it", "%v", err)}
	}
	var all []Finding
	found := false
	for rest := bytes.TrimSpace(text); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		found = true
		switch left := cert.NotAfter.Sub(now); {
		case left < 0:
			all = append(all, problem("restart the server, which renews its own; replace a certificate of yours", "%s: the certificate of %s ended on %s",
				file, nameOf(cert), cert.NotAfter.Format(time.DateOnly)))
		case left < soonEnded:
			all = append(all, warning("replace it; the server renews its own while it runs", "%s: the certificate of %s ends on %s",
				file, nameOf(cert), cert.NotAfter.Format(time.DateOnly)))
		case now.Before(cert.NotBefore):
			all = append(all, problem("set the clock of the machine", "%s: the certificate of %s counts from %s on, which is later than now",
				file, nameOf(cert), cert.NotBefore.Format(time.RFC3339)))
		}
	}
	if !found {
		return append(all, problem("restore it, or remove it: the server makes those that it needs", "%s has no certificate", file))
	}
	key := strings.TrimSuffix(file, ".crt") + ".key"
	private, err := os.ReadFile(key)
	if err != nil {
		return all // that of an authority may be elsewhere
	}
	if _, err := tls.X509KeyPair(text, private); err != nil {
		all = append(all, problem("restore both files from one backup, or remove both", "%s is not the key of %s: %v", key, file, err))
	}
	return all
}

// nameOf is the name of a certificate's owner.
func nameOf(cert *x509.Certificate) string {
	if cert.Subject.CommonName != "" {
		return cert.Subject.CommonName
	}
	return strings.Join(cert.DNSNames, ", ")
}
