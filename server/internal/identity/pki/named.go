package pki

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
)

// namedFiles is one value of --tls-sni-cert-key.
type namedFiles struct {
	cert, key string
	names     []string // names that the certificate serves; nil: those in it
}

// parseNamedFiles reads "cert,key" or "cert,key:name,*.name".
func parseNamedFiles(text string) (n namedFiles, err error) {
	files := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		files = text[:i]
		for name := range strings.SplitSeq(text[i+1:], ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
				return n, fmt.Errorf("--tls-sni-cert-key: %q has an empty name behind the colon", text)
			}
			n.names = append(n.names, name)
		}
	}
	var ok bool
	if n.cert, n.key, ok = strings.Cut(files, ","); !ok || n.cert == "" || n.key == "" || strings.Contains(n.key, ",") {
		return n, fmt.Errorf("--tls-sni-cert-key: %q is no certificate and key; write CERT,KEY or CERT,KEY:NAME,*.NAME", text)
	}
	return n, nil
}

// NamedCert is a certificate for clients that name one of its names.
type NamedCert struct {
	Cert, Key []byte   // PEM
	Names     []string // nil: those in the certificate
}

// readNamed reads the certificates that the configuration gives for names.
func readNamed(c *source) (list []NamedCert, err error) {
	for _, text := range c.TLSSNICertKeys {
		n, err := parseNamedFiles(text)
		if err != nil {
			return nil, err
		}
		cert, key, err := readPair(n.cert, n.key)
		if err != nil {
			return nil, fmt.Errorf("serving certificate for names: %w", err)
		}
		list = append(list, NamedCert{cert, key, n.names})
	}
	return list, nil
}

// chooser finds the certificate for the server name that a client sends. Given names go
// before those in certificates, and earlier ones before later ones.
type chooser struct {
	named map[string]*tls.Certificate
	other *tls.Certificate // for all other names
}

func newChooser(list []NamedCert, other *tls.Certificate) (*chooser, error) {
	c := &chooser{map[string]*tls.Certificate{}, other}
	pairs := make([]tls.Certificate, len(list))
	for i, n := range list {
		pair, err := tls.X509KeyPair(n.Cert, n.Key)
		if err != nil {
			return nil, fmt.Errorf("serving certificate for names: %w", err)
		}
		pairs[i] = pair
		c.add(&pairs[i], n.Names)
	}
	for i, n := range list {
		if n.Names == nil {
			c.add(&pairs[i], namesIn(pairs[i].Leaf))
		}
	}
	return c, nil
}

func (c *chooser) add(pair *tls.Certificate, names []string) {
	for _, name := range names {
		if c.named[name] == nil {
			c.named[name] = pair
		}
	}
}

// namesIn lists the names and addresses in a certificate.
func namesIn(leaf *x509.Certificate) (names []string) {
	for _, name := range leaf.DNSNames {
		names = append(names, strings.ToLower(name))
	}
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// choose is a GetCertificate function: the certificate with the name, or with a pattern
// that has stars for its first labels. A client without a name connected to an address.
func (c *chooser) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if name == "" {
		name, _, _ = net.SplitHostPort(hello.Conn.LocalAddr().String())
	}
	for stars, rest := "", name; ; {
		if pair := c.named[stars+rest]; pair != nil {
			return pair, nil
		}
		_, after, more := strings.Cut(rest, ".")
		if !more {
			return c.other, nil
		}
		stars, rest = stars+"*.", after
	}
}
