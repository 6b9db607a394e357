package status

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/capstan-dev/capstan/client"
)

// SoonEnded is the time before the end of a certificate from which on it stands out. The server renews its
// own a month before their end.
const SoonEnded = 7 * 24 * time.Hour

// Certificate is the end of a certificate.
type Certificate struct {
	Name string    `json:"name"` // "serving", "client", or a file
	Ends time.Time `json:"ends"`
}

// serving is the certificate that a server shows; none when none is seen.
func serving(ctx context.Context, host string) (all []Certificate) {
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "https" {
		return nil
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "443")
	}
	// Nothing is sent on this connection, and its certificate is trusted for nothing.
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(c tls.ConnectionState) error {
		all = []Certificate{{"serving", c.PeerCertificates[0].NotAfter}}
		return nil
	}}}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
		_ = conn.Close() // nothing was sent
	}
	return all
}

// ofClient is the certificate by which a client is known.
func ofClient(config client.Config) []Certificate {
	if config.TLS != nil && len(config.TLS.Certificates) > 0 && config.TLS.Certificates[0].Leaf != nil {
		return []Certificate{{"client", config.TLS.Certificates[0].Leaf.NotAfter}}
	}
	if end := endOf(config.CertificateFile); !end.IsZero() {
		return []Certificate{{"client", end}}
	}
	return nil
}

// inDirectory are the certificates in the files of a directory; none where this user may not look.
func inDirectory(dir string) (all []Certificate) {
	files, err := filepath.Glob(filepath.Join(dir, "*.crt"))
	if err != nil {
		return nil // the pattern is right
	}
	for _, file := range files {
		if end := endOf(file); !end.IsZero() {
			all = append(all, Certificate{filepath.Base(file), end})
		}
	}
	return all
}

// endOf is the end of the first certificate in a file; zero for none.
func endOf(file string) (end time.Time) {
	text, err := os.ReadFile(file)
	if err != nil {
		return end
	}
	if all := ParseCertificates(text); len(all) > 0 {
		return all[0].NotAfter
	}
	return end
}

// ParseCertificates are the certificates in a PEM text that can be read.
func ParseCertificates(text []byte) (all []*x509.Certificate) {
	for rest := bytes.TrimSpace(text); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, cert)
		}
	}
	return all
}
