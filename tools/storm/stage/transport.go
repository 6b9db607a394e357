package stage

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// stream is the answer to a watch.
type stream struct {
	code  int
	next  func() ([]byte, error) // an event; io.EOF is a proper end
	close func()
}

// mostFrame is far above the size of an event.
const mostFrame = 64 << 20

// open opens a watch in the client's transport: HTTP/1.1, HTTP/2 or WebSocket.
func (c *Client) open(ctx context.Context, path string) (*stream, error) {
	header := http.Header{"Authorization": {"Bearer " + c.token()}}
	if c.ID%3 == 2 {
		return c.socket(ctx, path, header)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header = header
	resp, err := c.transports[c.ID%3].RoundTrip(req)
	if err != nil {
		return nil, err
	}
	events := json.NewDecoder(resp.Body)
	return &stream{code: resp.StatusCode, close: func() { _ = resp.Body.Close() }, next: func() (event []byte, err error) {
		err = events.Decode((*json.RawMessage)(&event))
		return event, err
	}}, nil
}

// socket opens a watch as a WebSocket: a message is an event, and the server closes it at
// a proper end.
func (c *Client) socket(ctx context.Context, path string, header http.Header) (*stream, error) {
	conn, resp, err := websocket.Dial(ctx, c.URL+path, &websocket.DialOptions{HTTPClient: &http.Client{Transport: c.transports[0]}, HTTPHeader: header})
	if err != nil {
		if resp != nil {
			return &stream{code: resp.StatusCode, close: func() {}}, nil // a refusal
		}
		return nil, err
	}
	conn.SetReadLimit(mostFrame)
	return &stream{code: http.StatusOK, close: func() { _ = conn.CloseNow() }, next: func() ([]byte, error) {
		_, event, err := conn.Read(ctx)
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			err = io.EOF
		}
		return event, err
	}}, nil
}
