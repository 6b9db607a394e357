package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/server/internal/status"
)

// Role is the use of a certificate.
type Role int

// Roles.
const (
	Other Role = iota
	Serving
	Client
	Authority
)

// Certificate is a file of certificates, and the file of the key of the first one.
type Certificate struct {
	File string
	Key  string // "" for none: that of an authority is elsewhere
	Role Role
}

// ownRoles are the roles of the files in the directory of the server's certificates. The serving certificate that the
// server makes, server.crt, is made anew when it does not fit.
var ownRoles = map[string]Role{"apiserver.crt": Serving, "admin.crt": Client, "front-proxy-client.crt": Client, "ca.crt": Authority,
	"front-proxy-ca.crt": Authority}

// checkCertificates looks at the certificates that flags name, and at those in the directory of the server.
func checkCertificates(_ context.Context, s *Subject, _ *client.REST) (all []Finding) {
	files, err := filepath.Glob(filepath.Join(s.CertDir, "*.crt"))
	if err != nil {
		return nil // the pattern is right
	}
	for _, c := range s.Certificates {
		if c.Key != "" {
			all = append(all, checkKey(c.Key)...)
		}
		all = append(all, s.checkCertificate(c)...)
	}
	named := slices.ContainsFunc(s.Certificates, func(c Certificate) bool { return c.Role == Serving })
	for _, file := range files {
		c := Certificate{File: file, Key: strings.TrimSuffix(file, ".crt") + ".key", Role: ownRoles[filepath.Base(file)]}
		if named && c.Role == Serving {
			c.Role = Other // it is not used
		}
		all = append(all, s.checkCertificate(c)...)
	}
	return all
}

// checkKey looks whether a file of a key can be read.
func checkKey(file string) []Finding {
	if _, err := os.ReadFile(file); err != nil {
		return []Finding{problem("name its file with the flag, or give the user of the server the right to read it", "%v", err)}
	}
	return nil
}

// checkCertificate looks at a file of certificates, and at the key, if it is there.
func (s *Subject) checkCertificate(c Certificate) (all []Finding) {
	text, err := os.ReadFile(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{problem("restore it, or name another one with the flag", "%v", err)}
	case err != nil:
		return []Finding{problem("give the user of the server the right to read it", "%v", err)}
	}
	certificates := status.ParseCertificates(text)
	if len(certificates) == 0 {
		return []Finding{problem("restore it, or remove it: the server makes those that it needs", "%s has no certificate", c.File)}
	}
	for i, cert := range certificates {
		all = append(all, checkTimes(c.File, cert, s.Now)...)
		if c.Role == Authority || i == 0 { // others are the chain of the first one
			all = append(all, checkUse(c, cert)...)
		}
	}
	if c.Role == Serving {
		all = append(all, checkNames(c.File, certificates[0], s.Address)...)
	}
	private, err := os.ReadFile(c.Key)
	if c.Key == "" || err != nil {
		return all // that of an authority may be elsewhere
	}
	if _, err := tls.X509KeyPair(text, private); err != nil {
		all = append(all, problem("restore both files from one backup, or remove both", "%s is not the key of %s: %v", c.Key, c.File, err))
	}
	return all
}

// checkTimes compares the times of a certificate with now.
func checkTimes(file string, cert *x509.Certificate, now time.Time) []Finding {
	switch left := cert.NotAfter.Sub(now); {
	case left < 0:
		return []Finding{problem("restart the server, which renews its own; replace a certificate of yours", "%s: the certificate of %s ended on %s",
			file, nameOf(cert), cert.NotAfter.Format(time.DateOnly))}
	case left < status.SoonEnded:
		return []Finding{warning("replace it; the server renews its own while it runs", "%s: the certificate of %s ends on %s",
			file, nameOf(cert), cert.NotAfter.Format(time.DateOnly))}
	case now.Before(cert.NotBefore):
		return []Finding{problem("set the clock of the machine", "%s: the certificate of %s counts from %s on, which is later than now",
			file, nameOf(cert), cert.NotBefore.Format(time.RFC3339))}
	}
	return nil
}

// checkUse compares the usages of a certificate with its role.
func checkUse(c Certificate, cert *x509.Certificate) []Finding {
	may := func(usage x509.ExtKeyUsage) bool {
		return len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage) == 0 || slices.Contains(cert.ExtKeyUsage, usage) ||
			slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageAny)
	}
	what := ""
	switch {
	case c.Role == Authority && cert.Version >= 3 && !cert.IsCA:
		return []Finding{warning("name the certificate of the authority instead",
			"%s: the certificate of %s is not that of an authority (CA:TRUE), so those that it has signed are refused", c.File, nameOf(cert))}
	case c.Role == Serving && !may(x509.ExtKeyUsageServerAuth):
		what = "servers (the extended key usage serverAuth)"
	case c.Role == Client && !may(x509.ExtKeyUsageClientAuth):
		what = "clients (the extended key usage clientAuth)"
	default:
		return nil
	}
	return []Finding{problem("have its authority issue one for this use", "%s: the certificate of %s is not for %s, so others refuse it",
		c.File, nameOf(cert), what)}
}

// checkNames looks whether a serving certificate is for the address on which the server listens. Other machines do
// not connect to a loopback address, and which of its addresses a machine is called by is not known here.
func checkNames(file string, cert *x509.Certificate, address string) []Finding {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() || ip.IsLoopback() || cert.VerifyHostname(host) == nil {
		return nil
	}
	return []Finding{warning("have its authority issue one that names the address too",
		"%s: the certificate of %s is not for %s, so clients that connect to that address refuse it", file, nameOf(cert), host)}
}

// nameOf is the name of a certificate's owner.
func nameOf(cert *x509.Certificate) string {
	if cert.Subject.CommonName != "" {
		return cert.Subject.CommonName
	}
	return strings.Join(cert.DNSNames, ", ")
}
