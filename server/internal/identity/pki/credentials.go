package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/signing"
)

// Credentials are the certificates and keys of one server, PEM.
//
// The server has an authority of its own, which signs its serving certificate and the
// administrator's client certificate. A given serving certificate replaces the first;
// when client authorities are given as well, the server has neither an authority of its
// own nor an administrator's certificate, and only clients of the given authorities can
// log in.
//
// Invariant: AdminCert, AdminKey and OwnCA are all set or all nil.
type Credentials struct {
	// CA is the authority by which clients verify the server: its own, or the given
	// serving certificate with its chain.
	CA []byte
	// Cert and Key are the serving certificate.
	Cert, Key []byte
	// Named are the serving certificates for clients that name one of their names.
	Named []NamedCert
	// OwnCA is the server's own authority, which signed AdminCert.
	OwnCA []byte
	// AdminCert and AdminKey make a client a member of system:masters.
	AdminCert, AdminKey []byte

	// ClientCAs are the authorities whose client certificates are accepted, ProxyCAs
	// those of proxies that authenticate users, nil for none.
	ClientCAs, ProxyCAs []byte

	// FrontCert and FrontKey are the certificate by which extension servers know this
	// server, nil for none, FrontCA the authority of one that the server made.
	FrontCert, FrontKey, FrontCA []byte
	// AgentCert and AgentKey are the certificate by which the agents of nodes know this
	// server, AgentCAs the authorities of theirs; nil for none.
	AgentCert, AgentKey, AgentCAs []byte

	ownAuthority *signing.Authority            // of OwnCA
	authorities  map[string]*signing.Authority // the given ones of certificate signing requests, by signer

	tls     *tls.Config        // for new connections
	logins  *authn.ClientCerts // by client certificates
	proxies *authn.FrontProxy  // by the headers of proxies; nil for none
	front   *tls.Certificate   // of FrontCert
	agents  *AgentTrust
}

// adminName is the user name in the administrator's certificate.
const adminName = profile.MediaTypeWord + "-admin"

// loadCredentials reads the certificates of the configuration, and makes or renews the
// server's own.
func loadCredentials(c *source) (*Credentials, error) {
	cr := &Credentials{}
	if err := cr.loadOwn(c); err != nil {
		return nil, err
	}
	var err error
	if cr.ClientCAs, err = authorities("client authorities", c.ClientCAFile); err != nil {
		return nil, err
	}
	cr.ClientCAs = append(bytes.Clone(cr.OwnCA), cr.ClientCAs...)
	if cr.Named, err = readNamed(c); err != nil {
		return nil, err
	}
	if cr.ProxyCAs, err = authorities("proxy authorities", c.RequestHeaderClientCAFile); err != nil {
		return nil, err
	}
	if err := cr.loadFront(c); err != nil {
		return nil, err
	}
	if err := cr.loadAgents(c); err != nil {
		return nil, err
	}
	if err := cr.loadAuthorities(c); err != nil {
		return nil, err
	}
	return cr, cr.prepare(c)
}

// prepare makes the TLS configuration and the authenticator of the certificates and keys.
//
// The handshake requests client certificates, and the authenticator verifies them, so
// that a wrong one is a 401 and not a broken connection; the authorities in the handshake
// only help a client to choose one.
func (cr *Credentials) prepare(c *source) error {
	pair, err := tls.X509KeyPair(cr.Cert, cr.Key)
	if err != nil {
		return fmt.Errorf("serving certificate: %w", err)
	}
	least, err := tlsVersion(c.TLSMinVersion)
	if err != nil {
		return err
	}
	suites, err := cipherSuites(c.TLSCipherSuites)
	if err != nil {
		return err
	}
	named, err := newChooser(cr.Named, &pair)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(cr.ClientCAs)
	accepted := clients.Clone()
	accepted.AppendCertsFromPEM(cr.ProxyCAs)
	cr.tls = &tls.Config{
		GetCertificate: named.choose,
		ClientAuth:     tls.RequestClientCert,
		ClientCAs:      accepted,
		MinVersion:     least,
		CipherSuites:   suites,
		NextProtos:     []string{"h2", "http/1.1"},
	}
	cr.logins = authn.ClientCert(clients, c.Now)
	cr.logins.CertContent = c.CertContent
	if err := cr.prepareAgents(c); err != nil {
		return err
	}
	return cr.prepareFront(c)
}

// loadOwn sets the certificates that the server presents and issues.
func (cr *Credentials) loadOwn(c *source) (err error) {
	if c.TLSCertFile != "" {
		if cr.Cert, cr.Key, err = readPair(c.TLSCertFile, c.TLSPrivateKeyFile); err != nil {
			return fmt.Errorf("serving certificate: %w", err)
		}
		cr.CA = cr.Cert
		if c.ClientCAFile != "" {
			return nil
		}
	}
	return cr.makeOwn(c)
}

// makeOwn sets the certificates that the server makes: it reads them, and replaces
// missing or expiring ones.
func (cr *Credentials) makeOwn(c *source) error {
	dir := certDir{path: c.CertDir, now: c.Now()}
	ca, err := dir.authority("ca", "capstan-ca")
	if err != nil {
		return err
	}
	admin, err := dir.issued("admin", ca, adminRequest())
	if err != nil {
		return err
	}
	cr.OwnCA, cr.AdminCert, cr.AdminKey = ca.pem, admin.pem, admin.keyPEM
	cr.ownAuthority = &signing.Authority{Certificate: ca.cert, Key: ca.key}
	if c.TLSCertFile != "" {
		return nil
	}
	serving, err := dir.issued("server", ca, servingRequest(servingNames(c)))
	if err != nil {
		return err
	}
	cr.CA, cr.Cert, cr.Key = ca.pem, serving.pem, serving.keyPEM
	return nil
}

// readPair reads a certificate and its key, and checks that they are a pair.
func readPair(certFile, keyFile string) (cert, key []byte, err error) {
	if cert, err = os.ReadFile(certFile); err != nil {
		return nil, nil, err
	}
	if key, err = os.ReadFile(keyFile); err != nil {
		return nil, nil, err
	}
	if _, err := parsePair(certFile, keyFile, cert, key); err != nil {
		return nil, nil, err
	}
	return cert, key, nil
}

// parsePair checks that the contents of two files are a certificate and its key.
func parsePair(certFile, keyFile string, cert, key []byte) (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key in PEM: %w", certFile, keyFile, err)
	}
	return pair.Leaf, cutOff(certFile, cert)
}

// cutOff reports that a file ends inside of a block of PEM, as one that is being written.
// The rest of the blocks would be missing without notice.
func cutOff(file string, text []byte) error {
	for block := new(pem.Block); block != nil; {
		block, text = pem.Decode(text)
	}
	if bytes.Contains(text, []byte("-----BEGIN ")) {
		return fmt.Errorf("%s ends in the middle of a block of PEM; it may not be written completely", file)
	}
	return nil
}

// authorities reads a file of certificates, PEM; "" is none. what names them in errors.
func authorities(what, file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if _, err := parseAuthorities(file, text); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

// parseAuthorities parses a file of certificates, PEM: at least one.
func parseAuthorities(file string, text []byte) (all []*x509.Certificate, err error) {
	if err := cutOff(file, text); err != nil {
		return nil, err
	}
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s holds a certificate that cannot be read: %w", file, err)
		}
		all = append(all, c)
	}
	if all == nil {
		return nil, fmt.Errorf("%s holds no certificate in PEM; it must hold those of the authorities", file)
	}
	return all, nil
}

// servingNames lists the names and addresses that clients may use for the
// server, sorted.
func servingNames(c *source) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, c.Names...)
	if host, err := os.Hostname(); err == nil && hostName.MatchString(host) {
		names = append(names, strings.ToLower(host))
	}
	if ip, err := netip.ParseAddr(c.Address); err == nil {
		if ip = ip.Unmap().WithZone(""); ip.IsUnspecified() {
			names = append(names, MachineAddresses()...)
		} else {
			names = append(names, ip.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hostName matches the host names allowed in a certificate.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*$`)

// MachineAddresses are the IP addresses at which other machines can reach this one.
func MachineAddresses() []string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var list []string
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			list = append(list, p.Addr().WithZone("").String())
		}
	}
	return list
}

// writePrivate writes a file that only its owner may read, completely or not at all. It
// makes missing directories. It overwrites the rest of a killed process's write, so only
// one process may write a file at a time, which a lock of the directory or of the store ensures.
func writePrivate(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "."+filepath.Base(path)+".new"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
