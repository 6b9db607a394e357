package extensions_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// TestHostileExtensionServers: a server that misbehaves costs its own requests only, and
// gets the client nowhere else.
func TestHostileExtensionServers(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { harness.Soon(c); c.RequestTimeout = 2 * time.Second })
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {})
	h.Register(x)
	const path = harness.Wardle + "/namespaces/default/flunders"
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		code   int // 0 for an answer that is broken off
		text   string
	}{
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/latest/meta-data", http.StatusFound)
		}, 502, "the backend attempted to redirect this request, which is not permitted"},
		{"permanent redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
		}, 502, "not permitted"},
		{"not modified", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) }, 304, ""},
		{"slow", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		}, 504, "did not answer in time"},
		{"cut in the middle", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 0, ""},
		{"cut before the answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 503, "error trying to reach service: "},
		{"huge headers", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Huge", strings.Repeat("x", 2<<20)) }, 503, ""},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}, 0, ""},
		{"a status that HTTP does not have", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(999) }, 999, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x.Answers(c.answer)
			req, _ := http.NewRequest("GET", h.Running.URL()+path, nil)
			req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
			resp, err := h.HTTP.Transport.RoundTrip(req)
			if err == nil {
				defer resp.Body.Close()
				var text []byte
				if text, err = io.ReadAll(resp.Body); err == nil && (resp.StatusCode != c.code || !bytes.Contains(text, []byte(c.text))) {
					t.Errorf("%d %s", resp.StatusCode, text)
				}
			}
			if (err != nil) != (c.code == 0) {
				t.Error(err)
			}
			h.Get("/api/v1/namespaces").Expect(t, 200, "")
		})
	}
	x.Answers(func(w http.ResponseWriter, r *http.Request) {})
	for name, c := range map[string]struct {
		spec string
		code int
		text string
	}{
		"another authority": {`"caBundle":"` + base64.StdEncoding.EncodeToString(harness.Certificates(t).CA) + `"`, 503, "certificate signed by unknown authority"},
		"no authority":      {`"caBundle":""`, 503, "certificate signed by unknown authority"},
		"not verified":      {`"insecureSkipTLSVerify":true`, 200, ""},
		"garbage":           {`"caBundle":"` + base64.StdEncoding.EncodeToString([]byte("garbage")) + `"`, 500, "unable to load root certificates"},
	} {
		h.Delete(harness.Registrations + "/v1alpha1.wardle.example.com")
		h.Create(harness.Registrations, x.Registration(c.spec))
		h.AwaitAvailable("True", "Passed")
		t.Log(name)
		h.AwaitText(path, c.text) // a check that fails on a busy machine makes it unavailable for a moment
		h.AwaitCode(path, c.code)
	}
}

// TestStalledExtensionServer: requests for a server that does not answer are bounded, and
// others are served.
func TestStalledExtensionServer(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.Soon(c)
		c.MaxRequestsInflight = 4
		c.AuthorizationModes = []string{"AlwaysAllow"}
	})
	ended := make(chan struct{})
	arrived := make(chan struct{}, 100)
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	})
	h.Register(x)
	ctx, cancel := context.WithCancel(t.Context())
	var replies []<-chan harness.Reply
	for range 50 { // bob's share of the places
		req, _ := http.NewRequestWithContext(ctx, "GET", h.Running.URL()+harness.Wardle+"/flunders", nil)
		req.Header.Set("Authorization", "Bearer bob-token")
		done := make(chan harness.Reply, 1)
		replies = append(replies, done)
		go func() {
			resp, err := h.HTTP.Do(req)
			if err != nil {
				done <- harness.Reply{}
				return
			}
			defer resp.Body.Close()
			done <- harness.Reply{Code: resp.StatusCode}
		}()
		soonest(t, arrived)
	}
	if got := h.Send("GET", harness.Wardle+"/flunders", "", nil, "Authorization", "Bearer bob-token"); got.Code != 429 || got.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", got.Code, got.Body)
	}
	if got := h.Send("GET", "/api/v1/namespaces", "", nil, "Authorization", "Bearer bob-token"); got.Code != 200 {
		t.Errorf("another request: %d %s", got.Code, got.Body)
	}
	close(ended)
	for _, done := range replies {
		if got := soonest(t, done); got.Code != 200 {
			t.Errorf("%d", got.Code)
		}
	}
	cancel()
}

// TestExtensionWatch: a watch of an extension server is sent on as it comes, outlives the
// time limit of requests, and ends properly when the server stops.
func TestExtensionWatch(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) { harness.Soon(c); c.RequestTimeout = time.Second })
			next := make(chan string)
			x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.(http.Flusher).Flush()
				for {
					select {
					case text := <-next:
						_, _ = io.WriteString(w, text)
						w.(http.Flusher).Flush()
					case <-r.Context().Done():
						return
					}
				}
			})
			h.Register(x)
			by := h
			if protocol == "HTTP/2" {
				by = h.HTTP2()
			}
			s := by.Watch(harness.Wardle + "/flunders?watch=true")
			for _, name := range []string{"a", "b", "c"} {
				text := `{"type":"ADDED","object":{"metadata":{"name":"` + name + `"}}}`
				select {
				case next <- text:
				case <-time.After(20 * time.Second):
					t.Fatal("the server does not watch")
				}
				s.Expect("ADDED " + name)
				time.Sleep(400 * time.Millisecond) // past the time limit of other requests
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			go func() { _ = h.Running.Shutdown(ctx) }()
			if rest, err := io.ReadAll(s.Resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("the end: %q, %v", rest, err)
			}
		})
	}
}

// TestExtensionUpgrade: a connection to an extension server may change to another
// protocol.
func TestExtensionUpgrade(t *testing.T) {
	h := harness.Start(t, harness.Soon)
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "SPDY/3.1" || r.URL.Query().Get("refuse") != "" {
			w.WriteHeader(http.StatusOK)
			return
		}
		conn, stream, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(stream, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello %s\n", r.Header.Get("X-Remote-User"))
		_ = stream.Flush()
		line, _ := stream.ReadString('\n')
		_, _ = stream.WriteString("you said " + line)
		_ = stream.Flush()
	})
	h.Register(x)
	for query, want := range map[string]string{"": "HTTP/1.1 101", "?refuse=1": "HTTP/1.1 503"} {
		conn := h.Line("http/1.1", "POST "+harness.Wardle+"/namespaces/default/flunders/a/exec"+query+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+harness.AdminToken+
			"\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n")
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		buffer := make([]byte, 4096)
		text := ""
		for !strings.Contains(text, "hello admin\n") && !strings.Contains(text, "invalid upgrade response: status code 200") {
			n, err := conn.Read(buffer)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			text += string(buffer[:n])
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", query, text)
		}
		if query == "" {
			_, _ = io.WriteString(conn, "bye\n")
			rest, _ := io.ReadAll(conn)
			if string(rest) != "you said bye\n" {
				t.Errorf("%q", rest)
			}
		}
		_ = conn.Close()
	}
}

// soonest is the next value of a channel, for which a test does not wait for ever.
func soonest[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing comes")
	}
	return value
}

// TestExtensionBody: the body of a request is sent on while it arrives, as slowly as the
// client sends it; a body that never ends is given up with its request.
func TestExtensionBody(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.Soon(c)
		c.RequestTimeout, c.AuthorizationModes = 3*time.Second, []string{"AlwaysAllow"}
		harness.Shorten(c, func(d *seams.Durations) { d.Body, d.Owed = 20*time.Millisecond, 20*time.Millisecond })
	})
	got := make(chan string)
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		part := make([]byte, 100)
		for {
			n, err := r.Body.Read(part)
			if n > 0 {
				select {
				case got <- string(part[:n]):
				case <-t.Context().Done():
				}
			}
			if err != nil {
				return
			}
		}
	})
	h.Register(x)
	for _, whole := range []bool{true, false} {
		body, send := io.Pipe()
		answers := h.Begin(t.Context(), "POST", harness.Wardle+"/flunders", body)
		for _, part := range []string{"a", "b"} {
			go func() { _, _ = io.WriteString(send, part) }()
			if text := soonest(t, got); text != part {
				t.Errorf("%q arrives, %q was sent", text, part)
			}
			time.Sleep(60 * time.Millisecond) // longer than the body of another request may take
		}
		want := http.StatusGatewayTimeout
		if whole {
			want = http.StatusOK
			_ = send.Close()
		}
		if answer := soonest(t, answers); answer.Code != want {
			t.Errorf("whole %v: %d %s", whole, answer.Code, answer.Body)
		}
		_ = send.Close()
	}
}
