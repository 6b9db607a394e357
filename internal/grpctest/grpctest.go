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

	mu   sync.Mutex
	http *http.Server // nil while it does not listen
}

// New makes a server that does not listen yet. It ends with the test.
func New(t testing.TB, answer Handler) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // that of the test may have too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Path: filepath.Join(dir, "s"), answer: answer}
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
	s.mu.Lock()
	s.http = h
	s.mu.Unlock()
	go func() { _ = h.Serve(l) }()
}

// Stop closes the socket and all connections.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		_ = s.http.Close()
		s.http = nil
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
