package harness

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// Media types of requests.
const (
	MergePatchMedia = "application/merge-patch+json"
	JSONPatchMedia  = "application/json-patch+json"
	StrategicMedia  = "application/strategic-merge-patch+json"
	ApplyMedia      = "application/apply-patch+yaml"
	BinaryMedia     = "application/vnd.kubernetes.protobuf"
)

// StartAudited starts a server that records requests in a file. lines stops it, and reads
// the events.
func StartAudited(t *testing.T, policy string, change func(*server.Config)) (h *Server, lines func() []string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit.log")
	h = Start(t, func(c *server.Config) {
		c.Audit.Log.Path = file
		if policy != "" {
			c.Audit.PolicyFile = filepath.Join(dir, "policy.yaml")
			if err := os.WriteFile(c.Audit.PolicyFile, []byte(policy), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if change != nil {
			change(c)
		}
	})
	return h, func() []string {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Running.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

// Remove deletes an object with options in JSON.
func (h *Server) Remove(path, options string) Reply {
	h.T.Helper()
	return h.Send(http.MethodDelete, path, "application/json", []byte(options))
}

// MergePatch patches an object, which has to succeed.
func (h *Server) MergePatch(path, patch string) Reply {
	h.T.Helper()
	r := h.Merge(path, patch)
	r.Expect(h.T, http.StatusOK, "")
	return r
}

// Merge sends a merge patch.
func (h *Server) Merge(path, patch string) Reply {
	h.T.Helper()
	return h.Send(http.MethodPatch, path, MergePatchMedia, []byte(patch))
}

// CauseOf is the field of the first cause of an error.
func (r Reply) CauseOf(t *testing.T) any { t.Helper(); return r.Field(t, "details.causes.0.field") }

// Begin sends a request of bob's with a body that the test continues, and returns the
// answer when it comes.
func (h *Server) Begin(ctx context.Context, method, path string, body io.Reader) <-chan Reply {
	answer := make(chan Reply, 1)
	req, err := http.NewRequestWithContext(ctx, method, h.Running.URL()+path, body)
	if err != nil {
		h.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer bob-token")
	req.Header.Set("Content-Type", "application/json")
	go func() {
		resp, err := h.HTTP.Transport.RoundTrip(req)
		if err != nil {
			answer <- Reply{Body: []byte(err.Error())}
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answer <- Reply{resp.StatusCode, resp.Header, text}
	}()
	return answer
}

// Line opens a plain TLS connection and sends texts.
func (h *Server) Line(protocol string, says ...string) *tls.Conn {
	h.T.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(h.Running.URL(), "https://"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	for _, text := range says {
		if _, err := io.WriteString(conn, text); err != nil {
			h.T.Fatal(err)
		}
	}
	return conn
}

// Step is one request of a table test.
type Step = struct {
	Name, Method, Path, Media, Body string
	Code                            int
	Want                            string // part of the answer
}

// Run sends requests one after the other, and ends the test at the first answer that is not
// wanted.
func (h *Server) Run(t *testing.T, steps []Step) {
	t.Helper()
	for _, s := range steps {
		media := s.Media
		if media == "" {
			media = "application/json"
		}
		if got := h.Send(s.Method, s.Path, media, []byte(s.Body)); got.Code != s.Code || !strings.Contains(string(got.Body), s.Want) {
			t.Fatalf("%s: %d %s\nwant %d with %s", s.Name, got.Code, got.Body, s.Code, s.Want)
		}
	}
}

// Small makes a harness of the same server with a connection of its own, over HTTP/2 with
// little room for bytes that are not read.
func (h *Server) Small() *Server {
	_, second := h.Copies()
	transport := second.HTTP.Transport.(*http.Transport)
	transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
	return second
}

// Create creates an object, which has to succeed.
func (h *Server) Create(path, body string) Reply {
	h.T.Helper()
	r := h.Post(path, body)
	r.Expect(h.T, 201, "")
	return r
}

// Delete deletes an object, which has to succeed.
func (h *Server) Delete(path string) {
	h.T.Helper()
	h.Send(http.MethodDelete, path, "", nil).Expect(h.T, 200, "")
}

// HTTP2 makes the harness speak HTTP/2, which its transport does not by default.
func (h *Server) HTTP2() *Server {
	h.HTTP.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	return h
}

// Copies are harnesses of the same server that speak HTTP/1.1 and HTTP/2.
func (h *Server) Copies() (first, second *Server) {
	one, two := *h, *h
	one.HTTP = &http.Client{Transport: h.HTTP.Transport.(*http.Transport).Clone()}
	two.HTTP = &http.Client{Transport: h.HTTP.Transport.(*http.Transport).Clone()}
	h.T.Cleanup(one.HTTP.CloseIdleConnections)
	h.T.Cleanup(two.HTTP.CloseIdleConnections)
	return &one, two.HTTP2()
}

// Parallel calls do for the numbers below n, several at once.
func Parallel(n int, do func(i int)) {
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			do(i)
			<-places
		})
	}
	all.Wait()
}
