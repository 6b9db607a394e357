// Package streamtest opens watches in every transport and checks strictly how they end,
// so that tests can tell a proper end from a broken stream.
package streamtest

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/coder/websocket"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Transport is a way in which a watch reaches its client.
type Transport string

// The transports.
const (
	HTTP1     Transport = "HTTP/1.1"
	HTTP2     Transport = "HTTP/2"
	WebSocket Transport = "WebSocket"
)

// Transports lists all transports.
var Transports = []Transport{HTTP1, HTTP2, WebSocket}

// Target is a server with the credentials of a client: a token, or the certificate in
// TLS.
type Target struct {
	URL, Token string
	TLS        *tls.Config
}

// Watch describes a watch request.
type Watch struct {
	Transport Transport
	Binary    bool   // in the binary form; JSON otherwise
	Path      string // with its query
}

// binaryMedia is the media type of a watch in the binary form.
const binaryMedia = "application/vnd." + profile.MediaTypeWord + ".protobuf;stream=watch"

// mostFrame is far above the size of a test's frame.
const mostFrame = 64 << 20

// Stream is an open watch. It is used by one goroutine.
type Stream struct {
	watch Watch
	next  func() ([]byte, error) // a frame without its length
	close func()
}

// Open opens a watch and reads the head of its answer. The stream is broken off when ctx
// ends.
func Open(ctx context.Context, t Target, w Watch) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	open := map[Transport]func(context.Context, Target, http.Header) (*Stream, error){HTTP1: w.http1, HTTP2: w.http2, WebSocket: w.webSocket}[w.Transport]
	header := http.Header{"User-Agent": {"streamtest"}}
	if t.Token != "" {
		header.Set("Authorization", "Bearer "+t.Token)
	}
	if w.Binary {
		header.Set("Accept", binaryMedia)
	}
	s, err := open(ctx, t, header)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%s %s: %w", w.Transport, w.Path, err)
	}
	closeConn := s.close
	s.watch, s.close = w, func() { cancel(); closeConn() }
	return s, nil
}

// Close breaks the stream off.
func (s *Stream) Close() { s.close() }

// Next reads the type of the next event. The error is io.EOF at a proper end, and
// describes the mistake at any other.
func (s *Stream) Next() (string, error) {
	frame, err := s.next()
	if errors.Is(err, io.EOF) && err != io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the stream ends in its middle: %w", err)
	}
	if err != nil {
		return "", err
	}
	if !s.watch.Binary {
		var event struct{ Type string }
		err := json.Unmarshal(frame, &event)
		return event.Type, err
	}
	if len(frame) < 2 || frame[0] != 1<<3|2 || len(frame) < 2+int(frame[1]) {
		return "", fmt.Errorf("no event: %.20q", frame)
	}
	return string(frame[2 : 2+frame[1]]), nil
}

// All reads events up to the proper end and counts them by type.
func (s *Stream) All() (map[string]int, error) {
	seen := map[string]int{}
	for {
		event, err := s.Next()
		if err == io.EOF {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
		seen[event]++
	}
}

// frames cuts a body into frames. At its end atEnd checks the rest.
func (w Watch) frames(body io.Reader, atEnd func() error) func() ([]byte, error) {
	r := bufio.NewReader(body)
	return func() ([]byte, error) {
		if _, err := r.Peek(1); err != nil {
			if err == io.EOF {
				if err := atEnd(); err != nil {
					return nil, err
				}
			}
			return nil, err
		}
		if !w.Binary {
			return r.ReadBytes('\n')
		}
		var length [4]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return nil, err
		}
		size := binary.BigEndian.Uint32(length[:])
		if size > mostFrame {
			return nil, fmt.Errorf("a frame of %d bytes", size)
		}
		frame := make([]byte, size)
		_, err := io.ReadFull(r, frame)
		return frame, err
	}
}

// http1 speaks HTTP/1.1 directly on TLS, so that it sees how the connection ends: with
// the last chunk and TLS's close notification.
func (w Watch) http1(ctx context.Context, t Target, header http.Header) (*Stream, error) {
	server, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	config := t.TLS.Clone()
	config.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", server.Host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	request, err := http.NewRequest(http.MethodGet, t.URL+w.Path, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || len(response.TransferEncoding) == 0 {
		return nil, fmt.Errorf("answered %s %v", response.Status, response.TransferEncoding)
	}
	return &Stream{close: func() { _ = conn.Close() }, next: w.frames(response.Body, func() error {
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			return fmt.Errorf("behind the last chunk are %d bytes, then: %w", len(rest), err)
		}
		return nil
	})}, nil
}

func (w Watch) http2(ctx context.Context, t Target, header http.Header) (*Stream, error) {
	transport := &http.Transport{TLSClientConfig: t.TLS.Clone(), ForceAttemptHTTP2: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL+w.Path, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		return nil, fmt.Errorf("answered %s %s", response.Proto, response.Status)
	}
	return &Stream{next: w.frames(response.Body, func() error { return nil }), close: func() {
		_ = response.Body.Close()
		transport.CloseIdleConnections()
	}}, nil
}

func (w Watch) webSocket(ctx context.Context, t Target, header http.Header) (*Stream, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.TLS.Clone()}}
	conn, _, err := websocket.Dial(ctx, t.URL+w.Path, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(mostFrame)
	kind := websocket.MessageText
	if w.Binary {
		kind = websocket.MessageBinary
	}
	return &Stream{close: func() { _ = conn.CloseNow() }, next: func() ([]byte, error) {
		got, frame, err := conn.Read(ctx)
		switch {
		case websocket.CloseStatus(err) == websocket.StatusNormalClosure:
			return nil, io.EOF
		case err == nil && got != kind:
			return nil, fmt.Errorf("a message of kind %v", got)
		}
		return frame, err
	}}, nil
}
