package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// stream is an open watch.
type stream struct {
	t    *testing.T
	resp *http.Response
	json *json.Decoder
}

// watch opens a stream. One that hangs ends with an error after a minute.
func (h *harness) watch(path string, header ...string) *stream {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	h.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server.URL()+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.client.Transport.RoundTrip(req) // not Do, which has a limit for short requests
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("%s answered %d: %s", path, resp.StatusCode, text)
	}
	return &stream{h.t, resp, json.NewDecoder(resp.Body)}
}

// event is one event with the tested parts of its object.
type event struct {
	Type   string
	Object json.RawMessage
	meta   struct {
		Kind, APIVersion, Message, Reason string
		Code                              int
		Metadata                          struct {
			Name, ResourceVersion string
			Labels, Annotations   map[string]string
		}
	}
}

func (h *harness) patch(path, body string) reply {
	h.t.Helper()
	r := h.send(http.MethodPatch, path, "application/merge-patch+json", []byte(body))
	r.expect(h.t, 200, "")
	return r
}

func (h *harness) create(path, body string) reply {
	h.t.Helper()
	r := h.post(path, body)
	r.expect(h.t, 201, "")
	return r
}

func (h *harness) delete(path string) {
	h.t.Helper()
	h.send(http.MethodDelete, path, "", nil).expect(h.t, 200, "")
}

// http2 makes the harness speak HTTP/2, which its transport does not by default.
func (h *harness) http2() *harness {
	h.client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	return h
}

// clock is a time of day that a test moves.
type clock struct {
	start  time.Time
	passed atomic.Int64
}

// trimmed lets history pass until a revision is not kept any more. Trimming happens
// periodically in the background, by the clock.
func (h *harness) trimmed(c *clock, revision string) {
	h.t.Helper()
	h.patch(configMaps+"/a", `{"data":{"trimmed":"soon"}}`)
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		c.pass(2 * time.Minute)
		r := h.get(configMaps + "?resourceVersionMatch=Exact&resourceVersion=" + revision)
		if r.code == 410 {
			return
		}
		r.expect(h.t, 200, "")
	}
	h.t.Fatal("history is never trimmed")
}

// revisionIn finds the resourceVersion in a text, without reading the rest.
func revisionIn(t *testing.T, text []byte) string {
	t.Helper()
	_, after, found := bytes.Cut(text, []byte(`"resourceVersion":"`))
	revision, _, ended := bytes.Cut(after, []byte(`"`))
	if !found || !ended {
		t.Fatalf("no resourceVersion in %.200s", text)
	}
	return string(revision)
}

// frame reads one event of the binary form: its type, and the object in its envelope.
func (s *stream) frame() (event string, object runtime.Unknown) {
	s.t.Helper()
	var length uint32
	if err := binary.Read(s.resp.Body, binary.BigEndian, &length); err != nil {
		s.t.Fatalf("no frame: %v", err)
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(s.resp.Body, message); err != nil {
		s.t.Fatalf("a frame of %d bytes: %v", length, err)
	}
	var e metav1.WatchEvent
	if err := e.Unmarshal(message); err != nil {
		s.t.Fatal(err)
	}
	raw, ok := bytes.CutPrefix(e.Object.Raw, []byte("k8s\x00"))
	if !ok {
		s.t.Fatalf("the object has no envelope: %q", e.Object.Raw)
	}
	if err := object.Unmarshal(raw); err != nil {
		s.t.Fatal(err)
	}
	return e.Type, object
}

func (e *event) revision(t *testing.T) uint64 {
	t.Helper()
	rev, err := strconv.ParseUint(e.meta.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatalf("%s %s: %v", e.Type, e.Object, err)
	}
	return rev
}

func (s *stream) next() *event {
	s.t.Helper()
	e := &event{}
	if err := s.json.Decode(e); err != nil {
		s.t.Fatalf("no event: %v", err)
	}
	if err := json.Unmarshal(e.Object, &e.meta); err != nil {
		s.t.Fatalf("%v: %s", err, e.Object)
	}
	return e
}

// expect reads events "ADDED a" and so on, and returns the last.
func (s *stream) expect(want ...string) *event {
	s.t.Helper()
	var e *event
	for _, w := range want {
		e = s.next()
		if got := e.Type + " " + e.meta.Metadata.Name; got != w {
			s.t.Fatalf("got %s, want %s: %s", got, w, e.Object)
		}
	}
	return e
}

// ends reads to the end, which must be clean and come without more events.
func (s *stream) ends() {
	s.t.Helper()
	var more json.RawMessage
	if err := s.json.Decode(&more); !errors.Is(err, io.EOF) {
		s.t.Fatalf("the stream goes on with %s, or ends badly: %v", more, err)
	}
}

func (c *clock) now() time.Time { return c.start.Add(time.Duration(c.passed.Load())) }

func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }
