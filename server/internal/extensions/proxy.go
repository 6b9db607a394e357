package extensions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// Serve forwards a request to its extension server, and the answer to the client. Until
// the answer begins, failures are answered as 1.25 does, in plain text.
func (x *Extensions) Serve(r *front.Request) error {
	s := x.find(r.Target.Remote.APIVersion())
	if s == nil || s.available.status != "True" {
		return refuse(r, http.StatusServiceUnavailable, "service unavailable")
	}
	made := s.way.transports(x.cfg.Certificate())
	if made.err != nil {
		return refuse(r, http.StatusInternalServerError, made.err.Error())
	}
	address, err := x.cfg.Backends.Resolve(r.Context, s.at.namespace, s.at.name, s.at.port)
	if err != nil {
		x.cfg.Log.Info("an extension server has no address", "service", s.at.namespace+"/"+s.at.name, "error", err)
		return refuse(r, http.StatusServiceUnavailable, "service unavailable")
	}
	var place front.Slot
	defer place.Leave()
	if !r.LongRunning() {
		if err := s.way.places.Take(&place, r.User, 1); err != nil {
			return err
		}
	}
	return x.forward(r, made, address)
}

// refuse answers with plain text.
func refuse(r *front.Request, code int, text string) error {
	r.Writer.Header().Set("X-Content-Type-Options", "nosniff")
	return r.Send(code, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// forward sends a request to an address and the answer back.
func (x *Extensions) forward(r *front.Request, made *transports, address string) error {
	ctx, cancel := context.WithCancel(r.Context)
	defer cancel()
	if r.Discovers() {
		ctx, cancel = context.WithTimeout(ctx, x.cfg.Times.Discovery)
		defer cancel()
	}
	f := &forwarding{x: x, r: r, address: address}
	to := answer{ResponseWriter: r.Writer, r: r}
	transport := made.requests
	if r.Upgrade() != "" {
		transport = made.upgrades
	}
	if r.LongRunning() {
		defer x.endWith(cancel, ctx)()
		control := http.NewResponseController(r.Writer)
		_ = control.SetWriteDeadline(time.Time{}) // clears the deadline of short requests
		to.guard = x.cfg.Sweeper.Guard(func() { _ = control.SetWriteDeadline(conns.Past()) })
		defer to.guard.Release()
	}
	defer x.cutBody(ctx, r)()
	proxy := httputil.ReverseProxy{Rewrite: f.rewrite, Transport: transport, ModifyResponse: f.modify, ErrorLog: slog.NewLogLogger(x.cfg.Log.Handler(), slog.LevelDebug),
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { f.err = err }}
	if r.LongRunning() {
		proxy.FlushInterval = -1 // at once
	}
	proxy.ServeHTTP(to, r.HTTP.WithContext(ctx))
	return f.failed()
}

// endWith cancels a long-running request when the server stops.
func (x *Extensions) endWith(cancel context.CancelFunc, ctx context.Context) (release func()) {
	released := make(chan struct{})
	go func() {
		select {
		case <-x.cfg.Stopping:
			cancel()
		case <-ctx.Done():
		case <-released:
		}
	}()
	return func() { close(released) }
}

// cutBody gives up reading the client's body when the request ends: else the end would
// wait for the client.
func (x *Extensions) cutBody(ctx context.Context, r *front.Request) (release func()) {
	if r.HTTP.Body == nil || r.HTTP.Body == http.NoBody || r.Upgrade() != "" {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = http.NewResponseController(r.Writer).SetReadDeadline(conns.Past())
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// forwarding is one request on its way to an extension server.
type forwarding struct {
	x       *Extensions
	r       *front.Request
	address string
	err     error // of the connection to the server, before the answer
}

// rewrite makes the request for the extension server: that of the client, with the user
// in headers in place of everything that authenticates the client.
func (f *forwarding) rewrite(p *httputil.ProxyRequest) {
	out, h := p.Out, p.Out.Header
	path := f.r.HTTP.URL.Path
	if asked, _, _ := strings.Cut(f.r.HTTP.RequestURI, "?"); strings.HasSuffix(asked, "/") {
		path += "/" // the router has removed it
	}
	out.URL = &url.URL{Scheme: "https", Host: f.address, Path: path, RawQuery: f.r.HTTP.URL.Query().Encode()}
	out.Host = f.address
	if len(p.In.Header["X-Forwarded-For"]) > 0 {
		h["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	}
	p.SetXForwarded()
	h.Set("X-Forwarded-Uri", path)
	f.x.strip(h)
	setUser(h, f.r.User)
	f.r.NameIn(h)
}

// strip removes everything from the headers of a client by which it was authenticated, or
// by which it could pretend to be somebody else.
func (x *Extensions) strip(h http.Header) {
	h.Del("Authorization")
	for name := range h {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "impersonate-") || strings.HasPrefix(lower, "x-remote-") {
			delete(h, name)
		}
	}
	for _, proxied := range x.cfg.Proxied {
		proxied.Remove(h)
	}
	authn.RemoveProtocolToken(h)
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

// modify prepares the answer of an extension server for the client.
func (f *forwarding) modify(resp *http.Response) error {
	redirects := resp.StatusCode >= 300 && resp.StatusCode <= 399 && resp.StatusCode != http.StatusNotModified && resp.Header.Get("Location") != ""
	switch {
	case f.r.Upgrade() != "" && resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode < 400:
		return fmt.Errorf("invalid upgrade response: status code %d", resp.StatusCode)
	case redirects && !f.x.cfg.ForwardRedirects:
		_ = resp.Body.Close()
		const text = "the backend attempted to redirect this request, which is not permitted"
		resp.StatusCode, resp.Status = http.StatusBadGateway, ""
		resp.Header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		resp.Header.Set("Content-Length", fmt.Sprint(len(text)))
	case resp.StatusCode == http.StatusSwitchingProtocols:
		f.r.Begun(resp.StatusCode)
	case f.r.LongRunning():
		resp.Body = &endingBody{resp.Body, f.x.cfg.Stopping}
	}
	f.r.Headers("")
	if resp.Header.Get("Cache-Control") != "" {
		f.r.Writer.Header().Del("Cache-Control")
	}
	return nil
}

// failed answers a request whose server could not be reached. A failure after the answer
// has begun breaks the connection off.
func (f *forwarding) failed() error {
	switch {
	case f.err == nil:
		return nil
	case errors.Is(f.r.Context.Err(), context.DeadlineExceeded): // the context of the connection has ended too, see cutBody
		return &api.Error{Code: http.StatusGatewayTimeout, Reason: api.ReasonTimeout, HasDetails: true, Message: "the extension server did not answer in time; the request may have taken effect"}
	case f.r.HTTP.Context().Err() != nil:
		return f.r.HTTP.Context().Err()
	}
	text := f.err.Error()
	if f.r.Upgrade() == "" {
		text = "error trying to reach service: " + text
	}
	return refuse(f.r, http.StatusServiceUnavailable, text)
}

// endingBody is the body of a watch: a stop of this server is its proper end.
type endingBody struct {
	io.ReadCloser
	stopping <-chan struct{}
}

func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		select {
		case <-b.stopping:
			err = io.EOF
		default:
		}
	}
	return n, err
}

// answer is the answer to the client: it counts the bytes, and gives up a client that does
// not read a long one.
type answer struct {
	http.ResponseWriter
	r     *front.Request
	guard *conns.Guard // nil for requests with a time limit
}

func (a answer) WriteHeader(code int) {
	if code >= 200 {
		a.r.Begun(code)
	}
	a.ResponseWriter.WriteHeader(code)
}

func (a answer) Write(p []byte) (int, error) {
	defer a.guarded()()
	return a.r.WriteBytes(p)
}

// FlushError is for http.ResponseController.
func (a answer) FlushError() error {
	defer a.guarded()()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

func (a answer) guarded() (end func()) {
	if a.guard == nil {
		return func() {}
	}
	a.guard.Begin()
	return a.guard.End
}

// Unwrap is for http.ResponseController.
func (a answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
