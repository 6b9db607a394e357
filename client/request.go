package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const jsonType = "application/json"

// Row is the path of a resource.
type Row struct {
	Prefix     string // "/api/v1", "/apis/apps/v1"
	Plural     string
	Namespaced bool
}

// place is a resource of a server, in a namespace; "" stands for all.
type place struct {
	rest      *REST
	row       Row
	namespace string
}

// path is the path of the collection, or below it.
func (p *place) path(below ...string) string {
	var b strings.Builder
	b.WriteString(p.row.Prefix)
	if p.row.Namespaced && p.namespace != "" {
		b.WriteString("/namespaces/")
		b.WriteString(url.PathEscape(p.namespace))
	}
	b.WriteByte('/')
	b.WriteString(p.row.Plural)
	for _, name := range below {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(name))
	}
	return b.String()
}

// object is the path of one object or of a subresource of it.
func (p *place) object(name string, subresource ...string) (string, error) {
	switch {
	case name == "" || name == "." || name == "..":
		return "", fmt.Errorf("%s: name %q: want the name of an object", p.row.Plural, name)
	case p.row.Namespaced && p.namespace == "":
		return "", fmt.Errorf("%s %q: namespace is missing: objects of this resource live in one", p.row.Plural, name)
	}
	return p.path(append([]string{name}, subresource...)...), nil
}

// delete deletes an object, or the selected ones of the collection, by its path.
func (p *place) delete(ctx context.Context, path string, o DeleteOptions, selected ListOptions) error {
	body, err := json.Marshal(deleteBody{Kind: "DeleteOptions", APIVersion: "v1", DeleteOptions: o})
	if err != nil {
		return err
	}
	return p.rest.do(ctx, request{method: http.MethodDelete, path: path, query: selected.query(), contentType: jsonType, body: body}, nil)
}

// request is one HTTP request.
type request struct {
	method, path string
	query        url.Values
	accept       string // the media types of the answer; "" for JSON
	contentType  string // of body
	body         []byte // nil for none
}

// send sends a request, again while the server asks for that. The answer is a success, and
// the caller closes its body.
func (c *REST) send(ctx context.Context, r request) (*http.Response, error) {
	for try := 0; ; try++ {
		response, err := c.sendOnce(ctx, r)
		wait, again := repeats(r.method, err)
		if !again || try >= c.retries {
			return response, err
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			return nil, err
		}
		if sleep(ctx, wait) != nil {
			return nil, err
		}
	}
}

func (c *REST) sendOnce(ctx context.Context, r request) (*http.Response, error) {
	target := c.base.String() + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", cmp.Or(r.accept, jsonType))
	req.Header.Set("User-Agent", c.userAgent)
	if r.body != nil {
		req.Header.Set("Content-Type", r.contentType)
	}
	as, err := c.login.add(ctx, req.Header)
	if err != nil {
		return nil, err
	}
	c.login.conns.Begin()
	ended := sync.OnceFunc(c.login.conns.End)
	response, err := c.http.Do(req)
	if err != nil {
		ended()
		return nil, err
	}
	response.Body = &usedBody{response.Body, ended}
	if response.StatusCode == http.StatusUnauthorized {
		c.login.refused(as)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		return nil, readError(response)
	}
	return response, nil
}

// Post sends a body in JSON to a path, and returns that of the answer: for everything that
// is not in a typed client.
func (c *REST) Post(ctx context.Context, path string, body []byte) (answer []byte, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: path, contentType: jsonType, body: body}, (*json.RawMessage)(&answer))
	return answer, err
}

// Get returns the answer to a GET of a path, of at most that many bytes: for everything
// that is not in a typed client.
func (c *REST) Get(ctx context.Context, path string, most int64) (answer []byte, err error) {
	response, err := c.send(ctx, request{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("GET %s: answer was cut off: %w", path, err)
	case int64(len(answer)) > most:
		return nil, fmt.Errorf("GET %s: answer has more than %d bytes", path, most)
	}
	return answer, nil
}

// Stream returns the body of the answer to a GET of a path, which the caller closes: for answers
// that are too large for the memory. accept are the media types of the answer; "" for JSON.
func (c *REST) Stream(ctx context.Context, path, accept string) (io.ReadCloser, error) {
	response, err := c.send(ctx, request{method: http.MethodGet, path: path, accept: accept})
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// do sends a request and reads the answer into out, unless out is nil.
func (c *REST) do(ctx context.Context, r request, out any) error {
	response, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: answer was cut off: %w", r.method, r.path, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: answer is not the expected object: %w", r.method, r.path, err)
	}
	return nil
}

// usedBody is the body of an answer, whose request ends when the body is closed.
type usedBody struct {
	io.ReadCloser
	closed func()
}

func (b *usedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}
