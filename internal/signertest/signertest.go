// Package signertest has an external signer of service accounts' tokens for tests.
package signertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/grpctest"
)

// Signer is an external signer that speaks one version of the protocol.
type Signer struct {
	*grpctest.Server
	version string

	mu    sync.Mutex
	says  Says
	asked map[string]int
	calls chan string
}

// Says holds the answers of a signer.
type Says struct {
	Keys  []Key // the first one signs
	Hint  int64 // seconds until the next question for keys
	Life  int64 // the longest life of a token, in seconds
	Dated time.Time
	// Header is the header of tokens, JSON; "" for a right one.
	Header string
	// Hangs names a method that is not answered, Fails one that fails with Code; Raw are answers in place of the right ones, by method.
	Hangs, Fails string
	Code         int
	Raw          map[string][]byte
}

// Key is a key of a signer.
type Key struct {
	ID      string
	Private *ecdsa.PrivateKey
	Hidden  bool
}

// NewKey makes a key.
func NewKey(t testing.TB, id string) Key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{ID: id, Private: private}
}

// New makes a signer with one key, "one", that does not listen yet.
func New(t testing.TB, version string) *Signer {
	t.Helper()
	s := &Signer{version: version, asked: map[string]int{}, calls: make(chan string, 1000),
		says: Says{Keys: []Key{NewKey(t, "one")}, Hint: 3600, Life: 86400, Dated: time.Unix(1700000000, 5e8)}}
	s.Server = grpctest.New(t, s.serve)
	return s
}

// Start starts a signer that speaks v1.
func Start(t testing.TB) *Signer {
	t.Helper()
	s := New(t, "v1")
	s.Listen(t)
	return s
}

// Change changes the answers from now on.
func (s *Signer) Change(change func(*Says)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.says)
}

// Asked is the number of questions to a method, "Sign".
func (s *Signer) Asked(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// Calls are the methods that were asked, in their order.
func (s *Signer) Calls() <-chan string { return s.calls }

func (s *Signer) serve(ctx context.Context, path string, question []byte) (answer []byte, code int, words string) {
	version, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), ".ExternalJWTSigner/")
	s.mu.Lock()
	says := s.says
	s.asked[method]++
	s.mu.Unlock()
	select {
	case s.calls <- method:
	default: // nobody looks
	}
	raw, has := says.Raw[method]
	switch {
	case version != s.version:
		return nil, grpc.Unimplemented, "unknown service"
	case says.Hangs == method:
		<-ctx.Done()
		return nil, grpc.Canceled, "hung"
	case says.Fails == method:
		return nil, says.Code, "on purpose"
	case has:
		return raw, 0, ""
	case method == "FetchKeys":
		return says.FetchKeys(), 0, ""
	case method == "Metadata":
		return number([]byte{}, 1, uint64(says.Life)), 0, ""
	case method == "Sign":
		return says.Sign(question), 0, ""
	}
	return nil, grpc.Unimplemented, "unknown method"
}

// FetchKeys is the answer of that method.
func (s *Says) FetchKeys() (message []byte) {
	for _, k := range s.Keys {
		der, err := x509.MarshalPKIXPublicKey(k.Private.Public())
		if err != nil {
			panic(err)
		}
		key := grpc.AppendBytes(grpc.AppendBytes(nil, 1, []byte(k.ID)), 2, der)
		if k.Hidden {
			key = number(key, 3, 1)
		}
		message = grpc.AppendBytes(message, 1, key)
	}
	message = grpc.AppendBytes(message, 2, number(number(nil, 1, uint64(s.Dated.Unix())), 2, uint64(s.Dated.Nanosecond())))
	return number(message, 3, uint64(s.Hint))
}

// Sign is the answer of that method.
func (s *Says) Sign(question []byte) []byte {
	var payload string
	grpc.Fields(question, func(_ protowire.Number, value []byte) { payload = string(value) })
	header := s.Header
	if header == "" {
		header = `{"alg":"ES256","kid":"` + s.Keys[0].ID + `","typ":"JWT"}`
	}
	header = base64.RawURLEncoding.EncodeToString([]byte(header))
	sum := sha256.Sum256([]byte(header + "." + payload))
	x, y, err := ecdsa.Sign(rand.Reader, s.Keys[0].Private, sum[:])
	if err != nil {
		panic(err)
	}
	signature := append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...)
	return grpc.AppendBytes(grpc.AppendBytes(nil, 1, []byte(header)), 2, []byte(base64.RawURLEncoding.EncodeToString(signature)))
}

func number(dst []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), value)
}
