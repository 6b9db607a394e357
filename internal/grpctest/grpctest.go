// Package grpctest has a server of gRPC for tests.
package grpctest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/grpc"
)

// Handler answers a question to a method, "/v2.KeyManagementService/Status". A nil answer is a failure, with its code and words.
type Handler func(ctx context.Context, method string, question []byte) (answer []byte, code int, words string)

// Server is a server behind a socket.
type Server struct {
	// Path is the path of the socket.
	Path   string
	answer Handler

	mu     sync.Mutex
	http   *http.Server // nil while it does not listen
	open   int          // connections
	closed chan struct{}
}

// New makes a server that does not listen yet. It ends with the test.
func New(t testing.TB, answer Handler) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // that of the test may have too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Path: filepath.Join(dir, "s"), answer: answer, closed: make(chan struct{}, 1000)}
	t.Cleanup(func() {
		s.Stop()
		_ = os.RemoveAll(dir)
	})
	return s
}

// Listen has a server listen that does not.
func (s *Server) Listen(t testing.TB) {
	t.Helper()
	l, err := net.Listen("unix", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Protocols: new(http.Protocols), Handler: s}
	h.Protocols.SetUnencryptedHTTP2(true)
	h.ConnState = s.note
	s.mu.Lock()
	s.http = h
	s.mu.Unlock()
	go func() { _ = h.Serve(l) }()
}

// note counts connections.
func (s *Server) note(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.count(1)
	}
	if state == http.StateClosed {
		s.count(-1)
		select {
		case s.closed <- struct{}{}:
		default: // nobody waits
		}
	}
}

func (s *Server) count(more int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += more
	return s.open
}

// AwaitEnd waits until clients have closed all connections.
func (s *Server) AwaitEnd(ctx context.Context) error {
	for s.count(0) > 0 {
		select {
		case <-s.closed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Stop closes the socket and all connections.
func (s *Server) Stop() {
	s.mu.Lock()
	h := s.http
	s.http = nil
	s.mu.Unlock()
	if h != nil {
		_ = h.Close()
	}
}

// ServeHTTP implements http.Handler: one method of gRPC.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	question, err := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	answer, code, words := []byte(nil), grpc.Canceled, "no question"
	if err == nil && len(question) >= 5 {
		answer, code, words = s.answer(r.Context(), r.URL.Path, question[5:])
	}
	if answer == nil {
		w.WriteHeader(http.StatusOK)
		w.Header().Set("Grpc-Status", strconv.Itoa(code))
		w.Header().Set("Grpc-Message", url.PathEscape(words))
		return
	}
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
	w.Header().Set("Grpc-Status", "0")
}
