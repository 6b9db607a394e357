package verbs_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// raw opens a watch directly on a connection, and reads the head of the answer.
func raw(h *harness.Server, path, protocol string) (net.Conn, *bufio.Reader, *http.Response) {
	h.T.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(h.Running.URL(), "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "GET %s %s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, protocol, harness.AdminToken)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		h.T.Fatal(err)
	}
	return conn, r, resp
}

// TestWatchConnections: in HTTP/1.1 a watch comes in chunks and is the last
// answer of its connection; HTTP/1.0 has no chunks.
func TestWatchConnections(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	for _, test := range []struct {
		protocol string
		chunked  bool
	}{{"HTTP/1.1", true}, {"HTTP/1.0", false}} {
		_, r, resp := raw(h, harness.ConfigMaps+"?watch=1&timeoutSeconds=1", test.protocol)
		if resp.StatusCode != 200 || len(resp.TransferEncoding) > 0 != test.chunked || !resp.Close || resp.Header.Get("Date") == "" ||
			resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Cache-Control") != "no-cache, private" {
			t.Errorf("%s: %d %v %v", test.protocol, resp.StatusCode, resp.TransferEncoding, resp.Header)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasPrefix(string(text), `{"type":"ADDED"`) || strings.Count(string(text), "\n") != 1 {
			t.Errorf("%s: %q %v", test.protocol, text, err)
		}
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q follows, error %v", test.protocol, rest, err)
		}
	}
	// A refused watch leaves the connection to others.
	conn, r, resp := raw(h, harness.ConfigMaps+"?watch=1&resourceVersion=abc", "HTTP/1.1")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 400 || resp.Close {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", harness.ConfigMaps, harness.AdminToken)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 200 {
		t.Errorf("the next request: %v", err)
	}
}

// TestWatchWithoutEvents: the head comes at once, even without events.
func TestWatchWithoutEvents(t *testing.T) {
	for _, h := range []*harness.Server{harness.Start(t, nil), harness.Start(t, nil).HTTP2()} {
		h.Watch(harness.ConfigMaps + "?watch=1") // returns with the head
		r := h.Send("HEAD", harness.ConfigMaps+"?watch=1", "", nil)
		if r.Code != 200 || len(r.Body) > 0 {
			t.Errorf("HEAD: %d %s", r.Code, r.Body)
		}
	}
}

// TestStalledWatches: a client that does not read keeps no history, and learns with its
// next events that its revision was trimmed; a server that stops does not wait for it.
func TestStalledWatches(t *testing.T) {
	c := &harness.Clock{Start: time.Now()}
	h := harness.Start(t, func(cfg *server.Config) { cfg.History, cfg.Clock = time.Second, c.Now })
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	const large = 14 // objects are larger than the buffers of connections
	text := strings.Repeat("x", 1<<20)
	for i := range large {
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("large-%02d", i), `{"k":"`+text+`"}`))
	}
	open := func() map[int]*harness.Stream {
		h.HTTP.Transport.(*http.Transport).ForceAttemptHTTP2 = false
		streams := map[int]*harness.Stream{1: h.Watch(harness.ConfigMaps + "?watch=1")}
		h2 := *h
		h2.HTTP = &http.Client{Transport: h.HTTP.Transport.(*http.Transport).Clone()}
		streams[2] = h2.HTTP2().Watch(harness.ConfigMaps + "?watch=1")
		for major, s := range streams {
			if s.Resp.ProtoMajor != major {
				t.Fatalf("%s, want HTTP %d", s.Resp.Proto, major)
			}
			s.Expect("ADDED a")
		}
		return streams
	}

	streams := open()
	trimmed(h, c, h.Get(harness.ConfigMaps+"?limit=1").Field(t, "metadata.resourceVersion").(string))
	for major, s := range streams {
		n := 0
		e := s.Next()
		for ; e.Type == "ADDED" && n < large; n++ {
			e = s.Next()
		}
		if e.Type != "ERROR" || e.Meta.Code != 410 || n == large {
			t.Errorf("HTTP %d: after %d objects %s %.300s", major, n, e.Type, e.Object)
		}
		s.Ends()
	}

	open()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- h.Running.Shutdown(ctx) }()
	select {
	case <-stopped:
	case <-time.After(15 * time.Second):
		t.Fatal("the server waits for clients that do not read")
	}
}

// TestWatchOfOneObject: a watch of one object does not read the others.
func TestWatchOfOneObject(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	h.Create(harness.ConfigMaps, harness.ConfigMap("b", "{}"))
	h.Create(strings.Replace(harness.ConfigMaps, "default", "kube-system", 1), harness.ConfigMap("b", "{}"))
	all := h.Watch("/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Db")
	all.Expect("ADDED b", "ADDED b")
	one := h.Watch(harness.ConfigMaps + "?watch=1&fieldSelector=metadata.name%3Db")
	none := h.Watch(harness.ConfigMaps + "?watch=1&fieldSelector=metadata.name%3Dc")
	h.Create(harness.ConfigMaps, harness.ConfigMap("c", "{}"))
	h.Delete(harness.ConfigMaps + "/b")
	one.Expect("ADDED b", "DELETED b")
	none.Expect("ADDED c")
	all.Expect("DELETED b")
	node := h.Create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	h.Watch("/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dn").Expect("ADDED n")
	_ = node
}
