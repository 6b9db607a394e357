package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// bob is the user of every request.
type bob struct{}

func (bob) Authenticate(*http.Request) (*authn.Identity, error) {
	return &authn.Identity{User: &authn.User{Name: "bob"}}, nil
}

// frame makes the paths of a handler without resources, whose user is bob, who may do
// everything. The log has what it logs.
func frame(log io.Writer) (*Handler, *paths) {
	logger := slog.New(slog.NewTextHandler(log, nil))
	may := authz.Func(func(context.Context, *authz.Attributes) (authz.Decision, string, error) { return authz.Allow, "", nil })
	bounds := request.Requests{}
	bounds.SetDefaults()
	known := catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta())
	limits := request.NewLimits(10, 10, 1<<20)
	figures := metrics.New(metrics.Sources{Mutating: limits.Mutating.InUse.Load, Reading: limits.Reading.InUse.Load, Stats: func() store.Stats { return store.Stats{} }})
	env := request.New(request.Config{Log: logger, Clock: time.Now, Requests: bounds, Catalog: known, Authz: may, Limits: limits,
		Metrics: figures, Sweeper: conns.NewSweeper(time.Minute, time.Minute)})
	h := &Handler{cfg: Config{RequestTimeout: time.Minute, Authn: bob{}, Authz: may}, log: logger, env: env, catalog: known, frame: echo.New()}
	p := &paths{Echo: h.frame, env: env, run: h.run()}
	p.at("/*", func(context.Context, *url.URL) request.Target { return request.Target{} })
	return h, p
}

// TestPanicIsAnswered: a panic becomes a 500 with a Status, is logged, and the handler
// lives on.
func TestPanicIsAnswered(t *testing.T) {
	var log bytes.Buffer
	h, p := frame(&log)
	p.fixed("/panics", request.Target{Endpoint: func(*request.Request) error { panic("a bug") }, AlwaysServed: true})
	p.fixed("/works", request.Target{Endpoint: func(r *request.Request) error { return r.Send(http.StatusOK, "text/plain", []byte("ok")) }, AlwaysServed: true})
	send := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	w := send("/panics")
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"kind":"Status"`) {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), "a bug") {
		t.Error("the client was told of the panic's inside")
	}
	if text := log.String(); !strings.Contains(text, "a bug") || !strings.Contains(text, "stages_test.go") {
		t.Errorf("the log does not say what panicked and where: %s", text)
	}
	if w := send("/works"); w.Code != http.StatusOK {
		t.Errorf("after the panic: %d %s", w.Code, w.Body)
	}
}

// TestPanicInRest: a panic after the verb has returned is logged, the client sees that the
// answer is not whole, and the request has ended.
func TestPanicInRest(t *testing.T) {
	var log bytes.Buffer
	h, p := frame(&log)
	p.fixed("/breaks", request.Target{Endpoint: func(r *request.Request) error {
		r.Head(http.StatusOK, "text/plain")
		w := r.Writer
		r.Rest = func() {
			_, _ = io.WriteString(w, "the first part")
			panic("a bug")
		}
		return nil
	}, AlwaysServed: true, OwnRepresentation: true})
	at := httptest.NewUnstartedServer(h)
	at.EnableHTTP2 = true
	at.StartTLS()
	defer at.Close()
	resp, err := at.Client().Get(at.URL + "/breaks")
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
			t.Fatalf("answered %s %s", resp.Proto, resp.Status)
		}
		_, err = io.ReadAll(resp.Body)
	}
	if err == nil {
		t.Error("the answer seems whole")
	}
	h.env.Intake.Close()
	h.env.Intake.Drain(t.Context())
	if text := log.String(); !strings.Contains(text, "a bug") || !strings.Contains(text, "stages_test.go") {
		t.Errorf("the log does not say what panicked and where: %s", text)
	}
}

// TestEveryPathHasARoute: whatever a client sends as a path, all stages see the request.
func TestEveryPathHasARoute(t *testing.T) {
	h, p := frame(io.Discard)
	p.fixed("/healthz", request.Target{Endpoint: func(r *request.Request) error { return r.Send(http.StatusOK, "text/plain", []byte("all")) }, AlwaysServed: true})
	p.below("/healthz/", func(rest string) request.Target {
		return request.Target{Endpoint: func(r *request.Request) error { return r.Send(http.StatusOK, "text/plain", []byte(rest)) }, AlwaysServed: true}
	})
	for path, want := range map[string]string{
		"/healthz": "all", "/healthz/": "404", "/healthz/a": "a", "/healthz/a/b/": "a/b/", "/healthz//": "/", "/healthz/%2f": "%2f", "/healthz/:x/*": ":x/*",
		"/": "404", "": "404", "*": "404", "//": "404", "//healthz": "404", "/health": "404", "/healthzz": "404", "/Healthz": "404", "/ä": "404", "/healthz%2f": "404",
		"healthz": "all", "/:a": "404", "/*": "404", "/*/x": "404",
	} {
		q := httptest.NewRequest(http.MethodPatch, "/", nil)
		q.URL = &url.URL{Path: path}
		if text, err := url.PathUnescape(path); err == nil && text != path {
			q.URL = &url.URL{Path: text, RawPath: path}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if got := w.Body.String(); want == "404" && w.Code != http.StatusNotFound || want != "404" && got != want {
			t.Errorf("%q answered %d %q, want %q", path, w.Code, got, want)
		}
	}
}
