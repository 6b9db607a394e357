// Package kmstest has a key management service for tests.
package kmstest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/grpctest"
)

// Service is a key management service that speaks v1beta1, v2alpha1 and v2. It encrypts a key as the key
// after the name of its own present key. A test may change the atomic fields at any time.
type Service struct {
	// Endpoint is its address in the configuration of an encryption.
	Endpoint string
	only     string // the version that it speaks; "" for all
	// Hangs: it answers nothing.
	Hangs atomic.Bool
	// Fails is the code of gRPC with which it answers each question, "on purpose"; 0 for answers.
	Fails atomic.Int64
	// Key is the number of its present key. Keys of before decrypt on.
	Key atomic.Int64
	// Asked counts questions, Hung those of them that got no answer.
	Asked, Hung atomic.Int64

	mu    sync.Mutex
	calls map[string]int
}

// Start starts a service, which ends with the test.
func Start(t testing.TB) *Service { return StartOnly(t, "") }

// StartOnly starts a service that speaks one version: "v2alpha1".
func StartOnly(t testing.TB, version string) *Service {
	t.Helper()
	s := &Service{only: version, calls: map[string]int{}}
	socket := grpctest.New(t, s.serve)
	s.Endpoint = "unix://" + socket.Path
	socket.Listen(t)
	return s
}

// Calls is the number of questions by a method, "Encrypt", of any version.
func (s *Service) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// serve answers one question.
func (s *Service) serve(ctx context.Context, path string, question []byte) (answer []byte, code int, words string) {
	s.Asked.Add(1)
	version, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), ".KeyManagementService/")
	s.mu.Lock()
	s.calls[method]++
	s.mu.Unlock()
	if s.Hangs.Load() {
		s.Hung.Add(1)
		<-ctx.Done()
		return nil, grpc.Canceled, "hung"
	}
	if s.only != "" && s.only != version {
		return nil, grpc.Unimplemented, "no answer"
	}
	if code := s.Fails.Load(); code != 0 {
		return nil, int(code), "on purpose"
	}
	answer, code = s.answer(version, method, question)
	return answer, code, "no answer"
}

// annotation is the map of annotations that a question for the decryption of a key of v2 needs: a.b is c.
const annotation = "\x0a\x03a.b\x12\x01c"

// invalid is the code of gRPC for a question that is wrong.
const invalid = 3

// answer is the answer to a question; nil with a code for a method that the service lacks, and for a key of v2 that
// comes without its name or annotation.
func (s *Service) answer(version, method string, question []byte) (answer []byte, code int) {
	id := strconv.FormatInt(s.Key.Load(), 10)
	if version == "v1beta1" {
		switch method {
		case "Version":
			return message("v1beta1", "test", "1"), 0
		case "Encrypt":
			return message(id + ":" + field(question, 2)), 0
		case "Decrypt":
			_, key, _ := strings.Cut(field(question, 2), ":")
			return message(key), 0
		}
		return nil, grpc.Unimplemented
	}
	switch method {
	case "Status":
		return message(version, "ok", id), 0
	case "Encrypt":
		return message(id+":"+field(question, 1), id, annotation), 0
	case "Decrypt":
		if of, key, _ := strings.Cut(field(question, 1), ":"); of == field(question, 3) && field(question, 4) == annotation {
			return message(key), 0
		}
		return nil, invalid
	}
	return nil, grpc.Unimplemented
}

// message has texts as its fields 1, 2 and so on.
func message(texts ...string) []byte {
	made := []byte{}
	for i, text := range texts {
		made = protowire.AppendString(protowire.AppendTag(made, protowire.Number(i+1), protowire.BytesType), text)
	}
	return made
}

// field is the text of a field of a message that has texts, bytes and maps.
func field(message []byte, of protowire.Number) (text string) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		size := protowire.ConsumeFieldValue(number, kind, message[max(n, 0):])
		if n < 0 || size < 0 {
			return ""
		}
		if number == of {
			value, _ := protowire.ConsumeBytes(message[n:])
			text = string(value)
		}
		message = message[n+size:]
	}
	return text
}
