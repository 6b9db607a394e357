package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/tracing"
)

// MaxAnswer is the usual bound of an answer, in bytes.
const MaxAnswer = 3 << 20

// Call is one call of a webhook.
type Call struct {
	Body      []byte // JSON; not changed, and not needed after the call
	Timeout   time.Duration
	MaxAnswer int  // in bytes; 0 for MaxAnswer
	NoAnswer  bool // a success is enough, whatever its body
}

// Call sends a body by POST and returns the body of a successful answer. It ends at the
// call's time-out, or when ctx ends. Errors have the words of 1.25: about the connection,
// or the webhook's own about a failure.
func (c *Client) Call(ctx context.Context, call Call) ([]byte, error) {
	c.conns.Begin()
	defer c.conns.End()
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, dials{}, new(atomic.Int32)), call.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address+"?timeout="+call.Timeout.String(), bytes.NewReader(call.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	c.as.add(request)
	end := tracing.Call(ctx, request.Method, c.address, request.Header)
	response, err := c.send.RoundTrip(request) // which follows no redirect
	if err != nil {
		end(0, err)
		return nil, &url.Error{Op: "Post", URL: request.URL.String(), Err: err}
	}
	defer end(response.StatusCode, nil)
	defer func() { _ = response.Body.Close() }() // an unread rest is dropped with its stream
	limit := call.MaxAnswer
	if limit == 0 {
		limit = MaxAnswer
	}
	if response.StatusCode < 200 || response.StatusCode > 206 {
		return nil, refusal(response)
	}
	if call.NoAnswer {
		_, err = io.CopyN(io.Discard, response.Body, int64(limit)) // so that the connection can be used again
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	if media := response.Header.Get("Content-Type"); media != "" { // whatever it is, the answer is read as JSON, as in 1.25
		if _, _, err := mime.ParseMediaType(media); err != nil {
			//lint:ignore ST1005 the words of 1.25, which clients see
			return nil, fmt.Errorf("Internal error occurred: %w", err)
		}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("unexpected error when reading response body. Please retry. Original error: %w", err)
	case len(body) == 0:
		return nil, fmt.Errorf("0-length response with status code: %d and content type: %s", response.StatusCode, response.Header.Get("Content-Type"))
	case len(body) > limit:
		return nil, fmt.Errorf("the webhook's answer has more than %d bytes", limit)
	}
	return body, nil
}

// maxWords bounds the words of a failing webhook, in bytes.
const maxWords = 2048

// RefusedError is an answer that is not a success.
type RefusedError struct {
	Code    int // of HTTP
	Message string
}

func (e *RefusedError) Error() string { return e.Message }

// refusal is the error of an answer that is not a success: by its message if it is a
// Status, else by its code and text.
func refusal(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxWords)) // as much as there is
	var status struct{ Kind, Message string }
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" && status.Message != "" {
		return &RefusedError{response.StatusCode, status.Message}
	}
	words := "unknown"
	if media := response.Header.Get("Content-Type"); strings.HasPrefix(media, "text/") || media == "" {
		words = strings.TrimSpace(string(body))
	}
	return &RefusedError{response.StatusCode, meaning(response.StatusCode, words)}
}

// meanings are the messages of 1.25 about answers of other servers.
var meanings = map[int]string{
	http.StatusBadRequest:          "the server rejected our request for an unknown reason",
	http.StatusUnauthorized:        "the server has asked for the client to provide credentials",
	http.StatusNotFound:            "the server could not find the requested resource",
	http.StatusMethodNotAllowed:    "the server does not allow this method on the requested resource",
	http.StatusConflict:            "the server reported a conflict",
	http.StatusUnprocessableEntity: "the server rejected our request due to an error in our request",
	http.StatusTooManyRequests:     "the server has received too many requests and has asked us to try again later",
	http.StatusServiceUnavailable:  "the server is currently unable to handle the request",
	http.StatusGatewayTimeout:      "the server was unable to return a response in the time allotted, but may still be processing the request",
}

func meaning(code int, words string) string {
	known, ok := meanings[code]
	switch {
	case ok:
		return known
	case code == http.StatusForbidden || code == http.StatusUnsupportedMediaType,
		code == http.StatusNotAcceptable && words != "" && words != "unknown":
		return words
	case code == http.StatusNotAcceptable:
		return "the server was unable to respond with a content type that the client supports"
	case code >= http.StatusInternalServerError:
		return fmt.Sprintf("an error on the server (%q) has prevented the request from succeeding", words)
	}
	return fmt.Sprintf("the server responded with the status code %d but did not return more information", code)
}
