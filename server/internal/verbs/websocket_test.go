package verbs_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/coder/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWebSocket follows objects: one message per event.
func TestWebSocket(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	s := h.Socket(harness.ConfigMaps + "?watch=1")
	other := h.Socket(harness.ConfigMaps + "?watch=1&fieldSelector=metadata.name%3Db")
	h.Create(harness.ConfigMaps, harness.ConfigMap("b", `{"large":"`+strings.Repeat("x", 500<<10)+`"}`))
	h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"k":"v"}}`)
	h.Delete(harness.ConfigMaps + "/b")
	s.Expect("ADDED a", "ADDED b", "MODIFIED a", "DELETED b")
	other.Expect("ADDED b", "DELETED b")
	if got := s.Resp.Header.Get("Sec-WebSocket-Protocol"); got != "" {
		t.Errorf("the protocol is %q, nobody asked for one", got)
	}

	ended := h.Socket(harness.ConfigMaps + "?watch=1&timeoutSeconds=1")
	ended.Expect("ADDED a")
	ended.Ends(websocket.StatusNormalClosure)
	if r := h.Get(harness.ConfigMaps + "?watch=1&resourceVersion=abc"); r.Code != 400 {
		t.Errorf("%d", r.Code)
	}
	if s, err := h.Open(harness.ConfigMaps+"?watch=1&resourceVersion=abc", nil); err == nil || s.Resp.StatusCode != 400 {
		t.Errorf("a wrong watch was opened: %v %v", s.Resp, err)
	}
}

// TestWebSocketBinary reads events of the binary form, which are messages
// without a length of their own.
func TestWebSocketBinary(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	s := h.Socket(harness.ConfigMaps+"?watch=1", "Authorization", "Bearer "+harness.AdminToken, "Accept", harness.BinaryMedia+";stream=watch")
	kind, message, err := s.Conn.Read(s.Ctx)
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
	h := harness.Start(t, nil)
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
		{"token and another", []string{bearer(harness.AdminToken), "base64.binary.k8s.io"}, origin, 101, "base64.binary.k8s.io"},
		{"another and token", []string{"v1.json", bearer(harness.AdminToken)}, origin, 101, "v1.json"},
		{"token only", []string{bearer(harness.AdminToken)}, origin, 401, ""},
		{"unknown token", []string{bearer("nobody"), "v1.json"}, origin, 401, ""},
		{"token of bob", []string{bearer("bob-token"), "v1.json"}, origin, 403, ""},
		{"not a token", []string{"base64url.bearer.authorization.k8s.io.%%%", "v1.json"}, origin, 403, ""}, // anonymous
		{"token in the header", nil, nil, 101, ""},
		{"protocol and header", []string{"v1.json"}, []string{"Authorization", "Bearer " + harness.AdminToken, "Origin", "https://elsewhere.example.org"}, 101, "v1.json"},
	} {
		s, err := h.Open(harness.ConfigMaps+"?watch=1", test.protocols, test.header...)
		if s.Resp == nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := s.Resp.Header.Get("Sec-WebSocket-Protocol"); s.Resp.StatusCode != test.code || got != test.chosen {
			t.Errorf("%s: %d with protocol %q, want %d with %q", test.name, s.Resp.StatusCode, got, test.code, test.chosen)
		}
	}
}

// TestWebSocketHandshake: improper handshakes are refused.
func TestWebSocketHandshake(t *testing.T) {
	h := harness.Start(t, nil)
	for name, header := range map[string][]string{
		"old version": {"Sec-WebSocket-Version", "8", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="},
		"no key":      {"Sec-WebSocket-Version", "13"},
		"bad key":     {"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "short"},
	} {
		r := h.Send("GET", harness.ConfigMaps+"?watch=1", "", nil, append(header, "Connection", "Upgrade", "Upgrade", "websocket")...)
		if r.Code != 400 {
			t.Errorf("%s: %d %s", name, r.Code, r.Body)
		}
	}
}

// TestWebSocketClient: messages of clients are ignored, up to a bound; pings are
// answered; a server that stops closes properly.
func TestWebSocketClient(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	s := h.Socket(harness.ConfigMaps + "?watch=1")
	s.Expect("ADDED a")
	if err := s.Conn.Write(s.Ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	pong := make(chan error, 1)
	go func() { pong <- s.Conn.Ping(s.Ctx) }()
	h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"k":"v"}}`)
	s.Expect("MODIFIED a")
	messages := s.Conn.CloseRead(s.Ctx)
	if err := <-pong; err != nil {
		t.Errorf("no pong: %v", err)
	}

	loud := h.Socket(harness.ConfigMaps + "?watch=1")
	loud.Expect("ADDED a")
	var err error
	for text := make([]byte, 10<<10); err == nil; {
		err = loud.Conn.Write(loud.Ctx, websocket.MessageBinary, text)
	}
	if loud.Ctx.Err() != nil {
		t.Error("a client may talk for ever")
	}

	quiet := h.Socket(harness.ConfigMaps + "?watch=1")
	quiet.Expect("ADDED a")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- h.Running.Shutdown(ctx) }()
	quiet.Ends(websocket.StatusNormalClosure)
	<-messages.Done()
	if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
}
