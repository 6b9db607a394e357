package extensions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/outbound"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Serve forwards a request to its extension server, and the answer to the client. Until
// the answer begins, failures are answered as 1.25 does, in plain text.
func (x *Extensions) Serve(r *request.Request) error {
	s := x.find(r.Target.Remote.APIVersion())
	if s == nil || s.available.status != "True" {
		return refuse(r, http.StatusServiceUnavailable, "service unavailable")
	}
	made := s.way.requests.Begin(x.cfg.Certificate())
	defer made.End()
	if made.Err != nil {
		return refuse(r, http.StatusInternalServerError, made.Err.Error())
	}
	address, err := x.cfg.Backends.Resolve(r.Context, s.at.namespace, s.at.name, s.at.port)
	if err != nil {
		x.cfg.Log.Info("an extension server has no address", "service", s.at.namespace+"/"+s.at.name, "error", err)
		return refuse(r, http.StatusServiceUnavailable, "service unavailable")
	}
	var place request.Slot
	defer place.Leave()
	if !r.LongRunning() {
		if err := s.way.places.Take(&place, r.User, 1); err != nil {
			return err
		}
	}
	return x.forward(r, made, address)
}

// Document is the target of the OpenAPI v3 document of a group version, which its server
// answers; none when it has no such document.
func (x *Extensions) Document(v *catalog.Remote) request.Target {
	if v.Documents == nil || v.Documents.OpenAPI3 == "" {
		return request.Target{}
	}
	return request.Target{Remote: v, Endpoint: x.Serve, OwnRepresentation: true}
}

// refuse answers with plain text.
func refuse(r *request.Request, code int, text string) error {
	r.Writer.Header().Set("X-Content-Type-Options", "nosniff")
	return r.Send(code, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// forward sends a request to an address and the answer back.
func (x *Extensions) forward(r *request.Request, made *outbound.Transports, address string) error {
	ctx := r.Context
	if r.Discovers() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, x.cfg.Times.Discovery)
		defer cancel()
	}
	err := x.cfg.Forwarder.Send(ctx, outbound.Trip{Request: r, Transports: made,
		Rewrite: func(p *httputil.ProxyRequest) { rewrite(p, r, address) }, Modify: x.modify})
	return failed(r, err)
}

// rewrite makes the request for the extension server: that of the client, with the user
// in headers.
func rewrite(p *httputil.ProxyRequest, r *request.Request, address string) {
	out, h := p.Out, p.Out.Header
	path := r.HTTP.URL.Path
	if asked, _, _ := strings.Cut(r.HTTP.RequestURI, "?"); strings.HasSuffix(asked, "/") {
		path += "/" // the router has removed it
	}
	out.URL = &url.URL{Scheme: "https", Host: address, Path: path, RawQuery: r.HTTP.URL.Query().Encode()}
	out.Host = address
	if len(p.In.Header["X-Forwarded-For"]) > 0 {
		h["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	}
	p.SetXForwarded()
	h.Set("X-Forwarded-Uri", path)
	setUser(h, r.User)
	r.NameIn(h)
}

// setUser names the user in the headers of a request for an extension server.
func setUser(h http.Header, user *authn.User) {
	h.Set("X-Remote-User", user.Name)
	for _, group := range user.Groups {
		h.Add("X-Remote-Group", group)
	}
	for key, values := range user.Extra {
		for _, value := range values {
			h.Add("X-Remote-Extra-"+escapeHeader(key), value)
		}
	}
}

// escapeHeader writes a text as part of a header's name: other characters than those of
// names, and the percent sign, become percent-encodings.
func escapeHeader(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// modify refuses redirects, unless they are for the client.
func (x *Extensions) modify(resp *http.Response) error {
	if !outbound.Redirects(resp) || x.cfg.ForwardRedirects {
		return nil
	}
	_ = resp.Body.Close()
	const text = "the backend attempted to redirect this request, which is not permitted"
	resp.StatusCode, resp.Status = http.StatusBadGateway, ""
	resp.Header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	resp.Header.Set("Content-Length", fmt.Sprint(len(text)))
	return nil
}

// failed answers a request whose server could not be reached. A failure after the answer
// has begun breaks the connection off.
func failed(r *request.Request, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(r.Context.Err(), context.DeadlineExceeded): // the context of the connection has ended too, see cutBody
		return &api.Error{Code: http.StatusGatewayTimeout, Reason: api.ReasonTimeout, HasDetails: true, Message: "the extension server did not answer in time; the request may have taken effect"}
	case r.HTTP.Context().Err() != nil:
		return r.HTTP.Context().Err()
	}
	text := err.Error()
	if r.Upgrade() == "" {
		text = "error trying to reach service: " + text
	}
	return refuse(r, http.StatusServiceUnavailable, text)
}
