package openid

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Groups are found where the token says, in a token of another issuer.
func TestDistributedGroups(t *testing.T) {
	i, source, stranger := newIssuer(t), newIssuer(t), newIssuer(t)
	settings := Settings{OIDCUsernamePrefix: "-", OIDCGroupsClaim: "groups", OIDCGroupsPrefix: "g:"}
	at := func(path string) map[string]any {
		return map[string]any{"_claim_names": map[string]string{"groups": "s"}, "_claim_sources": map[string]any{"s": map[string]string{"endpoint": source.http.URL + path, "access_token": "secret"}}}
	}
	says := func(path, answer string) map[string]any {
		source.more.Store(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				w.WriteHeader(401)
			}
			_, _ = io.WriteString(w, answer)
		}))
		return at(path)
	}
	groups := func(of *issuer, changes map[string]any) string {
		if changes["groups"] == nil {
			changes["groups"] = []string{"a", "b"}
		}
		return of.token(jose.RS256, of.claims(changes))
	}
	source.more.Store("/endless", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	}))
	names := func(sources any) map[string]any {
		return map[string]any{"_claim_names": map[string]string{"groups": "s"}, "_claim_sources": sources}
	}
	for name, c := range map[string]struct {
		changes map[string]any
		want    []string // nil for a refusal
	}{
		"two":                   {says("/two", groups(source, map[string]any{})), []string{"g:a", "g:b"}},
		"one, and a line's end": {says("/one", groups(source, map[string]any{"groups": "a"})+"\n"), []string{"g:a"}},
		"by the first issuer":   {says("/own", groups(i, map[string]any{})), []string{"g:a", "g:b"}},
		"another claim":         {map[string]any{"_claim_names": map[string]string{"roles": "s"}, "_claim_sources": map[string]any{"s": map[string]string{"endpoint": "https://127.0.0.1:1"}}}, []string{}},
		"in the token too":      {map[string]any{"groups": []string{"c"}, "_claim_names": map[string]string{"groups": "s"}, "_claim_sources": map[string]any{"s": map[string]string{"endpoint": "https://127.0.0.1:1"}}}, []string{"g:c"}},
		"aggregated":            {names(map[string]any{"s": map[string]string{"JWT": groups(source, map[string]any{})}}), []string{}},
		"no sources":            {names(nil), nil},
		"another source":        {names(map[string]any{"x": map[string]string{}}), nil},
		"sources as a list":     {names([]string{"s"}), nil},
		"without TLS":           {names(map[string]any{"s": map[string]string{"endpoint": "http://127.0.0.1:1"}}), nil},
		"nobody there":          {names(map[string]any{"s": map[string]string{"endpoint": "https://127.0.0.1:1"}}), nil},
		"redirected":            {at("/elsewhere"), nil},
		"wrong access token": {map[string]any{"_claim_names": map[string]string{"groups": "s"},
			"_claim_sources": map[string]any{"s": map[string]string{"endpoint": source.http.URL + "/two", "access_token": "other"}}}, nil},
		"garbage":            {says("/garbage", "\x00{"), nil},
		"empty":              {says("/empty", ""), nil},
		"the groups as JSON": {says("/json", `{"groups":["a"]}`), nil},
		"without the claim":  {says("/less", source.token(jose.RS256, source.claims(nil))), nil},
		"expired":            {says("/old", groups(source, map[string]any{"exp": now.Add(-time.Minute).Unix()})), nil},
		"for others":         {says("/aud", groups(source, map[string]any{"aud": "x"})), nil},
		"a forged signature": {says("/forged", groups(stranger, map[string]any{"iss": source.http.URL})), nil},
		"no signature":       {says("/none", strings.Join(strings.Split(groups(source, map[string]any{}), ".")[:2], ".")+"."), nil},
		"issuer without TLS": {says("/plain", groups(source, map[string]any{"iss": "http://127.0.0.1:1"})), nil},
		"an unknown issuer":  {says("/stranger", groups(stranger, map[string]any{"iss": "https://127.0.0.1:1"})), nil},
		"huge":               {says("/huge", groups(source, map[string]any{"x": strings.Repeat("x", authn.MaxTokenBytes)})), nil},
		"endless":            {at("/endless"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			identity, err := discovered(t, i.open(settings)).AuthenticateToken(t.Context(), i.token(jose.RS256, i.claims(c.changes)))
			switch {
			case c.want == nil && (identity != nil || err == nil || strings.Contains(err.Error(), "secret")):
				t.Errorf("%+v, %v", identity, err)
			case c.want == nil:
			case err != nil:
				t.Error(err)
			default:
				if diff := cmp.Diff(append(c.want, authn.GroupAuthenticated), identity.User.Groups); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// The place of a claim is asked once for all requests of some time, and again after it; a
// client that gives up does not wait, nor does it end the work for others.
func TestDistributedGroupsAreShared(t *testing.T) {
	i, source := newIssuer(t), newIssuer(t)
	var asked atomic.Int32
	may := make(chan struct{})
	source.more.Store("/groups", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-may
		_, _ = io.WriteString(w, source.token(jose.RS256, source.claims(map[string]any{"groups": fmt.Sprint("of-", asked.Load())})))
	}))
	a := discovered(t, i.open(Settings{OIDCGroupsClaim: "groups"}))
	var late atomic.Int64
	a.cfg.Clock = func() time.Time { return now.Add(time.Duration(late.Load())) }
	token := i.token(jose.RS256, i.claims(map[string]any{"_claim_names": map[string]string{"groups": "s"}, "_claim_sources": map[string]any{"s": map[string]string{"endpoint": source.http.URL + "/groups"}}}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if identity, err := a.AuthenticateToken(ctx, token); identity != nil || err == nil {
		t.Errorf("%v, %v", identity, err)
	}
	expect := func(group string) {
		t.Helper()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if identity, err := a.AuthenticateToken(t.Context(), token); err != nil || identity.User.Groups[0] != group {
					t.Errorf("%+v, %v, want %s", identity, err, group)
				}
			})
		}
		all.Wait()
	}
	close(may)
	expect("of-1")
	late.Store(int64(claimLife))
	expect("of-2")
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}
