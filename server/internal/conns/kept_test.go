package conns

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// keeper is a server whose connections rest at once, and the number of its connections
// in the eyes of net/http.
type keeper struct {
	t        *testing.T
	listener *Listener
	http     *http.Server
	served   atomic.Int64
}

func newKeeper(t *testing.T, idle time.Duration) *keeper {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSweeper(time.Minute, 16*time.Millisecond)
	done := make(chan struct{})
	go s.Run(done)
	config := &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
	k := &keeper{t: t, listener: NewListener(tcp, config, time.Minute, s, t.Logf)}
	k.listener.resting = time.Millisecond
	k.http = &http.Server{IdleTimeout: idle, ConnContext: WithConn, ConnState: func(c net.Conn, state http.ConnState) {
		NoteState(c, state)
		if state == http.StateNew {
			k.served.Add(1)
		}
	}}
	k.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.TLS == nil || r.ProtoMajor == 1 && Of(r) == nil || err != nil {
			t.Errorf("the request has the connection %v, TLS %v, error %v", Of(r), r.TLS, err)
		}
		_, _ = fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	})
	ended := make(chan error)
	go func() { ended <- k.http.Serve(k.listener) }()
	t.Cleanup(func() {
		_ = k.http.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		close(done)
	})
	return k
}

func (k *keeper) dial() *tls.Conn {
	k.t.Helper()
	c, err := tls.Dial("tcp", k.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = c.Close() })
	return c
}

// resting waits until as many connections rest.
func (k *keeper) resting(n int) {
	k.t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		k.listener.mu.Lock()
		waiting := len(k.listener.waiting)
		k.listener.mu.Unlock()
		if waiting == n {
			return
		}
	}
	k.t.Fatalf("%d connections do not rest", n)
}

// want sends texts one by one and expects an answer.
func want(t *testing.T, c *tls.Conn, body string, parts ...string) {
	t.Helper()
	for i, p := range parts {
		if i > 0 {
			time.Sleep(5 * time.Millisecond) // longer than an idle connection waits; the answer is the same without
		}
		if _, err := io.WriteString(c, p); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != body {
		t.Errorf("answered %q, %v; want %q", got, err, body)
	}
}

// TestKept: connections rest between requests, and lose nothing.
func TestKept(t *testing.T) {
	k := newKeeper(t, time.Minute)
	c := k.dial()
	post := "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"
	for round := range 3 {
		want(t, c, "/a ", "GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
		k.resting(1)
		if n := k.served.Load(); n != int64(round+1) {
			t.Fatalf("net/http has had %d connections after %d rests", n, round)
		}
		want(t, c, "/p abcde", post+"abc", "de")
		want(t, c, "/p abcde", "P", "OST"+post[4:9], post[9:], "abc", "de")
		want(t, c, "/p abcde", post+"abcdeGE") // and the beginning of the next
		want(t, c, "/b ", "T", " /b HTTP/1.1\r\nHost: h\r\n\r\n")
		k.resting(1)
		k.served.Store(int64(round + 1))
	}
}

// TestKeptEnds: a resting connection is closed when it is idle for too long, and with the
// server, by TLS's message of that.
func TestKeptEnds(t *testing.T) {
	for name, end := range map[string]func(*keeper) error{
		"idle":     func(*keeper) error { return nil },
		"close":    func(k *keeper) error { return k.http.Close() },
		"shutdown": func(k *keeper) error { return k.http.Shutdown(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			idle := time.Hour
			if name == "idle" {
				idle = 100 * time.Millisecond
			}
			k := newKeeper(t, idle)
			var all []*tls.Conn
			for range 5 {
				c := k.dial()
				want(t, c, "/a ", "GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
				all = append(all, c)
			}
			if name != "idle" {
				k.resting(len(all))
			}
			if err := end(k); err != nil {
				t.Error(err)
			}
			for _, c := range all {
				if _, err := c.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("a connection of a server that ended says %v", err)
				}
			}
			if name == "idle" {
				k.resting(0)
			}
		})
	}
}

// TestListenerRefuses: plain HTTP gets a hint, and neither it nor a client that goes away
// ends the server; HTTP/2 is left to net/http.
func TestListenerRefuses(t *testing.T) {
	k := newKeeper(t, time.Minute)
	c, err := net.Dial("tcp", k.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(c); !strings.HasPrefix(string(got), "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.") {
		t.Errorf("plain HTTP is answered with %q", got)
	}
	_ = c.Close()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://" + k.listener.Addr().String() + "/x")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("answered over %s", resp.Proto)
	}
}
