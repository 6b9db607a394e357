package serve_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/streamtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestShutdownDelay: during the delay everything but /readyz is served as before.
func TestShutdownDelay(t *testing.T) {
	const delay = 3 * time.Second
	h := harness.Start(t, func(c *server.Config) { c.ShutdownDelay = delay })
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	w := h.Watch(harness.ConfigMaps + "?watch=1")
	w.Expect("ADDED a")
	begun, stopped := time.Now(), make(chan error, 1)
	go func() { stopped <- h.Running.Shutdown(context.Background()) }()
	for h.Get("/readyz").Code == http.StatusOK {
	}
	h.HTTP.CloseIdleConnections()
	h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"k":"v"}}`)
	w.Expect("MODIFIED a")
	h.Get("/livez").Expect(t, http.StatusOK, "")
	h.Watch(harness.ConfigMaps + "?watch=1").Expect("ADDED a")
	if err := <-stopped; err != nil || time.Since(begun) < delay {
		t.Errorf("stopped after %s: %v", time.Since(begun), err)
	}
	w.Ends()
}

// TestDraining: while the last accepted request goes on, others are refused, on new
// connections too.
func TestDraining(t *testing.T) {
	t.Run("ServiceUnavailable", func(t *testing.T) { testDraining(t, http.StatusServiceUnavailable, "1", "ServiceUnavailable", "") })
	t.Run("TooManyRequests", func(t *testing.T) {
		testDraining(t, http.StatusTooManyRequests, "5", "", "The apiserver is shutting down, please try again later.\n")
	})
}

// testDraining expects refusals with a code, a header Retry-After, and a reason in a Status
// or a plain text.
func testDraining(t *testing.T, code int, after, reason, text string) {
	h := harness.Start(t, func(c *server.Config) { c.ShutdownSendRetryAfter = code == http.StatusTooManyRequests })
	held := make(chan harness.Reply, 1)
	go func() {
		h := &harness.Server{T: t, Running: h.Running, HTTP: h.HTTP}
		held <- h.Get(harness.ConfigMaps + "?resourceVersion=1000000")
	}()
	const reading = `apiserver_current_inflight_requests{request_kind="readOnly"`
	for h.Figures()[reading] != "2" { // including this request
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.Running.Shutdown(context.Background()) }()
	h.HTTP = &http.Client{Transport: h.HTTP.Transport.(*http.Transport).Clone()}
	h.HTTP.Transport.(*http.Transport).DisableKeepAlives = true
	refused := h.Get(harness.ConfigMaps)
	for refused.Code == http.StatusOK {
		refused = h.Get(harness.ConfigMaps)
	}
	refused.Expect(t, code, reason)
	if got := refused.Header.Get("Retry-After"); got != after || text != "" && string(refused.Body) != text {
		t.Errorf("refused until %q: %s", got, refused.Body)
	}
	h.Get("/readyz").Expect(t, http.StatusInternalServerError, "")
	h.Run(t, []harness.Step{{"the failing check", "GET", "/readyz/shutdown", "", "", http.StatusInternalServerError, "internal server error: process is shutting down"}})
	for _, path := range []string{"/livez", "/livez/ping", "/healthz", "/healthz?verbose", "/metrics"} {
		h.Get(path).Expect(t, http.StatusOK, "")
	}
	for _, path := range []string{"/version", "/api", "/openapi/v2", "/debug/pprof/", "/nothing"} {
		h.Get(path).Expect(t, code, reason)
	}
	last := <-held
	last.Expect(t, http.StatusGatewayTimeout, "Timeout")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestGoaway: an HTTP/2 client has to connect again now and then, whatever it asks for; no
// request is lost. One of HTTP/1 does not.
func TestGoaway(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.GoawayChance = 0.02 })
	old := harness.Start(t, func(c *server.Config) { c.GoawayChance = 0.02 })
	h.HTTP2()
	const most = 2000 // one connection serves as many requests with a probability of 1e-17
	for _, c := range []struct {
		name, method, path, body, token string
		code                            int
		of                              *harness.Server
		again                           bool
	}{
		{"no resource", "GET", "/version", "", "", 200, h, true},
		{"health", "GET", "/readyz", "", "", 200, h, true},
		{"get", "GET", "/api/v1/namespaces/default", "", "", 200, h, true},
		{"list", "GET", "/api/v1/namespaces", "", "", 200, h, true},
		{"watch", "GET", "/api/v1/namespaces?watch=1", "", "", 200, h, true},
		{"create", "POST", "/api/v1/namespaces?dryRun=All", `{"metadata":{"name":"n"}}`, "", 201, h, true},
		{"unknown path", "GET", "/unknown", "", "", 404, h, true},
		{"unknown user", "GET", "/version", "", "wrong", 401, h, true},
		{"HTTP/1", "GET", "/version", "", "", 200, old, false},
	} {
		addresses := map[string]bool{}
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { addresses[c.Conn.LocalAddr().String()] = true }})
		for n := 0; n < most && len(addresses) < 2; n++ {
			req, _ := http.NewRequestWithContext(ctx, c.method, c.of.Running.URL()+c.path, strings.NewReader(c.body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+cmp.Or(c.token, harness.AdminToken))
			resp, err := c.of.HTTP.Do(req)
			if err != nil {
				t.Fatal(c.name, err)
			}
			if resp.StatusCode != c.code {
				t.Fatalf("%s: %d", c.name, resp.StatusCode)
			}
			if c.name != "watch" { // which does not end
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			_ = resp.Body.Close()
		}
		if again := len(addresses) > 1; again != c.again {
			t.Errorf("%s: connects again %v, want %v", c.name, again, c.again)
		}
	}
}

// TestShutdownOfAll: everything open when the server stops ends soon: watches properly,
// incomplete requests with a refusal, and the server waits only for an answer that the
// client does not read, up to its time-out. Then closing TLS to clients that do not read
// takes no time.
func TestShutdownOfAll(t *testing.T) {
	h := harness.Start(t, harness.EverybodyMay)
	text := strings.Repeat("x", 40<<10)
	for i := range 300 {
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("large-%03d", i), `{"k":"`+text+`"}`))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ended := make(chan error)
	for _, transport := range streamtest.Transports {
		s, err := streamtest.Open(ctx, target(h), streamtest.Watch{Transport: transport, Path: "/api/v1/nodes?watch=1"})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := s.All()
			ended <- err
		}()
	}
	uploads := []<-chan harness.Reply{h.Begin(ctx, "POST", harness.ConfigMaps, dribble{ctx})}
	h2 := *h
	h2.HTTP = &http.Client{Transport: h.HTTP.Transport.(*http.Transport).Clone()}
	h2.HTTP2()
	uploads = append(uploads, h2.Begin(ctx, "POST", harness.ConfigMaps, dribble{ctx}))
	for range 4 {
		slow := h.Line("http/1.1", "GET "+harness.ConfigMaps+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bob-token\r\n\r\n")
		if _, err := slow.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	h.Line("h2", noWindow()+http2Request(1, "/version"))

	soon, hurry := context.WithCancel(ctx)
	defer hurry()
	stopped := make(chan error, 1)
	go func() { stopped <- h.Running.Shutdown(soon) }()
	for range streamtest.Transports {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for _, answer := range uploads {
		got := <-answer
		got.Expect(t, http.StatusServiceUnavailable, "ServiceUnavailable")
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped before all answers were taken: %v", err)
	default:
	}
	begun := time.Now()
	hurry()
	<-stopped
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("the stop took %s from when it was to hurry", took)
	}
}
