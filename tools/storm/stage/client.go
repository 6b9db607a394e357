package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/site"
)

// Client sends requests of one user, one after the other.
type Client struct {
	*Stage
	ID    int
	User  string // "" for the administrator
	Known map[string]uint64
	// Quiet clients are not in the journal.
	Quiet bool
}

// Client returns a new client.
func (s *Stage) Client(id int) *Client {
	return &Client{Stage: s, ID: id, Known: make(map[string]uint64)}
}

// Request is a request for an object or a collection.
type Request struct {
	Verb            string // create, get, put, patch, apply, delete, deletecollection, list
	Kind            Kind
	Namespace, Name string
	Sub             string
	Query           url.Values
	Body            any    // an object, or bytes
	ContentType     string // of a patch
	Mark            string
	Precondition    uint64
	Variant         string
}

var methods = map[string]string{"create": http.MethodPost, "get": http.MethodGet, "put": http.MethodPut, "patch": http.MethodPatch,
	"apply": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete, "list": http.MethodGet}

func (q *Request) path() string {
	path := q.Kind.Path(q.Namespace)
	if q.Verb != "list" && q.Verb != "deletecollection" && (q.Verb != "create" || q.Sub != "") {
		path += "/" + q.Name
	}
	if q.Sub != "" {
		path += "/" + q.Sub
	}
	if len(q.Query) > 0 {
		path += "?" + q.Query.Encode()
	}
	return path
}

// Do sends a request and notes it. A write of a built-in object goes into the history.
func (c *Client) Do(q Request) record.Call {
	call := record.Call{Client: c.ID, User: c.User, Verb: q.Verb, Resource: q.Kind.Resource, Namespace: q.Namespace, Name: q.Name, Sub: q.Sub,
		Mark: q.Mark, Precondition: q.Precondition, Variant: q.Variant, Manager: q.Query.Get("fieldManager")}
	if q.Verb == "apply" && q.Mark != "" {
		call.Set = fields(q.Body)
	}
	newest := c.Journal.Recorder.Newest()
	call.Began = c.Journal.Now()
	code, text, err := c.Send(methods[q.Verb], q.path(), q.ContentType, q.Body)
	call.Ended, call.Code = c.Journal.Now(), code
	if errors.Is(err, syscall.ECONNREFUSED) {
		time.Sleep(retry) // there is no server for a while, so nothing happened
		return call
	}
	switch {
	case err != nil:
		call.Message = err.Error()
	case code >= 300:
		call.Message = message(text)
	case q.Verb != "list" && q.Verb != "deletecollection" && !bytes.HasPrefix(text, []byte(`{"kind":"Status"`)):
		if call.Object, err = record.Parse(q.Kind.Resource, text); err != nil {
			call.Message = err.Error()
		} else if q.Sub == "" {
			c.Known[call.Object.Key()] = call.Object.Revision
		}
	}
	if !c.Quiet {
		c.Journal.Call(call)
		c.note(&call, newest, text)
	}
	return call
}

// note records an acknowledged write in the history of built-in objects. Objects whose
// deletion takes more than its request, and those that the server changes while it
// answers, are judged by their events.
func (c *Client) note(call *record.Call, newest uint64, text []byte) {
	if !call.Done() || call.Mark == "" || call.Resource != "configmaps" && call.Resource != "podtemplates" || call.Sub != "" {
		return
	}
	w := history.Write{NotBefore: newest, Precondition: call.Precondition}
	switch call.Verb {
	case "create", "put", "patch", "apply":
		w.Op = history.Update
		if call.Code == http.StatusCreated {
			w.Op = history.Create
		}
		s, err := history.ParseObject(call.Resource, text)
		if err != nil || s.Mark != call.Mark || s.Revision <= newest && call.Resource == "podtemplates" {
			return
		}
		w.State = s
	default:
		return
	}
	c.Journal.Recorder.Write(w)
}

func message(text []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		return string(text[:min(len(text), 200)])
	}
	return status.Message
}

// Send sends a request and reads its answer. The error is that of a lost connection.
func (c *Client) Send(method, path, contentType string, body any) (code int, text []byte, err error) {
	return c.send(method, path, contentType, "", body)
}

// Accept gets an answer in a form.
func (c *Client) Accept(form, path string) (code int, text []byte, err error) {
	return c.send(http.MethodGet, path, "", form, nil)
}

func (c *Client) send(method, path, contentType, accept string, body any) (code int, text []byte, err error) {
	var content []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		content = b
	case string:
		content = []byte(b)
	default:
		if content, err = json.Marshal(b); err != nil {
			return 0, nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	if contentType == "" {
		contentType = "application/json"
	}
	if content != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	req.Header.Set("Authorization", "Bearer "+c.token())
	req.Header.Set("User-Agent", "storm/"+fmt.Sprint(c.ID))
	began, stood := time.Now(), c.Paused()
	watchdog := time.AfterFunc(Patience, func() { c.bark(ctx, method+" "+path, began, stood, cancel) })
	defer watchdog.Stop()
	resp, err := c.transports[c.ID&1].RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, bytes.TrimSpace(text), nil
}

// bark notes that a request is late, and ends it. The time in which the server stood
// still does not count.
func (c *Client) bark(ctx context.Context, what string, began time.Time, stood time.Duration, cancel func()) {
	defer cancel()
	if still := c.Paused() - stood; still > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(still + time.Second):
		}
	}
	c.late(what, time.Since(began).Round(time.Millisecond))
}

func (c *Client) token() string {
	switch {
	case c.User == "":
		return site.AdminToken
	case strings.HasPrefix(c.User, "token:"):
		return strings.TrimPrefix(c.User, "token:")
	}
	return c.User + "-token"
}
