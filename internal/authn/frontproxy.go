package authn

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ProxyHeaders are the headers in which a proxy that authenticates users names them, and
// the proxies that may do so. Header names count without regard to case.
type ProxyHeaders struct {
	// AllowedNames are the common names of the proxies' certificates; none for any.
	AllowedNames []string
	// User and Group are names of headers, Extra beginnings of names.
	User, Group, Extra []string
}

// Remove deletes the headers from those of a request, in every spelling that the other
// server may read as one of them.
func (p *ProxyHeaders) Remove(h http.Header) {
	exact := slices.Concat(p.User, p.Group)
	for name := range h {
		plain := PlainHeader(name)
		same := func(of string) bool { return plain == PlainHeader(of) }
		begins := func(with string) bool { return strings.HasPrefix(plain, PlainHeader(with)) }
		if slices.ContainsFunc(exact, same) || slices.ContainsFunc(p.Extra, begins) {
			delete(h, name)
		}
	}
}

// PlainHeader is the spelling that a header has in common with those that some servers
// take for the same: they know neither case nor, as CGI has it, "-" from "_".
func PlainHeader(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// extra returns the key that a header gives more of the user under, and the index of its
// beginning in Extra.
func (p *ProxyHeaders) extra(name string) (key string, at int, ok bool) {
	for i, prefix := range p.Extra {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			key := strings.ToLower(name[len(prefix):])
			if text, err := url.PathUnescape(key); err == nil {
				key = text
			}
			return key, i, true
		}
	}
	return "", 0, false
}

// FrontProxy authenticates requests that a proxy forwards: the proxy authenticates itself
// by its client certificate, and names the user in headers.
//
// Invariant: a header counts only if the certificate of its connection leads to the
// authorities of proxies, is for clients, and has an allowed name.
type FrontProxy struct {
	headers ProxyHeaders
	certs   *ClientCerts
}

// NewFrontProxy returns the authenticator of proxies with a certificate that leads to
// roots. now is the time of day.
func NewFrontProxy(roots *x509.CertPool, headers ProxyHeaders, now func() time.Time) *FrontProxy {
	return &FrontProxy{headers, ClientCert(roots, now)}
}

// Authenticate returns the identity of the user that a proxy names, and nil for a request
// that names none, which has not come through a proxy.
func (f *FrontProxy) Authenticate(r *http.Request) (*Identity, error) {
	name := f.name(r.Header)
	if name == "" || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	if _, err := f.certs.Authenticate(r); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	proxy := r.TLS.PeerCertificates[0].Subject.CommonName
	if allowed := f.headers.AllowedNames; len(allowed) > 0 && !slices.Contains(allowed, proxy) {
		return nil, fmt.Errorf("proxy: its certificate is for %q, which is not among the allowed names", proxy)
	}
	return Known(f.user(name, r.Header)), nil
}

// name is the user's name in the headers, "" for none.
func (f *FrontProxy) name(h http.Header) string {
	for _, header := range f.headers.User {
		if name := h.Get(header); name != "" {
			return name
		}
	}
	return ""
}

func (f *FrontProxy) user(name string, h http.Header) *User {
	u := &User{Name: name}
	for _, header := range f.headers.Group {
		for _, group := range h.Values(header) {
			if group != "" {
				u.Groups = append(u.Groups, group)
			}
		}
	}
	for i := range f.headers.Extra { // in the order of the configuration
		for header, values := range h {
			if key, at, ok := f.headers.extra(header); ok && at == i {
				if u.Extra == nil {
					u.Extra = map[string][]string{}
				}
				u.Extra[key] = append(u.Extra[key], values...)
			}
		}
	}
	return u
}
