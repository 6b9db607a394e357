package authn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTokens(t *testing.T) {
	tokens, err := ParseTokens(strings.NewReader("" +
		"plain-token,bob,bob-uid\n" +
		"\n" +
		"quoted-token,carol,carol-uid,\"dev, ops\"\n" +
		"columns-token, dave ,dave-uid,dev,ops,\"qa,sec\",\n" +
		"no-uid-token,erin,,system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*User{
		"plain-token":   {Name: "bob", UID: "bob-uid", Groups: []string{GroupAuthenticated}},
		"quoted-token":  {Name: "carol", UID: "carol-uid", Groups: []string{"dev", "ops", GroupAuthenticated}},
		"columns-token": {Name: "dave", UID: "dave-uid", Groups: []string{"dev", "ops", "qa", "sec", GroupAuthenticated}},
		"no-uid-token":  {Name: "erin", Groups: []string{GroupMasters, GroupAuthenticated}},
		"plain-toke":    nil,
		"":              nil,
		"bob":           nil,
	}
	got := map[string]*User{}
	for token := range want {
		identity, err := tokens.AuthenticateToken(context.Background(), token)
		if err != nil {
			t.Errorf("%q: %v", token, err)
		}
		got[token] = userOf(identity)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tokens.Len() != 4 {
		t.Errorf("Len = %d", tokens.Len())
	}
}

func TestParseTokensErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"too few columns":  {"good-secret,a,b\nmy-secret,bob\n", "line 2: 2 columns"},
		"empty token":      {"\n\n,bob,1\n", "line 3: the token"},
		"empty user":       {"my-secret,,1\n", "line 1: the token and the user"},
		"same token":       {"my-secret,a,1\nx-secret,b,2\nmy-secret,b,2\n", "line 3: the token is the same as in line 1"},
		"space in token":   {"my secret,bob,1\n", "line 1: the token has a space"},
		"quote in a value": {"ok-secret,a,1\nmy-\"secret,bob,1\n", "line 2"},
		"open quote":       {"my-secret,bob,\"1\n", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseTokens(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a token: %v", err)
			}
		})
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	if _, err := TokenFile(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := TokenFile(path); err == nil || !strings.Contains(err.Error(), path+": line 1") {
		t.Errorf("wrong file: %v", err)
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("t,u,1\n")
	f.Add("t,u,1,\"a,b\",c\n\n x , y , z \n")
	f.Add("\"t\"\"\",u,\"\n\"\n")
	f.Add(",,,\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := ParseTokens(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, identity := range tokens.users {
			u := identity.User
			if u.Name == "" || len(u.Groups) == 0 {
				t.Fatalf("user without name or group: %+v", u)
			}
		}
		if u, _ := tokens.AuthenticateToken(context.Background(), ""); u != nil {
			t.Fatal("the empty token is known")
		}
	})
}
