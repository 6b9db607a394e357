package authn

import (
	"slices"
	"testing"
)

func userOf(i *Identity) *User {
	if i == nil {
		return nil
	}
	return i.User
}

// Credentials for some servers are not valid at others.
func TestIdentityAt(t *testing.T) {
	for _, c := range []struct{ has, asked, want []string }{
		{nil, []string{"a", "own", "b"}, []string{"own"}},
		{[]string{"a"}, []string{"own"}, nil},
		{[]string{"b", "c"}, []string{"a", "b"}, []string{"b"}},
		{[]string{"c"}, []string{"a", "b"}, nil},
		{[]string{}, []string{"a"}, nil},
	} {
		if got := (&Identity{Audiences: c.has}).At(c.asked, []string{"own", "mine"}); !slices.Equal(got, c.want) {
			t.Errorf("for %v at %v: %v, want %v", c.has, c.asked, got, c.want)
		}
	}
}
