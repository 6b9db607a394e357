package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// TestPanicIsAnswered: a panic becomes a 500 with a Status, is logged, and the
// server lives on.
func TestPanicIsAnswered(t *testing.T) {
	var log bytes.Buffer
	s, err := Start(context.Background(), Config{InMemory: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	<-s.Bootstrapped() // the roles by which everybody may read the version exist
	send := func(do func(*front.Request) error) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.front.Serve(w, httptest.NewRequest(http.MethodGet, "/version", nil), front.Target{Endpoint: do, AlwaysServed: true})
		return w
	}
	w := send(func(*front.Request) error { panic("a bug") })
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"kind":"Status"`) {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), "a bug") {
		t.Error("the client was told of the panic's inside")
	}
	if text := log.String(); !strings.Contains(text, "a bug") || !strings.Contains(text, "pipeline_test.go") {
		t.Errorf("the log does not say what panicked and where: %s", text)
	}
	if w := send(s.endpoints.Version); w.Code != http.StatusOK {
		t.Errorf("after the panic: %d %s", w.Code, w.Body)
	}
}

// TestPanicInRest: a panic after the verb has returned is logged, and the client sees that
// the answer is not whole.
func TestPanicInRest(t *testing.T) {
	var log bytes.Buffer
	s, err := Start(context.Background(), Config{InMemory: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	rt := front.NewRouter(s.front, s.endpoints.DiscoveryAt, func() []string { return nil })
	rt.Add("/version", front.Target{Endpoint: func(r *front.Request) error {
		r.Head(http.StatusOK, "text/plain")
		w := r.Writer
		r.Rest = func() {
			_, _ = io.WriteString(w, "the first part")
			panic("a bug")
		}
		return nil
	}, AlwaysServed: true, OwnRepresentation: true})
	at := httptest.NewUnstartedServer(rt)
	at.EnableHTTP2 = true
	at.StartTLS()
	defer at.Close()
	<-s.Bootstrapped()
	resp, err := at.Client().Get(at.URL + "/version")
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
			t.Fatalf("answered %s %s", resp.Proto, resp.Status)
		}
		_, err = io.ReadAll(resp.Body)
	}
	if err == nil {
		t.Error("the answer seems whole")
	}
	if err := s.Shutdown(context.Background()); err != nil { // the request has ended
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "a bug") || !strings.Contains(text, "pipeline_test.go") {
		t.Errorf("the log does not say what panicked and where: %s", text)
	}
}

// lateReader ends a body when the guard of its request has fired.
type lateReader struct {
	*httptest.ResponseRecorder
	s    *Server
	past chan struct{}
}

func (l lateReader) SetReadDeadline(time.Time) error { close(l.past); return nil }

func (l lateReader) Read([]byte) (int, error) {
	l.s.sweeper.CutEarly()
	<-l.past
	return 0, io.EOF
}

// TestBodyAtTheLastMoment: a body that is complete when its time is over is refused,
// since net/http goes on as if the client had gone.
func TestBodyAtTheLastMoment(t *testing.T) {
	s, err := Start(context.Background(), Config{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	w := lateReader{httptest.NewRecorder(), s, make(chan struct{})}
	r := front.NewRequest(w, httptest.NewRequest(http.MethodPost, "/", w), front.Target{}, s.features, s.limits)
	var room front.BodyRoom
	defer room.Leave()
	var refused *api.Error
	if err := s.front.Receive(r, &room); !errors.As(err, &refused) || refused.Code != http.StatusRequestTimeout {
		t.Errorf("%v", err)
	}
}

// BenchmarkPipeline is the way of a request with next to no verb, for a user of a level
// with queues and for an administrator, with and without priority and fairness.
func BenchmarkPipeline(b *testing.B) {
	tokens := filepath.Join(b.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("user,user,1\nadmin,admin,2,system:masters\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, off := range []bool{true, false} {
		s, err := Start(context.Background(), Config{InMemory: true, PKI: PKI{TokenAuthFile: tokens}, Background: Background{DisablePriorityAndFairness: off}})
		if err != nil {
			b.Fatal(err)
		}
		<-s.Bootstrapped()
		for _, user := range []string{"user", "admin"} {
			b.Run(fmt.Sprintf("%s fairness=%t", user, !off), func(b *testing.B) {
				q := httptest.NewRequest(http.MethodGet, "/version", nil)
				q.Header.Set("Authorization", "Bearer "+user)
				b.ReportAllocs()
				for b.Loop() {
					s.front.Serve(httptest.NewRecorder(), q, front.Target{Endpoint: func(*front.Request) error { return nil }, OwnRepresentation: true})
				}
			})
		}
		if err := s.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	}
}
