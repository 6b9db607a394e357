// Package externaljwt has tokens of service accounts signed by a program behind a socket, by the protocol
// k8s.io/externaljwt: the program signs tokens, and names the keys that verify them.
package externaljwt

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// Config names the program, and the parts of the server that it works for.
type Config struct {
	// Endpoint is the path of its socket; "@name" is one without a file.
	Endpoint string
	// Version is that of the protocol: v1, or v1alpha1.
	Version string
	Figures Figures
	Log     *slog.Logger
	Clock   func() time.Time
	// Changed receives the first keys, and all keys after each change, in the order of the changes.
	Changed func([]authn.PublicKey)
	// Pauses are those of kube-apiserver when they are zero.
	Pauses Pauses
}

// Pauses are the times of the calls.
type Pauses struct {
	Fetch    time.Duration // bounds a question for the keys
	Metadata time.Duration // bounds the question for the longest life of a token
	Again    time.Duration // after a question for the keys that failed
}

// Figures count calls. A code is the name of one of gRPC.
type Figures interface {
	// Called notes a call of a method, "/v1.ExternalJWTSigner/Sign".
	Called(method, code string, took time.Duration)
	// Signed and Fetched note a token, and an answer with keys, that were used or refused. The keys are as
	// they were at a time, zero for an answer that was refused.
	Signed(code string)
	Fetched(code string, now, dated time.Time)
}

// Signer is the program. It implements authn.ExternalSigner.
type Signer struct {
	cfg   Config
	calls *grpc.Caller
	life  time.Duration
	keys  atomic.Pointer[keySet]

	failing atomic.Bool // the keys could not be fetched, as was logged

	running context.Context // until Close
	stop    context.CancelFunc
	work    sync.WaitGroup // of the goroutines
	mu      ranks.Mutex[ranks.Leaf]
	now     *fetch // under way; nil for none
}

var _ authn.ExternalSigner = (*Signer)(nil)

// leastLife is the least value, in seconds, of the longest life of a token.
const leastLife = 600

// mostSeconds bounds times that the program names: 136 years.
const mostSeconds = 1 << 32

// Open asks the program for its keys and for the longest life of a token, and begins to follow its keys.
func Open(ctx context.Context, cfg Config) (*Signer, error) {
	if cfg.Pauses == (Pauses{}) {
		cfg.Pauses = Pauses{Fetch: time.Minute, Metadata: 10 * time.Second, Again: 10 * time.Second}
	}
	s := &Signer{cfg: cfg, calls: grpc.New("unix", cfg.Endpoint)}
	s.running, s.stop = context.WithCancel(context.Background())
	err := s.refresh(ctx)
	if err != nil {
		err = fmt.Errorf("while initially filling key cache: while performing initial cache fill: %w", err)
	} else {
		s.life, err = s.longestLife(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("while setting up external-jwt-signer: %w", err)
	}
	s.work.Go(s.follow)
	return s, nil
}

// Close ends all questions for keys, and closes the connection. No token is signed any more.
func (s *Signer) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.work.Wait()
	s.calls.Cut()
}

// LongestLife is the longest life of a token.
func (s *Signer) LongestLife() time.Duration { return s.life }

// longestLife asks the program for the longest life of a token.
func (s *Signer) longestLife(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Pauses.Metadata)
	defer cancel()
	var seconds int64
	err := s.call(ctx, "Metadata", nil, func(answer []byte) (err error) {
		seconds, err = readMetadata(answer)
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case seconds < leastLife:
		return 0, fmt.Errorf("max token life supported by external-jwt-signer (%ds) is less than acceptable (min %ds)", seconds, leastLife)
	}
	return time.Duration(min(seconds, mostSeconds)) * time.Second, nil
}

// Sign makes a token of its claims. The program has to answer with a header of a known form; its signature is not verified.
func (s *Signer) Sign(ctx context.Context, claims []byte) (token string, err error) {
	defer func() { s.cfg.Figures.Signed(codeOf(err)) }()
	payload := base64.RawURLEncoding.EncodeToString(claims)
	var header, signature string
	err = s.call(ctx, "Sign", grpc.AppendBytes(nil, 1, []byte(payload)), func(answer []byte) (err error) {
		header, signature, err = readSignature(answer)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("while signing jwt: %w", err)
	}
	key, err := checkHeader(header)
	if err != nil {
		return "", fmt.Errorf("while validating header: %w", err)
	}
	for _, known := range s.Keys(ctx, key) {
		if known.Hidden {
			return "", fmt.Errorf("while validating header: key used for signing JWT (kid: %s) is excluded from OIDC discovery docs", key)
		}
	}
	if signature == "" {
		return "", errors.New("empty signature returned")
	}
	return header + "." + payload + "." + signature, nil
}

// mostKeyID bounds the name of a key, in bytes.
const mostKeyID = 1024

// checkHeader returns the name of the key in the header of a token.
func checkHeader(header string) (key string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return "", fmt.Errorf("while unwrapping header: %w", err)
	}
	var of struct { // the tags are in the words about a header of another form
		Algorithm string `json:"alg,omitempty"`
		KeyID     string `json:"kid,omitempty"`
		Type      string `json:"typ,omitempty"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&of); err != nil {
		return "", fmt.Errorf("while parsing header JSON: %w", err)
	}
	switch {
	case of.Type != "JWT":
		return "", errors.New("bad type")
	case of.KeyID == "":
		return "", errors.New("key id missing")
	case len(of.KeyID) > mostKeyID:
		return "", errors.New("key id longer than 1 kb")
	case !authn.SignsTokens(of.Algorithm):
		return "", fmt.Errorf("bad signing algorithm %q", of.Algorithm)
	}
	return of.KeyID, nil
}

// callError is the error of a call, in the words of libraries of gRPC.
type callError struct{ err error }

func (e *callError) Error() string {
	said := e.err.Error()
	if known := (*grpc.StatusError)(nil); errors.As(e.err, &known) {
		said = known.Message
	}
	return "rpc error: code = " + grpc.CodeName(grpc.CodeOf(e.err)) + " desc = " + said
}

func (e *callError) Unwrap() error { return e.err }

// codeOf is the code of an error in metrics.
func codeOf(err error) string {
	if known := (*callError)(nil); err != nil && !errors.As(err, &known) {
		return "unknown-non-grpc"
	}
	return grpc.CodeName(grpc.CodeOf(err))
}

// call calls a method, and has its answer read.
func (s *Signer) call(ctx context.Context, method string, message []byte, read func(answer []byte) error) (err error) {
	path, begun := "/"+s.cfg.Version+".ExternalJWTSigner/"+method, s.cfg.Clock()
	answer, err := s.calls.CallWhenReady(ctx, path, message)
	if err == nil {
		if wrong := read(answer); wrong != nil {
			err = &grpc.StatusError{Code: grpc.Internal, Message: "grpc: failed to unmarshal the received message: " + wrong.Error()}
		}
	}
	if err != nil {
		err = &callError{err}
	}
	s.cfg.Figures.Called(path, codeOf(err), s.cfg.Clock().Sub(begun))
	return err
}

// errMessage is the error of an answer that does not have the form of its message.
var errMessage = errors.New("proto: cannot parse invalid wire-format data")

// readSignature reads the answer of Sign.
func readSignature(answer []byte) (header, signature string, err error) {
	whole := grpc.Fields(answer, func(field protowire.Number, value []byte) {
		switch field {
		case 1:
			header = string(value)
		case 2:
			signature = string(value)
		}
	})
	if !whole || !validTexts(header, signature) {
		return "", "", errMessage
	}
	return header, signature, nil
}

// readMetadata reads the answer of Metadata: the longest life of a token, in seconds.
func readMetadata(answer []byte) (seconds int64, err error) {
	if !grpc.Fields(answer, func(protowire.Number, []byte) {}) {
		return 0, errMessage
	}
	return int64(grpc.Number(answer, 1)), nil
}
