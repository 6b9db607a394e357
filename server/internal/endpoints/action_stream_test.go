package endpoints_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/action"
	rbacv1 "github.com/capstan-dev/capstan/gen/rbac.authorization/v1"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

type roleView = action.View[rbacv1.Role]

// strays is a label with which a stream sends a role that is not the one of the call.
const strays = "other"

// streams is an action that sends roles with the labels that do sends.
func streams(do func(ctx context.Context, call *roleView, send func(label string) error) error) *api.Action {
	return action.Streams(func(ctx context.Context, call *roleView, _ *rbacv1.Role, send func(*rbacv1.Role) error) error {
		return do(ctx, call, func(label string) error {
			role := &rbacv1.Role{}
			role.Metadata.Name, role.Metadata.Labels = call.Name(), map[string]string{"at": label}
			if label == strays {
				role.Metadata.Name = label
			}
			return send(role)
		})
	})
}

// lines opens a stream by POST, and returns what reads its lines: "" at its proper end.
func lines(t *testing.T, h *harness.Server, path string) (next func() string, resp *http.Response, leave context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Running.URL()+path, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	if resp, err = h.HTTP.Transport.RoundTrip(q); err != nil { // not Do, which has a limit for short requests
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	r := bufio.NewReader(resp.Body)
	return func() string {
		t.Helper()
		line, err := r.ReadString('\n')
		if err != nil && (err != io.EOF || line != "") {
			t.Fatalf("%q and %v", line, err)
		}
		return strings.TrimSuffix(line, "\n")
	}, resp, cancel
}

// TestActionStreams: an action that streams sends each answer at once, as a line, over HTTP/1.1 and HTTP/2, and waits
// for its client.
func TestActionStreams(t *testing.T) {
	on, ended := make(chan string), make(chan error, 2)
	h := startActions(t, nil, map[string]*api.Action{"follow": streams(func(ctx context.Context, call *roleView, send func(string) error) error {
		call.Warn("mind " + call.Namespace())
		for label := range on {
			if err := send(label); err != nil {
				ended <- err
				return err
			}
			call.Warn("too late")
		}
		return nil
	})})
	for _, h := range []*harness.Server{h, h.HTTP2()} {
		go func() { on <- "1" }()
		next, resp, leave := lines(t, h, ownRoles+"/a/follow")
		if got := next(); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(got, `"at":"1"`) {
			t.Fatalf("%d %v %s", resp.StatusCode, resp.Header, got)
		}
		if w := resp.Header.Values("Warning"); len(w) != 1 || !strings.Contains(w[0], "mind default") {
			t.Errorf("warnings %q", w)
		}
		on <- "2"
		if got := next(); !strings.Contains(got, `"at":"2"`) {
			t.Error(got)
		}
		leave() // the client goes
		for left := false; !left; {
			select {
			case on <- "3":
			case err := <-ended:
				left = err != nil
			}
		}
	}
	go func() { on <- "1"; close(on) }()
	next, _, _ := lines(t, h, ownRoles+"/a/follow")
	if first, end := next(), next(); first == "" || end != "" {
		t.Errorf("%q, %q", first, end)
	}
	if got := h.Send("GET", ownRoles+"/a/follow", "", nil); got.Code != 405 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := h.Send("POST", ownRoles+"/a/follow", "application/json", []byte(`{}`), "Accept", "application/yaml"); got.Code != 406 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	h.Post(ownRoles+"/a/follow?timeoutSeconds=x", `{}`).Expect(t, 400, "BadRequest")
}

// TestActionStreamsEnd: a stream ends at its time and when the server stops; what fails before the first answer is an
// ordinary refusal, and after it the last line.
func TestActionStreamsEnd(t *testing.T) {
	log := &harness.Lines{}
	failing := func(before bool, fail func(send func(string) error) error) *api.Action {
		return streams(func(_ context.Context, _ *roleView, send func(string) error) error {
			if !before {
				if err := send("1"); err != nil {
					return err
				}
			}
			return fail(send)
		})
	}
	actions := map[string]*api.Action{"waits": streams(func(ctx context.Context, _ *roleView, send func(string) error) error {
		if err := send("1"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}), "sleeps": streams(func(ctx context.Context, _ *roleView, send func(string) error) error {
		<-ctx.Done()
		return ctx.Err()
	})}
	for name, fail := range map[string]func(send func(string) error) error{
		"panics":  func(func(string) error) error { panic("on purpose") },
		"fails":   func(func(string) error) error { return errors.New("the password of the database is x") },
		"refuses": func(func(string) error) error { return action.Conflict("not today") },
		"breaks":  func(send func(string) error) error { return send(strays) },
		"ignores": func(send func(string) error) error { _ = send(strays); return nil },
	} {
		actions[name], actions["early-"+name] = failing(false, fail), failing(true, fail)
	}
	h := startActions(t, func(c *server.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }, actions)
	for name, want := range map[string]string{"panics": `"code":500`, "fails": `"code":500`, "refuses": `"code":409`, "breaks": `"code":500`, "ignores": `"code":500`} {
		next, resp, _ := lines(t, h, ownRoles+"/a/"+name)
		if first, last, end := next(), next(), next(); resp.StatusCode != 200 || !strings.Contains(first, `"at":"1"`) || !strings.Contains(last, want) ||
			!strings.Contains(last, `"kind":"Status"`) || strings.Contains(last, "password") || strings.Contains(last, "purpose") || end != "" {
			t.Errorf("%s: %d %s, %s, %s", name, resp.StatusCode, first, last, end)
		}
		early := h.Post(ownRoles+"/a/early-"+name, `{}`)
		if !strings.Contains(string(early.Body), want) || early.Code == 200 {
			t.Errorf("%s before the first answer: %d %s", name, early.Code, early.Body)
		}
	}
	next, _, _ := lines(t, h, ownRoles+"/a/waits?timeoutSeconds=1")
	if first, end := next(), next(); first == "" || end != "" {
		t.Errorf("at its time: %q, %q", first, end)
	}
	if got := h.Post(ownRoles+"/a/sleeps?timeoutSeconds=1", `{}`); got.Code != 200 || len(got.Body) != 0 {
		t.Errorf("without an answer: %d %s", got.Code, got.Body)
	}
	if got := h.Figures()[`apiserver_longrunning_requests{component="apiserver",group="tools.example.com",resource="roles",scope="resource",subresource="waits",verb="POST",version="v1"`]; got != "0" {
		t.Errorf("%s streams are under way", got)
	}
	next, _, _ = lines(t, h, ownRoles+"/a/waits")
	if next() == "" {
		t.Error("no answer")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- h.Running.Shutdown(ctx) }()
	if end := next(); end != "" {
		t.Errorf("when the server stops: %q", end)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestActionStreamsLast: a stream has no place among the requests that run, and outlasts their time, whatever it does first.
func TestActionStreamsLast(t *testing.T) {
	h := startActions(t, func(c *server.Config) {
		harness.EverybodyMay(c)
		c.DisablePriorityAndFairness, c.MaxMutatingRequestsInflight = true, 1
		c.RequestTimeout = time.Second
		harness.Shorten(c, func(d *seams.Durations) { d.Answer = 500 * time.Millisecond })
	}, map[string]*api.Action{"late": streams(func(_ context.Context, _ *roleView, send func(string) error) error {
		<-time.After(2500 * time.Millisecond)
		return send("1")
	}), "refuses": streams(func(_ context.Context, _ *roleView, send func(string) error) error {
		<-time.After(2500 * time.Millisecond)
		return action.Conflict("not today")
	})})
	var all sync.WaitGroup
	for _, h := range []*harness.Server{h, h.HTTP2(), h, h.HTTP2()} {
		all.Go(func() {
			got := h.Send("POST", ownRoles+"/a/late", "application/json", nil, harness.AsBob...)
			if got.Code != 200 || !bytes.Contains(got.Body, []byte(`"at":"1"`)) {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
		all.Go(func() {
			if got := h.Send("POST", ownRoles+"/a/refuses", "application/json", nil, harness.AsCarol...); got.Code != 409 {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	all.Wait()
}

// TestActionStreamsUnread: a client that does not read stops the code of the action, and no server that stops.
func TestActionStreamsUnread(t *testing.T) {
	for major := range 2 {
		ended, sent := make(chan error, 1), atomic.Int64{}
		large := strings.Repeat("x", 100<<10)
		h := startActions(t, nil, map[string]*api.Action{"floods": action.Streams(func(_ context.Context, _ *roleView, _ *rbacv1.Role, send func(*rbacv1.Role) error) error {
			for {
				role := &rbacv1.Role{}
				role.Metadata.Annotations = map[string]string{"x": large}
				if err := send(role); err != nil {
					ended <- err
					return err
				}
				sent.Add(1)
			}
		})})
		if major == 1 {
			h = h.HTTP2()
		}
		if next, _, _ := lines(t, h, ownRoles+"/a/floods"); next() == "" {
			t.Error("no answer")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		_ = h.Running.Shutdown(ctx) // may be late
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the action goes on")
		}
		if n := sent.Load(); n > 1000 {
			t.Errorf("%d answers were sent to nobody", n)
		}
	}
}
