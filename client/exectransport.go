package client

import (
	"crypto/tls"
	"net/http"
)

// Transport adds the credentials that the program makes to the requests of a transport, for
// other senders of requests than this package. It changes the transport, which must have a
// dialer and be new.
func (e *Exec) Transport(base *http.Transport) (http.RoundTripper, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	as := newLogin(&Config{Exec: e})
	if base.TLSClientConfig == nil {
		base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	base.TLSClientConfig.GetClientCertificate = as.certificate
	as.conns.Carry(base)
	return (*execTransport)(as), nil
}

type execTransport login

// RoundTrip implements http.RoundTripper.
func (t *execTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	login, out := (*login)(t), r.Clone(r.Context())
	as, err := login.add(r.Context(), out.Header)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper has to
		}
		return nil, err
	}
	response, err := login.conns.RoundTrip(out)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		login.refused(as)
	}
	return response, err
}
