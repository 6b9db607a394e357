package encryption

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
)

// caller calls the methods of a gRPC server behind a Unix socket. Unary calls are HTTP/2
// requests with one message each way, so no library is needed.
type caller struct{ http *http.Client }

func newCaller(path string) *caller {
	if name, abstract := strings.CutPrefix(path, "@"); abstract {
		path = "\x00" + name
	}
	t := &http.Transport{Protocols: new(http.Protocols), MaxIdleConnsPerHost: 1}
	t.Protocols.SetUnencryptedHTTP2(true)
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &caller{&http.Client{Transport: t}}
}

func (c *caller) close() { c.http.CloseIdleConnections() }

// statusError is the error of a method.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return fmt.Sprintf("%s (gRPC code %d)", e.message, e.code) }

// unimplemented is the code for a method that the server does not have.
const unimplemented = 12

// mostMessage bounds an answer, in bytes.
const mostMessage = 1 << 20

// call calls a method, "/v2.KeyManagementService/Status", with a message, and returns the
// message of the answer.
func (c *caller) call(ctx context.Context, method string, message []byte) ([]byte, error) {
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) // not compressed
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+method, bytes.NewReader(append(body, message...)))
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
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostMessage+1))
	if err != nil {
		return nil, err
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
		return nil, &statusError{code, words}
	}
	if len(text) < 5 || text[0] != 0 || int(binary.BigEndian.Uint32(text[1:5])) != len(text)-5 {
		return nil, errors.New("the server's answer is not one message")
	}
	return text[5:], nil
}
