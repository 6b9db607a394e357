// Package outbound is the way to other servers: it finds the servers behind services of the
// cluster (those of webhooks and of extension servers), connects to the agents of nodes and
// to pods, and sends requests of clients on to all of them, and their answers back. It neither
// follows redirects nor shows anybody the credentials of a client.
package outbound

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Forwarder sends requests on.
type Forwarder struct {
	Log     *slog.Logger
	Sweeper *conns.Sweeper
	// Proxied are the headers that name users, which only this server may set.
	Proxied []authn.ProxyHeaders
	// Stopping is closed when watches have to end.
	Stopping <-chan struct{}
}

// Trip is the way of one request.
type Trip struct {
	Request    *request.Request
	Transports *Transports
	// Rewrite sets the URL of the request that goes out, whose headers have no credentials
	// of the client any more.
	Rewrite func(p *httputil.ProxyRequest)
	// Modify may change the answer, or refuse it with an error; nil for neither.
	Modify func(resp *http.Response) error
}

// Send sends the request of a trip, and the answer to its client. An error is that of the
// connection to the other server, or of Modify, before the answer has begun.
func (f *Forwarder) Send(ctx context.Context, t Trip) (err error) {
	r := t.Request
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to := answer{ResponseWriter: r.Writer, r: r}
	transport := t.Transports.Requests
	if r.Upgrade() != "" {
		transport = t.Transports.Upgrades
	}
	if r.LongRunning() {
		defer f.endWith(cancel, ctx)()
		control := http.NewResponseController(r.Writer)
		_ = control.SetWriteDeadline(time.Time{}) // clears the deadline of short requests
		to.guard = f.Sweeper.Guard(func() { _ = control.SetWriteDeadline(conns.Past()) })
		defer to.guard.Release()
	}
	defer cutBody(ctx, r)()
	end, own := func(int, error) {}, r.Writer.Header().Clone()
	rewrite := func(p *httputil.ProxyRequest) {
		f.strip(p.Out.Header)
		t.Rewrite(p)
		end = tracing.Call(ctx, p.Out.Method, p.Out.URL.String(), p.Out.Header)
	}
	proxy := httputil.ReverseProxy{Rewrite: rewrite, Transport: transport, ModifyResponse: func(resp *http.Response) error { return f.modify(t, resp, own) },
		ErrorLog:     slog.NewLogLogger(f.Log.Handler(), slog.LevelDebug),
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, failed error) { err = failed }}
	if r.LongRunning() {
		proxy.FlushInterval = -1 // at once
	}
	proxy.ServeHTTP(to, r.HTTP.WithContext(ctx))
	end(r.Status, err)
	return err
}

// endWith cancels a long-running request when the server stops.
func (f *Forwarder) endWith(cancel context.CancelFunc, ctx context.Context) (release func()) {
	released := make(chan struct{})
	go func() {
		select {
		case <-f.Stopping:
			cancel()
		case <-ctx.Done():
		case <-released:
		}
	}()
	return func() { close(released) }
}

// cutBody gives up reading the client's body when the request ends: else the end would
// wait for the client.
func cutBody(ctx context.Context, r *request.Request) (release func()) {
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

// strip removes everything from the headers of a client by which it was authenticated, or
// by which it could pretend to be somebody else.
func (f *Forwarder) strip(h http.Header) {
	h.Del("Authorization")
	for name := range h {
		if plain := authn.PlainHeader(name); strings.HasPrefix(plain, "impersonate-") || strings.HasPrefix(plain, "x-remote-") {
			delete(h, name)
		}
	}
	for _, proxied := range f.Proxied {
		proxied.Remove(h)
	}
	authn.RemoveProtocolToken(h)
}

// modify prepares an answer for the client. own are the headers that this server has given
// the answer: interim answers of the other server clear them (net/http/httputil does).
func (f *Forwarder) modify(t Trip, resp *http.Response, own http.Header) error {
	r := t.Request
	if r.Upgrade() != "" && resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode < 400 {
		return fmt.Errorf("invalid upgrade response: status code %d", resp.StatusCode)
	}
	if t.Modify != nil {
		if err := t.Modify(resp); err != nil {
			return err
		}
	}
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		r.Begun(resp.StatusCode)
	case r.LongRunning():
		resp.Body = &endingBody{resp.Body, f.Stopping}
	}
	maps.Copy(r.Writer.Header(), own)
	request.DropOwn(resp.Header)
	r.Headers("")
	if resp.Header.Get("Cache-Control") != "" {
		r.Writer.Header().Del("Cache-Control")
	}
	return nil
}

// Redirects reports whether an answer sends the client elsewhere.
func Redirects(resp *http.Response) bool {
	return resp.StatusCode >= 300 && resp.StatusCode <= 399 && resp.StatusCode != http.StatusNotModified && resp.Header.Get("Location") != ""
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
	r     *request.Request
	guard *conns.Guard // nil for requests with a time limit
}

// WriteHeader begins the answer. Interim answers are not passed on, as in 1.25: they would
// be without the headers of this server.
func (a answer) WriteHeader(code int) {
	if code < 200 {
		return
	}
	a.r.Begun(code)
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
