package extensions

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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
		l := lane{destination: &destination{insecure: true}}
		var sent sync.WaitGroup
		for range 8 {
			sent.Go(func() {
				by := l.transports(nil)
				defer by.ended()
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
		l.close()
	}
	for end := time.Now().Add(10 * time.Second); open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections stay open", open.Load())
		}
	}
}

// TestConnectionsEndWithTheirWay: the connections to a server that is not registered any
// more end with their requests, over HTTP/1.1 and HTTP/2, also those that are made later.
func TestConnectionsEndWithTheirWay(t *testing.T) {
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
			l := lane{destination: &destination{insecure: true}}
			send := func(by *transports) {
				defer by.ended()
				resp, err := (&http.Client{Transport: by.Requests}).Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			sent := make(chan struct{})
			go func() { defer close(sent); send(l.transports(nil)) }()
			<-begun
			l.close()
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
			send(l.transports(nil))
			ends("the connection of a later request")
			other := lane{destination: l.destination}
			other.close()
			send(other.transports(nil))
			ends("the connection of a way that was closed unused")
		})
	}
}
