package stream

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/conns"
)

// IsWebSocket reports whether the client, usually a browser, requests a WebSocket (RFC
// 6455).
func IsWebSocket(r *http.Request) bool {
	return hasToken(r.Header["Connection"], "upgrade") && hasToken(r.Header["Upgrade"], "websocket")
}

// hasToken looks for a word in comma-separated header values, in any case.
func hasToken(values []string, word string) bool {
	for _, v := range values {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), word) {
				return true
			}
		}
	}
	return false
}

// SameOrigin refuses a page of another site that would use credentials which the browser
// adds by itself, a client certificate. A token comes from the user; a client without an
// Origin is not a browser.
func SameOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || r.Header.Get("Authorization") != "" || authn.ProtocolToken(r) != "" {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return &api.Error{Code: http.StatusForbidden, Reason: api.ReasonForbidden,
		Message: "a page of " + origin + " may open a WebSocket here only with a bearer token of its own"}
}

// Messages is the sink of a WebSocket: one message for each frame. Messages of the client
// are ignored, up to a bound; pings are answered.
type Messages struct {
	sent *int64
	conn *websocket.Conn
	ctx  context.Context // ends when the client is gone
	gone context.CancelFunc
	kind websocket.MessageType
	skip int // bytes of a frame's length, which a message has by itself
}

// Frames says how frames become messages: as text or binary ones, without the bytes of a
// frame's length, which a message has by itself.
type Frames struct {
	Binary bool
	Length int // bytes at the beginning
}

// Accept makes a WebSocket of a request. The bytes of messages are added to sent. An error has
// been answered, with 400.
func (s *Streams) Accept(w http.ResponseWriter, r *http.Request, frames Frames, sent *int64) (*Messages, error) {
	options := &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled}
	if p := authn.OtherProtocol(r); p != "" {
		options.Subprotocols = []string{p}
	}
	conn, err := websocket.Accept(w, r, options)
	if err != nil {
		return nil, err
	}
	m := &Messages{sent: sent, conn: conn, kind: websocket.MessageText, skip: frames.Length}
	if frames.Binary {
		m.kind = websocket.MessageBinary
	}
	m.ctx, m.gone = context.WithCancel(context.Background())
	go m.listen()
	go m.askFor(s.ping)
	return m, nil
}

// Context ends when the client is gone.
func (m *Messages) Context() context.Context { return m.ctx }

// Close breaks off the connection, unless End has closed it.
func (m *Messages) Close() {
	m.gone()
	_ = m.conn.CloseNow()
}

// listen waits for the client to go.
func (m *Messages) listen() {
	defer m.gone()
	for left := int64(mostIgnored); left > 0; {
		_, text, err := m.conn.Reader(m.ctx)
		if err != nil {
			return
		}
		n, err := io.Copy(io.Discard, text)
		if err != nil {
			return
		}
		left -= n + 1
	}
}

// askFor pings a client after each pause, since it is normally silent.
func (m *Messages) askFor(pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(m.ctx, pause)
			err := m.conn.Ping(ctx)
			cancel()
			if err != nil {
				m.gone()
				return
			}
		}
	}
}

func (m *Messages) Add(frame []byte) error {
	if err := m.conn.Write(m.ctx, m.kind, frame[m.skip:]); err != nil {
		return &conns.GoneError{Cause: err}
	}
	*m.sent += int64(len(frame) - m.skip)
	return nil
}

func (m *Messages) Flush() error { return nil }

func (m *Messages) End() {
	if m.ctx.Err() == nil {
		_ = m.conn.Close(websocket.StatusNormalClosure, "") // the client may be gone
	} else {
		_ = m.conn.CloseNow()
	}
}
