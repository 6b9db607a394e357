// Package kmstest has a key management service for tests.
package kmstest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/grpc"
)

// Service is a key management service that speaks v1beta1, v2alpha1 and v2. It encrypts a key as the key
// after the name of its own present key. A test may change the fields at any time.
type Service struct {
	// Endpoint is its address in the configuration of an encryption.
	Endpoint string
	// Hangs: it answers nothing.
	Hangs atomic.Bool
	// Refuses: it answers each question with an error.
	Refuses atomic.Bool
	// Key is the number of its present key. Keys of before decrypt on.
	Key atomic.Int64
	// Asked counts questions, Hung those of them that got no answer.
	Asked, Hung atomic.Int64
}

// Start starts a service, which ends with the test.
func Start(t testing.TB) *Service {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kms.sock")
	s := &Service{Endpoint: "unix://" + path}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Protocols: new(http.Protocols), Handler: s}
	h.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = h.Serve(l) }()
	t.Cleanup(func() { _ = h.Close() })
	return s
}

// ServeHTTP implements http.Handler: one method of gRPC.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Asked.Add(1)
	if s.Hangs.Load() {
		s.Hung.Add(1)
		<-r.Context().Done()
		return
	}
	question, err := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	if err != nil || len(question) < 5 || s.Refuses.Load() {
		fail(w, 2, "refused") // unknown, as plain errors of Go
		return
	}
	answer := s.answer(r.URL.Path, question[5:])
	if answer == nil {
		fail(w, grpc.Unimplemented, "no such method")
		return
	}
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
	w.Header().Set("Grpc-Status", "0")
}

func fail(w http.ResponseWriter, code int, words string) {
	w.WriteHeader(http.StatusOK)
	w.Header().Set("Grpc-Status", strconv.Itoa(code))
	w.Header().Set("Grpc-Message", words)
}

// answer is the answer to a question; nil for a method that the service lacks.
func (s *Service) answer(method string, question []byte) []byte {
	id := strconv.FormatInt(s.Key.Load(), 10)
	switch method {
	case "/v1beta1.KeyManagementService/Version":
		return message("v1beta1", "test", "1")
	case "/v1beta1.KeyManagementService/Encrypt":
		return message(id + ":" + field(question, 2))
	case "/v1beta1.KeyManagementService/Decrypt":
		return message(decrypted(field(question, 2)))
	case "/v2.KeyManagementService/Status":
		return message("v2", "ok", id)
	case "/v2alpha1.KeyManagementService/Status":
		return message("v2alpha1", "ok", id)
	case "/v2.KeyManagementService/Encrypt", "/v2alpha1.KeyManagementService/Encrypt":
		return message(id+":"+field(question, 1), id)
	case "/v2.KeyManagementService/Decrypt", "/v2alpha1.KeyManagementService/Decrypt":
		return message(decrypted(field(question, 1)))
	}
	return nil
}

func decrypted(text string) string {
	_, key, _ := bytes.Cut([]byte(text), []byte(":"))
	return string(key)
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
