package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/coder/websocket"
)

// A WebSocket goes through to an extension server, with its protocol and whole messages
// both ways, until either side closes it.
func TestExtensionWebSocket(t *testing.T) {
	h := startServer(t, soon)
	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v4.channel.k8s.io"}, InsecureSkipVerify: true})
		if err != nil {
			t.Error(err)
			return
		}
		conn.SetReadLimit(1 << 20)
		kind, text, err := conn.Read(r.Context())
		if err == nil {
			err = conn.Write(r.Context(), kind, fmt.Append(nil, r.Header.Get("X-Remote-User"), len(text)))
		}
		if err != nil {
			t.Error(err)
		}
		_ = conn.Close(4000, "enough")
	})
	h.register(x)
	s, err := h.open(wardle+"/namespaces/default/flunders/a/exec", []string{"v4.channel.k8s.io"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.conn.Write(s.ctx, websocket.MessageBinary, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	kind, text, err := s.conn.Read(s.ctx)
	if err != nil || kind != websocket.MessageBinary || string(text) != "admin100000" || s.conn.Subprotocol() != "v4.channel.k8s.io" {
		t.Errorf("%v %q %v, protocol %q", kind, text, err, s.conn.Subprotocol())
	}
	if _, _, err := s.conn.Read(s.ctx); websocket.CloseStatus(err) != 4000 {
		t.Errorf("the end: %v", err)
	}
}
