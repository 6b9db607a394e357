package webhook

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// certify makes a certificate of its own authority for names, and the authority as PEM.
func certify(t *testing.T, names ...string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// serve runs a webhook until the end of the test.
func serve(t *testing.T, cert tls.Certificate, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// fixed resolves every service to one address.
type fixed struct {
	address string
	asked   []string
	err     error
}

func (f *fixed) Resolve(_ context.Context, namespace, name string, port int32) (string, error) {
	f.asked = append(f.asked, fmt.Sprintf("%s/%s:%d", namespace, name, port))
	return f.address, f.err
}

func TestCalls(t *testing.T) {
	cert, ca := certify(t, "hook.shop.svc")
	var got atomic.Pointer[http.Request]
	s := serve(t, cert, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '!'))
	})
	at := &fixed{address: s.Listener.Addr().String()}
	for _, c := range []struct {
		name   string
		target Target
		path   string
	}{
		{"service", Target{Service: &Service{Namespace: "shop", Name: "hook", Path: "/convert"}, CABundle: ca}, "/convert?timeout=5s"},
		{"service with a port", Target{Service: &Service{Namespace: "shop", Name: "hook", Port: 8443}, CABundle: ca}, "/?timeout=5s"},
		{"url", Target{URL: s.URL + "/a/b", CABundle: ca}, "/a/b?timeout=5s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := New(c.target, at)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for range 3 {
				body, err := client.Call(t.Context(), Call{Body: []byte("{}"), Timeout: 5 * time.Second})
				if err != nil || string(body) != "{}!" {
					t.Fatalf("%q, %v", body, err)
				}
			}
			if r := got.Load(); r.ProtoMajor != 2 || r.URL.String() != c.path || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("HTTP/%d %s %s %v", r.ProtoMajor, r.Method, r.URL, r.Header)
			}
		})
	}
	if want := "[shop/hook:443 shop/hook:8443]"; fmt.Sprint(at.asked) != want {
		t.Errorf("resolved %v, want %s: once for each connection", at.asked, want)
	}
}

func TestHostileAnswers(t *testing.T) {
	cert, ca := certify(t, "hook.shop.svc")
	var elsewhere atomic.Int32
	end := make(chan struct{})
	s := serve(t, cert, func(w http.ResponseWriter, r *http.Request) {
		send := func(code int, media, body string) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
		switch r.URL.Path {
		case "/elsewhere":
			elsewhere.Add(1)
		case "/redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
		case "/found":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/500":
			send(500, "text/plain", "it broke\n")
		case "/503":
			send(503, "text/plain", "busy")
		case "/403":
			send(403, "text/plain", "not you")
		case "/status":
			send(422, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no such thing","code":422}`)
		case "/html":
			send(200, "text/html; charset=", "<html>")
		case "/huge":
			w.Header().Set("Content-Type", "application/json")
			part := bytes.Repeat([]byte(" "), 1<<16)
			for {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		case "/never":
			select {
			case <-r.Context().Done():
			case <-end:
			}
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		case "/stalled":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-end:
			}
		}
	})
	t.Cleanup(func() { close(end) })
	for path, want := range map[string]string{
		"/redirect": "status code 308",
		"/found":    "status code 302",
		"/500":      `an error on the server ("it broke") has prevented the request from succeeding`,
		"/503":      "currently unable to handle the request",
		"/403":      "not you",
		"/status":   "no such thing",
		"/html":     "Internal error occurred: mime: invalid media parameter",
		"/huge":     "more than 3145728 bytes",
		"/never":    "context deadline exceeded",
		"/stalled":  "context deadline exceeded",
		"/cut":      "unexpected error when reading response body",
	} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			client, err := New(Target{URL: s.URL + path, CABundle: ca}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			timeout := 30 * time.Second
			if strings.Contains(want, "deadline") {
				timeout = 50 * time.Millisecond
			}
			if _, err := client.Call(t.Context(), Call{Timeout: timeout}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	t.Cleanup(func() {
		if elsewhere.Load() != 0 {
			t.Error("a redirect was followed")
		}
	})
}

func TestUnreachable(t *testing.T) {
	cert, ca := certify(t, "other.shop.svc")
	_, foreign := certify(t, "hook.shop.svc")
	s := serve(t, cert, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	service := &Service{Namespace: "shop", Name: "hook", Path: "/x"}
	at := &fixed{address: s.Listener.Addr().String()}
	for _, c := range []struct {
		name     string
		target   Target
		resolver Resolver
		want     string
	}{
		{"another name", Target{Service: service, CABundle: ca}, at, "certificate is valid for other.shop.svc, not hook.shop.svc"},
		{"another authority", Target{Service: service, CABundle: foreign}, at, "certificate"},
		{"system roots", Target{URL: s.URL}, nil, "certificate signed by unknown authority"},
		{"no service", Target{Service: service, CABundle: ca}, &fixed{err: errors.New(`service "hook" not found`)}, `Post "https://hook.shop.svc:443/x?timeout=5s": service "hook" not found`},
		{"bad bundle", Target{Service: service, CABundle: []byte("x")}, at, "unable to parse bytes as PEM block"},
		{"nothing", Target{}, at, "must have either service or URL"},
		{"http", Target{URL: "http://x"}, at, "over https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := New(c.target, c.resolver)
			if err == nil {
				defer client.Close()
				_, err = client.Call(t.Context(), Call{Timeout: 5 * time.Second})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestNothingIsLeft checks that a closed client has no connections, that those of calls
// in flight end with them, and that concurrent calls share connections.
func TestNothingIsLeft(t *testing.T) {
	cert, ca := certify(t, "hook.shop.svc")
	var conns atomic.Int32
	entered, leave := make(chan struct{}, 8), make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-leave
		_, _ = io.WriteString(w, "{}")
	}))
	s.TLS, s.EnableHTTP2 = &tls.Config{Certificates: []tls.Certificate{cert}}, true
	changed := make(chan struct{}, 100)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			conns.Add(1)
		case http.StateClosed:
			conns.Add(-1)
			changed <- struct{}{}
		}
	}
	s.StartTLS()
	defer s.Close()
	client, err := New(Target{Service: &Service{Namespace: "shop", Name: "hook"}, CABundle: ca}, &fixed{address: s.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	call := func() {
		if _, err := client.Call(t.Context(), Call{Timeout: time.Minute}); err != nil {
			t.Error(err)
		}
	}
	var running sync.WaitGroup
	running.Go(call) // connects
	<-entered
	for range 7 {
		running.Go(call)
	}
	for range 7 {
		<-entered
	}
	if n := conns.Load(); n < 1 || n > 8 {
		t.Errorf("%d connections", n)
	}
	client.Close()
	close(leave)
	running.Wait()
	for conns.Load() > 0 {
		<-changed
	}
}
