package extensions_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/coder/websocket"
)

// A WebSocket goes through to an extension server, with its protocol and whole messages
// both ways, until either side closes it.
func TestExtensionWebSocket(t *testing.T) {
	h := harness.Start(t, harness.Soon)
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
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
	h.Register(x)
	s, err := h.Open(harness.Wardle+"/namespaces/default/flunders/a/exec", []string{"v4.channel.k8s.io"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Conn.Write(s.Ctx, websocket.MessageBinary, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	kind, text, err := s.Conn.Read(s.Ctx)
	if err != nil || kind != websocket.MessageBinary || string(text) != "admin100000" || s.Conn.Subprotocol() != "v4.channel.k8s.io" {
		t.Errorf("%v %q %v, protocol %q", kind, text, err, s.Conn.Subprotocol())
	}
	if _, _, err := s.Conn.Read(s.Ctx); websocket.CloseStatus(err) != 4000 {
		t.Errorf("the end: %v", err)
	}
}
