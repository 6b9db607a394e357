package harness

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Socket is a WebSocket as a browser opens it.
type Socket struct {
	t    *testing.T
	Ctx  context.Context
	Conn *websocket.Conn
	Resp *http.Response
}

// Open opens a WebSocket; the headers replace the token.
func (h *Server) Open(path string, protocols []string, header ...string) (*Socket, error) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	h.T.Cleanup(cancel)
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: h.HTTP.Transport}, Subprotocols: protocols, HTTPHeader: http.Header{}}
	if len(header) == 0 {
		header = []string{"Authorization", "Bearer " + AdminToken}
	}
	for i := 0; i+1 < len(header); i += 2 {
		options.HTTPHeader.Set(header[i], header[i+1])
	}
	conn, resp, err := websocket.Dial(ctx, h.Running.URL()+path, options)
	if err != nil {
		return &Socket{Resp: resp}, err
	}
	conn.SetReadLimit(10 << 20)
	h.T.Cleanup(func() { _ = conn.CloseNow() })
	return &Socket{h.T, ctx, conn, resp}, nil
}

// Socket opens a watch over a WebSocket.
func (h *Server) Socket(path string, header ...string) *Socket {
	h.T.Helper()
	s, err := h.Open(path, nil, header...)
	if err != nil {
		h.T.Fatalf("%s: %v", path, err)
	}
	return s
}

// Expect reads messages "ADDED a" and so on.
func (s *Socket) Expect(want ...string) {
	s.t.Helper()
	for _, w := range want {
		kind, text, err := s.Conn.Read(s.Ctx)
		if err != nil {
			s.t.Fatalf("no %s: %v", w, err)
		}
		var e Event
		if err := json.Unmarshal(text, &e); err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
		if err := json.Unmarshal(e.Object, &e.Meta); err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
		if got := e.Type + " " + e.Meta.Metadata.Name; got != w || kind != websocket.MessageText {
			s.t.Fatalf("got %v %s, want the text %s", kind, text, w)
		}
	}
}

// Ends expects that the server closes properly.
func (s *Socket) Ends(want websocket.StatusCode) {
	s.t.Helper()
	_, text, err := s.Conn.Read(s.Ctx)
	if got := websocket.CloseStatus(err); got != want {
		s.t.Fatalf("got %q, status %v, error %v; want status %v", text, got, err, want)
	}
}
