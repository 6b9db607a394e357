package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
)

// frontProxyName is the common name of the client certificate that the server makes for
// itself, to forward users' requests to extension servers.
const frontProxyName = "front-proxy-client"

// standardHeaders are the headers in which this server names the user to extension
// servers.
var standardHeaders = authn.ProxyHeaders{User: []string{"X-Remote-User"}, Group: []string{"X-Remote-Group"}, Extra: []string{"X-Remote-Extra-"}}

// proxyHeaders are those of the configuration.
func (c *Config) proxyHeaders() authn.ProxyHeaders {
	return authn.ProxyHeaders{AllowedNames: c.RequestHeaderAllowedNames, User: c.RequestHeaderUsernameHeaders,
		Group: c.RequestHeaderGroupHeaders, Extra: c.RequestHeaderExtraHeadersPrefix}
}

// validateProxies reports the mistakes in the part of the configuration about proxies.
func (c *Config) validateProxies() error {
	var all []error
	if (c.ProxyClientCertFile == "") != (c.ProxyClientKeyFile == "") {
		all = append(all, errors.New("--proxy-client-cert-file and --proxy-client-key-file belong together; set both or none"))
	}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"username-headers", c.RequestHeaderUsernameHeaders}, {"group-headers", c.RequestHeaderGroupHeaders},
		{"extra-headers-prefix", c.RequestHeaderExtraHeadersPrefix}, {"allowed-names", c.RequestHeaderAllowedNames}} {
		if slices.ContainsFunc(list.values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
			all = append(all, fmt.Errorf("--requestheader-%s: one of the values is empty; leave it out", list.flag))
		}
	}
	return errors.Join(all...)
}

// loadFront sets the certificate by which extension servers know this server: the given
// one, or one that it makes, with an authority for it alone. A server that is given only
// the authority has none.
func (cr *Credentials) loadFront(c *source) (err error) {
	if c.ProxyClientCertFile != "" {
		if cr.FrontCert, cr.FrontKey, err = readPair(c.ProxyClientCertFile, c.ProxyClientKeyFile); err != nil {
			return fmt.Errorf("certificate for extension servers: %w", err)
		}
		return nil
	}
	if c.RequestHeaderClientCAFile != "" {
		return nil
	}
	dir := certDir{path: c.CertDir, now: c.Now()}
	ca, err := dir.authority("front-proxy-ca", "capstan-front-proxy-ca")
	if err != nil {
		return err
	}
	client, err := dir.issued("front-proxy-client", ca, &x509.Certificate{Subject: pkix.Name{CommonName: frontProxyName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return err
	}
	cr.FrontCA, cr.FrontCert, cr.FrontKey = ca.pem, client.pem, client.keyPEM
	return nil
}

// prepareFront makes the client certificate for extension servers and the authenticator
// of proxies. An authority of both clients and proxies is refused unless the proxies have
// names: else each of its clients could claim to be any user.
func (cr *Credentials) prepareFront(c *source) error {
	cr.front, cr.proxies = nil, nil
	if cr.FrontCert != nil {
		pair, err := tls.X509KeyPair(cr.FrontCert, cr.FrontKey)
		if err != nil {
			return fmt.Errorf("certificate for extension servers: %w", err)
		}
		cr.front = &pair
	}
	if cr.ProxyCAs == nil {
		return nil
	}
	proxies, err := parseAuthorities(c.RequestHeaderClientCAFile, cr.ProxyCAs)
	if err != nil {
		return err
	}
	if len(c.RequestHeaderAllowedNames) == 0 && len(cr.ClientCAs) > 0 {
		clients, err := parseAuthorities(c.ClientCAFile, cr.ClientCAs)
		if err != nil {
			return err
		}
		for _, p := range proxies {
			if slices.ContainsFunc(clients, func(client *x509.Certificate) bool { return sameAuthority(client, p) }) {
				return fmt.Errorf("the authority %q in --requestheader-client-ca-file signs certificates of clients too, so each of them could claim to be any user; use another authority, or name the proxies with --requestheader-allowed-names", p.Subject)
			}
		}
	}
	roots := x509.NewCertPool()
	for _, p := range proxies {
		roots.AddCert(p)
	}
	cr.proxies = authn.NewFrontProxy(roots, c.proxyHeaders(), c.Now)
	return nil
}

// sameAuthority reports whether two certificates are of one authority: the same key.
func sameAuthority(a, b *x509.Certificate) bool {
	return bytes.Equal(a.RawSubjectPublicKeyInfo, b.RawSubjectPublicKeyInfo)
}

// FrontProxy is the client certificate by which extension servers know this server; nil
// without one. It is another pointer when it has changed.
func (cr *Credentials) FrontProxy() *tls.Certificate { return cr.front }

// ExtensionTrust is the trust of extension servers in this server and other proxies: the
// authorities of their certificates, nil for none, and their headers.
func (k *Keyring) ExtensionTrust() (authorities []byte, headers authn.ProxyHeaders) {
	cr := k.Credentials()
	if cr.FrontCA == nil {
		return cr.ProxyCAs, k.source.proxyHeaders()
	}
	headers = standardHeaders
	headers.AllowedNames = []string{frontProxyName}
	return cr.FrontCA, headers
}

// UntrustedHeaders are the headers of proxies, which are removed from a request for an
// extension server: only this server sets them there.
func (k *Keyring) UntrustedHeaders() []authn.ProxyHeaders {
	return []authn.ProxyHeaders{standardHeaders, k.source.proxyHeaders()}
}

// Proxies authenticates requests that a proxy forwards; nil when there are no proxies.
func (k *Keyring) Proxies() authn.Authenticator {
	if k.source.RequestHeaderClientCAFile == "" {
		return nil
	}
	return proxyLogins{k}
}
