package server_test

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
)

// raw opens a watch directly on a connection, and reads the head of the answer.
func (h *harness) raw(path, protocol string) (net.Conn, *bufio.Reader, *http.Response) {
	h.t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(h.server.URL(), "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "GET %s %s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, protocol, adminToken)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return conn, r, resp
}

// TestWatchConnections: in HTTP/1.1 a watch comes in chunks and is the last
// answer of its connection; HTTP/1.0 has no chunks.
func TestWatchConnections(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	for _, test := range []struct {
		protocol string
		chunked  bool
	}{{"HTTP/1.1", true}, {"HTTP/1.0", false}} {
		_, r, resp := h.raw(configMaps+"?watch=1&timeoutSeconds=1", test.protocol)
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
	conn, r, resp := h.raw(configMaps+"?watch=1&resourceVersion=abc", "HTTP/1.1")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 400 || resp.Close {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", configMaps, adminToken)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 200 {
		t.Errorf("the next request: %v", err)
	}
}

// TestWatchWithoutEvents: the head comes at once, even without events.
func TestWatchWithoutEvents(t *testing.T) {
	for _, h := range []*harness{startServer(t, nil), startServer(t, nil).http2()} {
		h.watch(configMaps + "?watch=1") // returns with the head
		r := h.send("HEAD", configMaps+"?watch=1", "", nil)
		if r.code != 200 || len(r.body) > 0 {
			t.Errorf("HEAD: %d %s", r.code, r.body)
		}
	}
}

// TestStalledWatches: a client that does not read keeps no history, and learns with its
// next events that its revision was trimmed; a server that stops does not wait for it.
func TestStalledWatches(t *testing.T) {
	c := &clock{start: time.Now()}
	h := startServer(t, func(cfg *server.Config) { cfg.History, cfg.Clock = time.Second, c.now })
	h.create(configMaps, configMap("a", "{}"))
	const large = 14 // objects are larger than the buffers of connections
	text := strings.Repeat("x", 1<<20)
	for i := range large {
		h.create(configMaps, configMap(fmt.Sprintf("large-%02d", i), `{"k":"`+text+`"}`))
	}
	open := func() map[int]*stream {
		h.client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
		streams := map[int]*stream{1: h.watch(configMaps + "?watch=1")}
		h2 := *h
		h2.client = &http.Client{Transport: h.client.Transport.(*http.Transport).Clone()}
		streams[2] = h2.http2().watch(configMaps + "?watch=1")
		for major, s := range streams {
			if s.resp.ProtoMajor != major {
				t.Fatalf("%s, want HTTP %d", s.resp.Proto, major)
			}
			s.expect("ADDED a")
		}
		return streams
	}

	streams := open()
	h.trimmed(c, h.get(configMaps+"?limit=1").field(t, "metadata.resourceVersion").(string))
	for major, s := range streams {
		n := 0
		e := s.next()
		for ; e.Type == "ADDED" && n < large; n++ {
			e = s.next()
		}
		if e.Type != "ERROR" || e.meta.Code != 410 || n == large {
			t.Errorf("HTTP %d: after %d objects %s %.300s", major, n, e.Type, e.Object)
		}
		s.ends()
	}

	open()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- h.server.Shutdown(ctx) }()
	select {
	case <-stopped:
	case <-time.After(15 * time.Second):
		t.Fatal("the server waits for clients that do not read")
	}
}

// TestWatchOfOneObject: a watch of one object does not read the others.
func TestWatchOfOneObject(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	h.create(configMaps, configMap("b", "{}"))
	h.create(strings.Replace(configMaps, "default", "kube-system", 1), configMap("b", "{}"))
	all := h.watch("/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Db")
	all.expect("ADDED b", "ADDED b")
	one := h.watch(configMaps + "?watch=1&fieldSelector=metadata.name%3Db")
	none := h.watch(configMaps + "?watch=1&fieldSelector=metadata.name%3Dc")
	h.create(configMaps, configMap("c", "{}"))
	h.delete(configMaps + "/b")
	one.expect("ADDED b", "DELETED b")
	none.expect("ADDED c")
	all.expect("DELETED b")
	node := h.create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	h.watch("/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dn").expect("ADDED n")
	_ = node
}
