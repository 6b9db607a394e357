package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/request"
)

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
	r := new(request.Request)
	s.env.Begin(r, w, httptest.NewRequest(http.MethodPost, "/", w), request.Target{})
	defer s.env.End(r)
	var room request.BodyRoom
	defer room.Leave()
	var refused *api.Error
	if err := s.env.Receive(r, &room); !errors.As(err, &refused) || refused.Code != http.StatusRequestTimeout {
		t.Errorf("%v", err)
	}
}

// BenchmarkPipeline is the way of a request for the version, for a user of a level
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
					s.http.Handler.ServeHTTP(httptest.NewRecorder(), q)
				}
			})
		}
		if err := s.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	}
}
