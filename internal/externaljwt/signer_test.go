package externaljwt

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/signertest"
)

// figures gathers what a signer counts.
type figures struct {
	mu              sync.Mutex
	called          []string
	signed, fetched []string
	dated           time.Time
}

func (f *figures) Called(method, code string, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called = append(f.called, method+" "+code)
}

func (f *figures) Signed(code string) { f.signed = append(f.signed, code) }

func (f *figures) Fetched(code string, _, dated time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fetched, f.dated = append(f.fetched, code), dated
}

// opened is a signer in use.
type opened struct {
	*Signer
	figures figures
	changes chan []authn.PublicKey
}

// begin uses a signer, until the end of the test.
func begin(t testing.TB, of *signertest.Signer, change func(*Config)) (*opened, error) {
	t.Helper()
	o := &opened{changes: make(chan []authn.PublicKey, 100)}
	cfg := Config{Endpoint: of.Path, Version: "v1", Figures: &o.figures, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
		Changed: func(keys []authn.PublicKey) { o.changes <- keys },
		Pauses:  Pauses{Fetch: 20 * time.Second, Metadata: 20 * time.Second, Again: time.Millisecond}}
	if change != nil {
		change(&cfg)
	}
	var err error
	if o.Signer, err = Open(t.Context(), cfg); err == nil {
		t.Cleanup(o.Close)
	}
	return o, err
}

func start(t testing.TB, of *signertest.Signer) *opened {
	t.Helper()
	o, err := begin(t, of, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSign(t *testing.T) {
	signer := signertest.Start(t)
	s := start(t, signer)
	token, err := s.Sign(t.Context(), []byte(`{"a":1}`))
	parts := strings.Split(token, ".")
	if err != nil || len(parts) != 3 || parts[1] != base64.RawURLEncoding.EncodeToString([]byte(`{"a":1}`)) {
		t.Fatalf("%q, %v", token, err)
	}
	if s.LongestLife() != 24*time.Hour {
		t.Errorf("lives of %v", s.LongestLife())
	}
	const of = "/v1.ExternalJWTSigner/"
	if f := &s.figures; !slices.Equal(f.called, []string{of + "FetchKeys OK", of + "Metadata OK", of + "Sign OK"}) || !slices.Equal(f.signed, []string{"OK"}) ||
		!slices.Equal(f.fetched, []string{"OK"}) || !f.dated.Equal(time.Unix(1700000000, 5e8)) {
		t.Errorf("%v %v %v %v", f.called, f.signed, f.fetched, f.dated)
	}
}

// TestHeaders: the header of a token has a known algorithm, a key that may sign, its type, and nothing else.
func TestHeaders(t *testing.T) {
	signer := signertest.Start(t)
	hidden := signertest.NewKey(t, "hidden")
	hidden.Hidden = true
	signer.Change(func(s *signertest.Says) { s.Keys = append(s.Keys, hidden) })
	s := start(t, signer)
	long := strings.Repeat("x", 1024)
	for header, want := range map[string]string{
		`{"alg":"ES256","kid":"one","typ":"JWT"}`:                "",
		`{"alg":"RS256","kid":"unknown","typ":"JWT"}`:            "",
		`{"alg":"ES512","kid":"` + long + `","typ":"JWT"}`:       "",
		`{"alg":"ES256","kid":"` + long + `x","typ":"JWT"}`:      "while validating header: key id longer than 1 kb",
		`{"alg":"ES256","kid":"","typ":"JWT"}`:                   "while validating header: key id missing",
		`{"alg":"ES256","kid":"one"}`:                            "while validating header: bad type",
		`{"alg":"HS256","kid":"one","typ":"JWT"}`:                `while validating header: bad signing algorithm "HS256"`,
		`{"alg":"none","kid":"one","typ":"JWT"}`:                 `while validating header: bad signing algorithm "none"`,
		`{"alg":"ES256","kid":"one","typ":"JWT","jku":"http:x"}`: `while validating header: while parsing header JSON: json: unknown field "jku"`,
		`{"alg":"ES256","kid":"hidden","typ":"JWT"}`:             "while validating header: key used for signing JWT (kid: hidden) is excluded from OIDC discovery docs",
		`[]`:   "while validating header: while parsing header JSON: json: cannot unmarshal array into Go value of type struct { Algorithm string \"json:\\\"alg,omitempty\\\"\"; KeyID string",
		"\x00": "while validating header: while parsing header JSON: invalid character '\\x00' looking for beginning of value",
	} {
		signer.Change(func(s *signertest.Says) { s.Header = header })
		s.figures.signed = nil
		token, err := s.Sign(t.Context(), []byte("{}"))
		if (err == nil) != (want == "") || err != nil && (!strings.HasPrefix(err.Error(), want) || token != "" || s.figures.signed[0] != "unknown-non-grpc") {
			t.Errorf("%s: %q, %v, %v", header, token, err, s.figures.signed)
		}
	}
}

// TestSignsFail: a signer that fails or answers nonsense is named by the code of gRPC.
func TestSignsFail(t *testing.T) {
	signer := signertest.Start(t)
	s := start(t, signer)
	right := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"one","typ":"JWT"}`))
	raw := func(message []byte) func(*signertest.Says) {
		return func(s *signertest.Says) { s.Raw = map[string][]byte{"Sign": message} }
	}
	for name, c := range map[string]struct {
		change     func(*signertest.Says)
		want, code string
	}{
		"fails":      {func(s *signertest.Says) { s.Fails, s.Code = "Sign", 7 }, "while signing jwt: rpc error: code = PermissionDenied desc = on purpose", "PermissionDenied"},
		"odd code":   {func(s *signertest.Says) { s.Fails, s.Code = "Sign", 77 }, "while signing jwt: rpc error: code = Code(77) desc = on purpose", "Code(77)"},
		"hangs":      {func(s *signertest.Says) { s.Hangs = "Sign" }, "while signing jwt: rpc error: code = DeadlineExceeded desc = ", "DeadlineExceeded"},
		"cut":        {raw([]byte{10, 200}), "while signing jwt: rpc error: code = Internal desc = grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data", "Internal"},
		"not UTF-8":  {raw(grpc.AppendBytes(nil, 1, []byte{255})), "while signing jwt: rpc error: code = Internal desc = ", "Internal"},
		"too large":  {raw(make([]byte, 5<<20)), "while signing jwt: rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5242880 vs. 4194304)", "ResourceExhausted"},
		"empty":      {raw([]byte{}), "while validating header: while parsing header JSON: EOF", "unknown-non-grpc"},
		"not base64": {raw(grpc.AppendBytes(nil, 1, []byte("?"))), "while validating header: while unwrapping header: illegal base64 data", "unknown-non-grpc"},
		"unsigned":   {raw(grpc.AppendBytes(nil, 1, []byte(right))), "empty signature returned", "unknown-non-grpc"},
	} {
		signer.Change(func(s *signertest.Says) { s.Fails, s.Hangs, s.Raw = "", "", nil })
		signer.Change(c.change)
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if name == "hangs" {
			ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		}
		s.figures.signed = nil
		_, err := s.Sign(ctx, []byte("{}"))
		cancel()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || s.figures.signed[0] != c.code {
			t.Errorf("%s: %v, %v", name, err, s.figures.signed)
		}
	}
}

// TestWaits: a signer that does not listen is waited for, and one that has gone does not break the next token.
func TestWaits(t *testing.T) {
	signer := signertest.New(t, "v1")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Config{Endpoint: signer.Path, Version: "v1", Figures: &figures{}, Clock: time.Now})
	if err == nil || !strings.HasPrefix(err.Error(), "while setting up external-jwt-signer: while initially filling key cache: ") {
		t.Errorf("%v", err)
	}
	type result struct {
		s   *opened
		err error
	}
	done := make(chan result, 1)
	go func() {
		s, err := begin(t, signer, nil)
		done <- result{s, err}
	}()
	signer.Listen(t)
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	signer.Stop()
	signer.Listen(t)
	_, err = got.s.Sign(t.Context(), []byte("{}"))
	if err != nil && strings.Contains(err.Error(), "code = Unavailable") { // the end of the connection came after the message
		_, err = got.s.Sign(t.Context(), []byte("{}"))
	}
	if err != nil {
		t.Errorf("after a restart: %v", err)
	}
	signer.Stop()
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := got.s.Sign(ctx, []byte("{}")); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "code = DeadlineExceeded") {
		t.Errorf("without a signer: %v", err)
	}
}

// TestClose: the end of the use of a signer closes the connection and ends what has begun.
func TestClose(t *testing.T) {
	signer := signertest.Start(t)
	s := start(t, signer)
	signer.Change(func(s *signertest.Says) { s.Hangs = "FetchKeys" })
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		s.Keys(context.Background(), "two")
	}()
	for signer.Asked("FetchKeys") < 2 {
		<-signer.Calls()
	}
	s.Close()
	<-waits
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := signer.AwaitEnd(ctx); err != nil {
		t.Errorf("a connection is left: %v", err)
	}
}

// TestLongestLife: a signer whose tokens end too early is refused, as is one that does not say it.
func TestLongestLife(t *testing.T) {
	signer := signertest.Start(t)
	for life, want := range map[int64]string{600: "", 1 << 62: "", 599: "max token life supported by external-jwt-signer (599s) is less than acceptable (min 600s)",
		-1: "max token life supported by external-jwt-signer (-1s) is less than acceptable (min 600s)"} {
		signer.Change(func(s *signertest.Says) { s.Life = life })
		s, err := begin(t, signer, nil)
		if (err == nil) != (want == "") || err != nil && err.Error() != "while setting up external-jwt-signer: "+want {
			t.Errorf("%d: %v", life, err)
		}
		if err == nil && s.LongestLife() != time.Duration(min(life, 1<<32))*time.Second {
			t.Errorf("%d: %v", life, s.LongestLife())
		}
	}
	signer.Change(func(s *signertest.Says) { s.Fails, s.Code = "Metadata", grpc.Unimplemented })
	if _, err := begin(t, signer, nil); err == nil || err.Error() != "while setting up external-jwt-signer: rpc error: code = Unimplemented desc = on purpose" {
		t.Errorf("%v", err)
	}
	if _, err := begin(t, signer, func(c *Config) { c.Version = "v1alpha1" }); err == nil || !strings.Contains(err.Error(), "code = Unimplemented desc = unknown service") {
		t.Errorf("another version of the protocol: %v", err)
	}
}
