package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// socket is a WebSocket as a browser opens it.
type socket struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
	resp *http.Response
}

// open opens a WebSocket; the headers replace the token.
func (h *harness) open(path string, protocols []string, header ...string) (*socket, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	h.t.Cleanup(cancel)
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: h.client.Transport}, Subprotocols: protocols, HTTPHeader: http.Header{}}
	if len(header) == 0 {
		header = []string{"Authorization", "Bearer " + adminToken}
	}
	for i := 0; i+1 < len(header); i += 2 {
		options.HTTPHeader.Set(header[i], header[i+1])
	}
	conn, resp, err := websocket.Dial(ctx, h.server.URL()+path, options)
	if err != nil {
		return &socket{resp: resp}, err
	}
	conn.SetReadLimit(10 << 20)
	h.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{h.t, ctx, conn, resp}, nil
}

func (h *harness) socket(path string, header ...string) *socket {
	h.t.Helper()
	s, err := h.open(path, nil, header...)
	if err != nil {
		h.t.Fatalf("%s: %v", path, err)
	}
	return s
}

// expect reads messages "ADDED a" and so on.
func (s *socket) expect(want ...string) {
	s.t.Helper()
	for _, w := range want {
		kind, text, err := s.conn.Read(s.ctx)
		if err != nil {
			s.t.Fatalf("no %s: %v", w, err)
		}
		var e event
		if err := json.Unmarshal(text, &e); err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
		if err := json.Unmarshal(e.Object, &e.meta); err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
		if got := e.Type + " " + e.meta.Metadata.Name; got != w || kind != websocket.MessageText {
			s.t.Fatalf("got %v %s, want the text %s", kind, text, w)
		}
	}
}

// ends expects that the server closes properly.
func (s *socket) ends(want websocket.StatusCode) {
	s.t.Helper()
	_, text, err := s.conn.Read(s.ctx)
	if got := websocket.CloseStatus(err); got != want {
		s.t.Fatalf("got %q, status %v, error %v; want status %v", text, got, err, want)
	}
}

// TestWebSocket follows objects: one message per event.
func TestWebSocket(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	s := h.socket(configMaps + "?watch=1")
	other := h.socket(configMaps + "?watch=1&fieldSelector=metadata.name%3Db")
	h.create(configMaps, configMap("b", `{"large":"`+strings.Repeat("x", 500<<10)+`"}`))
	h.patch(configMaps+"/a", `{"data":{"k":"v"}}`)
	h.delete(configMaps + "/b")
	s.expect("ADDED a", "ADDED b", "MODIFIED a", "DELETED b")
	other.expect("ADDED b", "DELETED b")
	if got := s.resp.Header.Get("Sec-WebSocket-Protocol"); got != "" {
		t.Errorf("the protocol is %q, nobody asked for one", got)
	}

	ended := h.socket(configMaps + "?watch=1&timeoutSeconds=1")
	ended.expect("ADDED a")
	ended.ends(websocket.StatusNormalClosure)
	if r := h.get(configMaps + "?watch=1&resourceVersion=abc"); r.code != 400 {
		t.Errorf("%d", r.code)
	}
	if s, err := h.open(configMaps+"?watch=1&resourceVersion=abc", nil); err == nil || s.resp.StatusCode != 400 {
		t.Errorf("a wrong watch was opened: %v %v", s.resp, err)
	}
}

// TestWebSocketBinary reads events of the binary form, which are messages
// without a length of their own.
func TestWebSocketBinary(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	s := h.socket(configMaps+"?watch=1", "Authorization", "Bearer "+adminToken, "Accept", binaryMedia+";stream=watch")
	kind, message, err := s.conn.Read(s.ctx)
	if err != nil || kind != websocket.MessageBinary {
		t.Fatalf("%v %q %v", kind, message, err)
	}
	var e metav1.WatchEvent
	if err := e.Unmarshal(message); err != nil || e.Type != "ADDED" || !strings.HasPrefix(string(e.Object.Raw), "k8s\x00") {
		t.Errorf("%v: %s %q", err, e.Type, e.Object.Raw)
	}
}

// TestWebSocketProtocols: a token among them is not sent back, another protocol is
// chosen.
func TestWebSocketProtocols(t *testing.T) {
	h := startServer(t, nil)
	bearer := func(token string) string {
		return "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	}
	origin := []string{"Origin", "https://elsewhere.example.org"}
	for _, test := range []struct {
		name      string
		protocols []string
		header    []string
		code      int
		chosen    string
	}{
		{"token and another", []string{bearer(adminToken), "base64.binary.k8s.io"}, origin, 101, "base64.binary.k8s.io"},
		{"another and token", []string{"v1.json", bearer(adminToken)}, origin, 101, "v1.json"},
		{"token only", []string{bearer(adminToken)}, origin, 401, ""},
		{"unknown token", []string{bearer("nobody"), "v1.json"}, origin, 401, ""},
		{"token of bob", []string{bearer("bob-token"), "v1.json"}, origin, 403, ""},
		{"not a token", []string{"base64url.bearer.authorization.k8s.io.%%%", "v1.json"}, origin, 403, ""}, // anonymous
		{"token in the header", nil, nil, 101, ""},
		{"protocol and header", []string{"v1.json"}, []string{"Authorization", "Bearer " + adminToken, "Origin", "https://elsewhere.example.org"}, 101, "v1.json"},
	} {
		s, err := h.open(configMaps+"?watch=1", test.protocols, test.header...)
		if s.resp == nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := s.resp.Header.Get("Sec-WebSocket-Protocol"); s.resp.StatusCode != test.code || got != test.chosen {
			t.Errorf("%s: %d with protocol %q, want %d with %q", test.name, s.resp.StatusCode, got, test.code, test.chosen)
		}
	}
}

// TestWebSocketHandshake: improper handshakes are refused.
func TestWebSocketHandshake(t *testing.T) {
	h := startServer(t, nil)
	for name, header := range map[string][]string{
		"old version": {"Sec-WebSocket-Version", "8", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="},
		"no key":      {"Sec-WebSocket-Version", "13"},
		"bad key":     {"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "short"},
	} {
		r := h.send("GET", configMaps+"?watch=1", "", nil, append(header, "Connection", "Upgrade", "Upgrade", "websocket")...)
		if r.code != 400 {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
	}
}

// TestWebSocketClient: messages of clients are ignored, up to a bound; pings are
// answered; a server that stops closes properly.
func TestWebSocketClient(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", "{}"))
	s := h.socket(configMaps + "?watch=1")
	s.expect("ADDED a")
	if err := s.conn.Write(s.ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	pong := make(chan error, 1)
	go func() { pong <- s.conn.Ping(s.ctx) }()
	h.patch(configMaps+"/a", `{"data":{"k":"v"}}`)
	s.expect("MODIFIED a")
	messages := s.conn.CloseRead(s.ctx)
	if err := <-pong; err != nil {
		t.Errorf("no pong: %v", err)
	}

	loud := h.socket(configMaps + "?watch=1")
	loud.expect("ADDED a")
	var err error
	for text := make([]byte, 10<<10); err == nil; {
		err = loud.conn.Write(loud.ctx, websocket.MessageBinary, text)
	}
	if loud.ctx.Err() != nil {
		t.Error("a client may talk for ever")
	}

	quiet := h.socket(configMaps + "?watch=1")
	quiet.expect("ADDED a")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- h.server.Shutdown(ctx) }()
	quiet.ends(websocket.StatusNormalClosure)
	<-messages.Done()
	if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
}
