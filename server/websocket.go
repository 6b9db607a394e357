package server

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
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/server/internal/conns"
)

// isWebSocket reports whether the client, a browser mostly, asks for a WebSocket
// (RFC 6455).
func isWebSocket(r *http.Request) bool {
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

// sameOrigin refuses a page of another site that would use what the browser
// knows by itself, a client certificate. Who sends a token has it from the user;
// who sends no Origin is no browser.
func sameOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || r.Header.Get("Authorization") != "" || authn.ProtocolToken(r) != "" {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return &api.Error{Code: http.StatusForbidden, Reason: api.ReasonForbidden, Message: "a page of " + origin + " may open a WebSocket here only with a bearer token of its own"}
}

// streamMessages lets a watch write the messages of a WebSocket: one of text per
// event, or one of bytes in the binary form. What the client says is ignored, up
// to a bound; pings are answered.
func (s *Server) streamMessages(r *request, w *watcher) error {
	if err := sameOrigin(r.http); err != nil {
		return err
	}
	options := &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled}
	if p := authn.OtherProtocol(r.http); p != "" {
		options.Subprotocols = []string{p}
	}
	r.headers(r.accept.ContentType())
	r.w.Header().Del("Content-Type") // of the refusal, if there is one
	conn, err := websocket.Accept(r.w, r.http, options)
	if err != nil {
		r.status = http.StatusBadRequest // it has been answered
		s.log.Debug("no WebSocket", "path", w.path, "error", err)
		return nil
	}
	defer conn.CloseNow() // if the watch panics; otherwise it is closed by then
	r.status = http.StatusSwitchingProtocols
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := &messages{r: r, conn: conn, ctx: ctx, kind: websocket.MessageText}
	if r.accept.Format == codec.Binary {
		m.kind, m.skip = websocket.MessageBinary, codec.FrameLength
	}
	go m.listen(cancel)
	go m.ping(s.cfg.durations.Ping, cancel)
	w.ctx, w.sink = ctx, m
	w.run()
	return nil
}

// messages is the sink of a WebSocket.
type messages struct {
	r    *request
	conn *websocket.Conn
	ctx  context.Context
	kind websocket.MessageType
	skip int // bytes of a frame that say its length, which a message does by itself
}

// listen waits for the client to go.
func (m *messages) listen(gone context.CancelFunc) {
	defer gone()
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

// ping finds out now and then whether a client that is silent, as it should be,
// is there.
func (m *messages) ping(pause time.Duration, gone context.CancelFunc) {
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
				gone()
				return
			}
		}
	}
}

func (m *messages) add(frame []byte) error {
	if err := m.conn.Write(m.ctx, m.kind, frame[m.skip:]); err != nil {
		return &conns.GoneError{Cause: err}
	}
	m.r.bytes += int64(len(frame) - m.skip)
	return nil
}

func (m *messages) flush() error { return nil }

func (m *messages) end() {
	if m.ctx.Err() == nil {
		_ = m.conn.Close(websocket.StatusNormalClosure, "") // the client may be gone
	} else {
		_ = m.conn.CloseNow()
	}
}
