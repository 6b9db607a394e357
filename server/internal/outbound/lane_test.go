package outbound

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func newTestLane() *Lane[*tls.Certificate] {
	return NewLane(func(*tls.Certificate) *Transports {
		return NewTransports(&tls.Config{InsecureSkipVerify: true}, Dialer().DialContext) //nolint:gosec // for tests
	})
}

// TestManyConnectionsEnd: connections that net/http dials for many requests at once, and does
// not need when the first of them is there, end too.
func TestManyConnectionsEnd(t *testing.T) {
	var open atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	s.EnableHTTP2 = true
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	s.StartTLS()
	defer s.Close()
	for range 20 {
		l := newTestLane()
		var sent sync.WaitGroup
		for range 8 {
			sent.Go(func() {
				by := l.Begin(nil)
				defer by.End()
				resp, err := (&http.Client{Transport: by.Requests}).Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			})
		}
		sent.Wait()
		l.Close()
	}
	for end := time.Now().Add(10 * time.Second); open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections stay open", open.Load())
		}
	}
}

// TestConnectionsEndWithTheirLane: the connections of a lane that is closed end with their requests, over HTTP/1.1 and HTTP/2, also those that are made later.
func TestConnectionsEndWithTheirLane(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			begun, goOn, closed := make(chan struct{}, 2), make(chan struct{}), make(chan struct{}, 2)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				begun <- struct{}{}
				<-goOn
				_, _ = io.WriteString(w, "answer")
			}))
			s.EnableHTTP2 = http2
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					closed <- struct{}{}
				}
			}
			s.StartTLS()
			defer s.Close()
			defer s.CloseClientConnections()
			l := newTestLane()
			send := func(by *Transports) {
				defer by.End()
				resp, err := (&http.Client{Transport: by.Requests}).Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			sent := make(chan struct{})
			go func() { defer close(sent); send(l.Begin(nil)) }()
			<-begun
			l.Close()
			close(goOn)
			<-sent
			ends := func(what string) {
				t.Helper()
				select {
				case <-closed:
				case <-time.After(10 * time.Second):
					t.Error(what + " stays open")
				}
			}
			ends("the connection of a request that was on its way")
			send(l.Begin(nil))
			ends("the connection of a later request")
			other := newTestLane()
			other.Close()
			send(other.Begin(nil))
			ends("the connection of a lane that was closed unused")
		})
	}
}

// TestConnectionsEndWithTheirCredentials: the connections by earlier credentials end with
// their last request, and no later.
func TestConnectionsEndWithTheirCredentials(t *testing.T) {
	closed := make(chan struct{}, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	s.StartTLS()
	defer s.Close()
	l := newTestLane()
	defer l.Close()
	first := l.Begin(nil)
	resp, err := (&http.Client{Transport: first.Requests}).Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	second := l.Begin(&tls.Certificate{})
	if second == first {
		t.Fatal("other credentials have the same connections")
	}
	second.End()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("a request that was on its way is cut off: %v", err)
	}
	_ = resp.Body.Close()
	first.End()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the connection by the earlier credentials stays open")
	}
}
