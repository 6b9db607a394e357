package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/conns"
)

// recorder is a wire that records its calls.
type recorder struct {
	parts  []string
	pushes int
	fails  error
}

func (r *recorder) write(buf []byte) error {
	r.parts = append(r.parts, string(buf[headRoom:]))
	return r.fails
}
func (r *recorder) writeLarge(part []byte) error {
	r.parts = append(r.parts, string(part))
	return r.fails
}
func (r *recorder) push() error { r.pushes++; return r.fails }
func (r *recorder) end() error  { r.parts = append(r.parts, "end"); return r.fails }

func newBody(w wire) *body { return &body{wire: w, buffer: &sync.Pool{New: newFrameBuffer}} }

// TestBody gathers frames, up to a bound, and holds nothing between flushes.
func TestBody(t *testing.T) {
	small, half, large := "small\n", strings.Repeat("h", flushSize/2+10), strings.Repeat("l", flushSize)
	for _, test := range []struct {
		name   string
		frames []string
		want   []string
	}{
		{"nothing", nil, nil},
		{"one write for all", []string{small, small, small}, []string{small + small + small}},
		{"a full buffer", []string{half, small, half}, []string{half + small, half}},
		{"large ones are not gathered", []string{small, large, small}, []string{small, large, small}},
	} {
		r := &recorder{}
		b := newBody(r)
		for range 2 { // the buffer is reused
			r.parts = nil
			for _, f := range test.frames {
				if err := b.Add([]byte(f)); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Flush(); err != nil || b.buf != nil {
				t.Fatalf("%s: error %v, holds %v", test.name, err, b.buf)
			}
			if strings.Join(r.parts, "|") != strings.Join(test.want, "|") {
				t.Errorf("%s: wrote %d parts, want %d", test.name, len(r.parts), len(test.want))
			}
		}
		want := 2
		if len(test.frames) == 0 {
			want = 1 // the head of the answer
		}
		if r.pushes != want {
			t.Errorf("%s: pushed %d times, want %d", test.name, r.pushes, want)
		}
	}
}

// TestBodyEnds: a body ends properly only if everything could be written.
func TestBodyEnds(t *testing.T) {
	r := &recorder{}
	b := newBody(r)
	if err := b.Add([]byte("last")); err != nil {
		t.Fatal(err)
	}
	if b.End(); strings.Join(r.parts, "|") != "last|end" {
		t.Errorf("wrote %q", r.parts)
	}
	r = &recorder{fails: &conns.GoneError{Cause: errors.New("closed")}}
	b = newBody(r)
	_ = b.Add([]byte("last"))
	if b.End(); strings.Join(r.parts, "|") != "last" {
		t.Errorf("to a client that is gone it wrote %q", r.parts)
	}
}

// TestDetachedChunks: a reader of chunks understands the connection.
func TestDetachedChunks(t *testing.T) {
	here, there := net.Pipe()
	read := make(chan []byte)
	go func() {
		text, err := io.ReadAll(httputil.NewChunkedReader(there))
		if err != nil {
			t.Error(err)
		}
		read <- text
	}()
	var sent int64
	d := &Detached{conn: here, sent: &sent}
	b := newBody(d)
	var want bytes.Buffer
	for _, size := range []int{1, 15, 16, 4095, flushSize - 1, flushSize, flushSize + 1, 3 << 20, 7} {
		frame := bytes.Repeat([]byte{byte(size)}, size)
		want.Write(frame)
		if err := b.Add(frame); err != nil {
			t.Fatal(err)
		}
		if size%2 == 0 {
			if err := b.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.End()
	if got := <-read; !bytes.Equal(got, want.Bytes()) {
		t.Errorf("read %d bytes, want %d", len(got), want.Len())
	}
	if sent < int64(want.Len()) {
		t.Errorf("counted %d bytes", sent)
	}
	_ = here.Close()
	var gone *conns.GoneError
	if err := d.writeAll([]byte("x")); !errors.As(err, &gone) {
		t.Errorf("a closed connection gives %v", err)
	}
}

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		origin, authorization, protocol string
		ok                              bool
	}{
		{"", "", "", true}, // not a browser
		{"https://server.example.org:6443", "", "", true},
		{"https://SERVER.example.org:6443", "", "", true},
		{"https://server.example.org", "", "", false},
		{"https://evil.example.org", "", "", false},
		{"null", "", "", false},
		{"://", "", "", false},
		{"https://evil.example.org", "", "v1.json", false},
		{"https://page.example.org", "Bearer x", "", true},
		{"https://page.example.org", "", "v1.json, base64url.bearer.authorization.k8s.io.eA", true},
	} {
		r := &http.Request{Host: "server.example.org:6443", Header: http.Header{}}
		for name, value := range map[string]string{"Origin": test.origin, "Authorization": test.authorization, "Sec-Websocket-Protocol": test.protocol} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if err := SameOrigin(r); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestIsWebSocket(t *testing.T) {
	for _, test := range []struct {
		connection, upgrade []string
		want                bool
	}{
		{[]string{"Upgrade"}, []string{"websocket"}, true},
		{[]string{"keep-alive, upgrade"}, []string{"WebSocket"}, true},
		{[]string{"keep-alive", "Upgrade"}, []string{"h2c, websocket"}, true},
		{[]string{"keep-alive"}, []string{"websocket"}, false},
		{[]string{"Upgrade"}, []string{"SPDY/3.1"}, false},
		{nil, nil, false},
	} {
		r := &http.Request{Header: http.Header{"Connection": test.connection, "Upgrade": test.upgrade}}
		if got := IsWebSocket(r); got != test.want {
			t.Errorf("%v %v: %v", test.connection, test.upgrade, got)
		}
	}
}
