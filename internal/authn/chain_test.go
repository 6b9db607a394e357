package authn

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/api"
)

const sampleTokens = "alice-token,alice,alice-uid,dev\nnobody-token,system:anonymous,\n"

func sampleBearer(t testing.TB) TokenAuthenticator {
	tokens, err := ParseTokens(strings.NewReader(sampleTokens))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// fixed gives every request the same answer.
type fixed struct {
	identity *Identity
	err      error
}

func (f fixed) Authenticate(*http.Request) (*Identity, error) { return f.identity, f.err }

func chainOf(log *slog.Logger, anonymous bool, certificates Authenticator, tokens TokenAuthenticator) *Chain {
	return New(Config{Log: log, Certificates: certificates, Tokens: tokens, Anonymous: anonymous})
}

func withHeader(value string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	if value != "" {
		r.Header.Set("Authorization", value)
	}
	return r
}

func TestBearerHeader(t *testing.T) {
	for _, c := range []struct {
		header, user string // user "401" for a refusal
		warned       bool
	}{
		{"", UserAnonymous, false},
		{"Bearer alice-token", "alice", false},
		{"bearer alice-token", "alice", false},
		{"BEARER alice-token ", "alice", false},
		{"Bearer alice-token and more", "alice", false},
		{"Bearer nobody-token", UserAnonymous, false},
		{"Bearer wrong", "401", false},
		{"Bearer ALICE-TOKEN", "401", false},
		{"Bearer alice-token,", "401", false},
		{"Bearer", UserAnonymous, false},
		{"Bearer ", UserAnonymous, false},
		{"Bearer  alice-token", UserAnonymous, true},
		{"Bearer\talice-token", UserAnonymous, false},
		{"Beareralice-token", UserAnonymous, false},
		{"Basic YWxpY2U6YWxpY2U=", UserAnonymous, false},
		{"alice-token", UserAnonymous, false},
	} {
		t.Run(c.header, func(t *testing.T) {
			r := withHeader(c.header)
			got := "401"
			if u, err := chainOf(slog.New(slog.DiscardHandler), true, fixed{}, sampleBearer(t)).Authenticate(r); err == nil {
				got = u.User.Name
			}
			if got != c.user {
				t.Errorf("user %s, want %s", got, c.user)
			}
			if warned := Warning(r) != ""; warned != c.warned {
				t.Errorf("warning %q", Warning(r))
			}
		})
	}
}

func TestChain(t *testing.T) {
	cert := fixed{identity: Known(&User{Name: "cert", Groups: []string{"ops"}})}
	proxied := fixed{identity: &Identity{User: &User{Name: "guess", Groups: []string{GroupAuthenticated}}}}
	badCert := fixed{err: errors.New("expired")}
	none := fixed{}
	for _, c := range []struct {
		name      string
		anonymous bool
		header    string
		first     Authenticator
		want      *User // nil: 401
	}{
		{"first decides", true, "Bearer alice-token", cert, &User{Name: "cert", Groups: []string{"ops", GroupAuthenticated}}},
		{"first decides though the token is wrong", true, "Bearer wrong", cert, &User{Name: "cert", Groups: []string{"ops", GroupAuthenticated}}},
		{"second decides", true, "Bearer alice-token", none, &User{Name: "alice", UID: "alice-uid", Groups: []string{"dev", GroupAuthenticated}}},
		{"second decides though the certificate is wrong", true, "Bearer alice-token", badCert, &User{Name: "alice", UID: "alice-uid", Groups: []string{"dev", GroupAuthenticated}}},
		{"wrong certificate is not anonymous", true, "", badCert, nil},
		{"wrong token is not anonymous", true, "Bearer wrong", none, nil},
		{"one that is not sure waits for others", true, "Bearer alice-token", proxied, &User{Name: "alice", UID: "alice-uid", Groups: []string{"dev", GroupAuthenticated}}},
		{"the first that is not sure, before anonymous", true, "", proxied, &User{Name: "guess", Groups: []string{GroupAuthenticated}}},
		{"one that is not sure counts for nothing beside a wrong token", true, "Bearer wrong", proxied, nil},
		{"nothing is anonymous", true, "", none, &User{Name: UserAnonymous, Groups: []string{GroupUnauthenticated}}},
		{"nothing is refused", false, "", none, nil},
		{"known without anonymous", false, "Bearer alice-token", none, &User{Name: "alice", UID: "alice-uid", Groups: []string{"dev", GroupAuthenticated}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			chain := chainOf(slog.New(slog.NewTextHandler(&log, nil)), c.anonymous, c.first, sampleBearer(t))
			got, err := chain.Authenticate(withHeader(c.header))
			if diff := cmp.Diff(c.want, userOf(got)); diff != "" {
				t.Error(diff)
			}
			var status *api.Error
			if c.want == nil && (!errors.As(err, &status) || status.Code != http.StatusUnauthorized || status.Message != "Unauthorized") {
				t.Errorf("error %v", err)
			}
			if c.want != nil && err != nil {
				t.Errorf("error %v", err)
			}
			if strings.Contains(log.String(), "wrong") || strings.Contains(log.String(), "alice-token") {
				t.Errorf("the log shows a token: %s", &log)
			}
		})
	}
}

func FuzzBearerToken(f *testing.F) {
	for _, s := range []string{"Bearer a", "bearer  b", "Bearer", " Bearer a b", "Basic x", "\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, spaced := bearerToken(header)
		if strings.Contains(token, " ") || spaced && token != "" || !strings.Contains(header, token) {
			t.Fatalf("%q: token %q, spaced %v", header, token, spaced)
		}
	})
}

func BenchmarkToken(b *testing.B) {
	chain := chainOf(slog.New(slog.DiscardHandler), true, ClientCert(nil, nil), sampleBearer(b))
	r := withHeader("Bearer alice-token")
	b.ReportAllocs()
	for b.Loop() {
		if u, err := chain.Authenticate(r); err != nil || u.User.Name != "alice" {
			b.Fatal(u, err)
		}
	}
}
