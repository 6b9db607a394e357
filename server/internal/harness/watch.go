package harness

import (
	"bufio"
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

// WatchLines opens a watch and returns a function for its next line.
func (h *Server) WatchLines(path string) func() string {
	h.T.Helper()
	req, err := http.NewRequest("GET", h.Running.URL()+path, nil)
	if err != nil {
		h.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+AdminToken)
	resp, err := h.HTTP.Do(req)
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewReader(resp.Body)
	return func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			h.T.Fatal(err)
		}
		return line
	}
}

// Stream is an open watch.
type Stream struct {
	t    *testing.T
	Resp *http.Response
	json *json.Decoder
}

// Watch opens a stream. One that hangs ends with an error after a minute.
func (h *Server) Watch(path string, header ...string) *Stream {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	h.T.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Running.URL()+path, nil)
	if err != nil {
		h.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+AdminToken)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.HTTP.Transport.RoundTrip(req) // not Do, which has a limit for short requests
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		h.T.Fatalf("%s answered %d: %s", path, resp.StatusCode, text)
	}
	return &Stream{h.T, resp, json.NewDecoder(resp.Body)}
}

// Event is one event with the tested parts of its object.
type Event struct {
	Type   string
	Object json.RawMessage
	Meta   struct {
		Kind, APIVersion, Message, Reason string
		Code                              int
		Metadata                          struct {
			Name, ResourceVersion string
			Labels, Annotations   map[string]string
		}
	}
}

// Clock is a time of day that a test moves.
type Clock struct {
	Start  time.Time
	passed atomic.Int64
}

// Frame reads one event of the binary form: its type, and the object in its envelope.
func (s *Stream) Frame() (event string, object runtime.Unknown) {
	s.t.Helper()
	var length uint32
	if err := binary.Read(s.Resp.Body, binary.BigEndian, &length); err != nil {
		s.t.Fatalf("no frame: %v", err)
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(s.Resp.Body, message); err != nil {
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

// Revision is the revision of the object in the event.
func (e *Event) Revision(t *testing.T) uint64 {
	t.Helper()
	rev, err := strconv.ParseUint(e.Meta.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatalf("%s %s: %v", e.Type, e.Object, err)
	}
	return rev
}

// Next is the next event of the stream.
func (s *Stream) Next() *Event {
	s.t.Helper()
	e := &Event{}
	if err := s.json.Decode(e); err != nil {
		s.t.Fatalf("no event: %v", err)
	}
	if err := json.Unmarshal(e.Object, &e.Meta); err != nil {
		s.t.Fatalf("%v: %s", err, e.Object)
	}
	return e
}

// Expect reads events "ADDED a" and so on, and returns the last.
func (s *Stream) Expect(want ...string) *Event {
	s.t.Helper()
	var e *Event
	for _, w := range want {
		e = s.Next()
		if got := e.Type + " " + e.Meta.Metadata.Name; got != w {
			s.t.Fatalf("got %s, want %s: %s", got, w, e.Object)
		}
	}
	return e
}

// Ends reads to the end, which must be clean and come without more events.
func (s *Stream) Ends() {
	s.t.Helper()
	var more json.RawMessage
	if err := s.json.Decode(&more); !errors.Is(err, io.EOF) {
		s.t.Fatalf("the stream goes on with %s, or ends badly: %v", more, err)
	}
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time { return c.Start.Add(time.Duration(c.passed.Load())) }

// Pass moves the clock on.
func (c *Clock) Pass(d time.Duration) { c.passed.Add(int64(d)) }
