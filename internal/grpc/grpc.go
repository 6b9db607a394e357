// Package grpc calls methods of gRPC servers: unary calls are HTTP/2 requests with one
// message each way, so no library is needed. Connections are not encrypted.
package grpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/dialed"
)

// Caller calls the methods of one server.
type Caller struct {
	at   string // the URL of its methods
	http *http.Client
	// conns counts no requests, so that its Retire closes all connections at once.
	conns dialed.Conns
}

// New makes the caller of a server at an address: of a "unix" socket, where "@name" is
// one without a file, or of "tcp".
func New(network, address string) *Caller {
	authority := address
	if network == "unix" {
		authority = "localhost"
		if name, abstract := strings.CutPrefix(address, "@"); abstract {
			address = "\x00" + name
		}
	}
	c := &Caller{at: "http://" + authority}
	t := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: 1}
	t.Protocols.SetUnencryptedHTTP2(true)
	t.DialContext = c.conns.Keep(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	})
	c.http = &http.Client{Transport: t}
	return c
}

// Close closes the connection, if it is idle.
func (c *Caller) Close() { c.http.CloseIdleConnections() }

// Cut closes the connection, with the calls on it. No further call connects.
func (c *Caller) Cut() { c.conns.Retire() }

// The pauses between attempts to connect to a server that does not listen yet.
const (
	leastPause = 20 * time.Millisecond
	mostPause  = time.Second
)

// CallWhenReady is Call for a server that may not listen, or no longer at the other end of a connection: it tries to send the message
// until ctx ends.
func (c *Caller) CallWhenReady(ctx context.Context, method string, message []byte) ([]byte, error) {
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		answer, err := c.Call(ctx, method, message)
		if sending := new(net.OpError); ctx.Err() != nil || !errors.As(err, &sending) || sending.Op != "dial" && sending.Op != "write" {
			return answer, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// StatusError is the error of a method.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s (gRPC code %d)", e.Message, e.Code) }

// mostMessage bounds an answer, in bytes: 4 MiB, as libraries of gRPC do.
const mostMessage = 4 << 20

// Call calls a method, "/v2.KeyManagementService/Status", with a message, and returns the
// message of the answer.
func (c *Caller) Call(ctx context.Context, method string, message []byte) ([]byte, error) {
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) // not compressed
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.at+method, bytes.NewReader(append(body, message...)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 5+mostMessage+1))
	if err != nil {
		return nil, err
	}
	if len(text) > 5 {
		if size := binary.BigEndian.Uint32(text[1:5]); size > mostMessage {
			return nil, &StatusError{ResourceExhausted, fmt.Sprintf("grpc: received message larger than max (%d vs. %d)", size, mostMessage)}
		}
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered with the HTTP status %d", answer.StatusCode)
	}
	status, words := answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
	if status == "" { // an answer without a message
		status, words = answer.Header.Get("Grpc-Status"), answer.Header.Get("Grpc-Message")
	}
	if code, err := strconv.Atoi(status); err != nil || code != 0 {
		if said, err := url.PathUnescape(words); err == nil {
			words = said
		}
		return nil, &StatusError{code, words}
	}
	if len(text) < 5 || text[0] != 0 || int(binary.BigEndian.Uint32(text[1:5])) != len(text)-5 {
		return nil, errors.New("the server's answer is not one message")
	}
	return text[5:], nil
}
