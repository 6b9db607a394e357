package authn

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/api"
)

func TestReadImpersonation(t *testing.T) {
	bob := Impersonated{Resource: "users", Name: "bob"}
	for _, c := range []struct {
		headers []string // names and values
		user    *User    // nil for none
		parts   []Impersonated
	}{
		{nil, nil, nil},
		{[]string{"Accept", "application/json", "Impersonate", "bob", "X-Impersonate-User", "bob"}, nil, nil},
		{[]string{"Impersonate-User", ""}, nil, nil},
		{[]string{"Impersonate-Later", "x"}, nil, nil},
		{[]string{"IMPERSONATE-USER", "bob"}, &User{Name: "bob", Groups: []string{"system:authenticated"}}, []Impersonated{bob}},
		{[]string{"Impersonate-User", "bob", "Impersonate-Group", "dev", "impersonate-group", "ops"}, &User{Name: "bob", Groups: []string{"dev", "ops", "system:authenticated"}},
			[]Impersonated{bob, {Resource: "groups", Name: "dev"}, {Resource: "groups", Name: "ops"}}},
		{[]string{"Impersonate-User", "bob", "Impersonate-Group", "system:unauthenticated"}, &User{Name: "bob", Groups: []string{"system:unauthenticated"}},
			[]Impersonated{bob, {Resource: "groups", Name: "system:unauthenticated"}}},
		{[]string{"Impersonate-User", "system:anonymous"}, &User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}, []Impersonated{{Resource: "users", Name: "system:anonymous"}}},
		{[]string{"Impersonate-User", "system:serviceaccount:shop:web"}, &User{Name: "system:serviceaccount:shop:web", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"}},
			[]Impersonated{{Resource: "serviceaccounts", Namespace: "shop", Name: "web"}}},
		{[]string{"Impersonate-User", "system:serviceaccount:shop:web", "Impersonate-Group", "dev"}, &User{Name: "system:serviceaccount:shop:web", Groups: []string{"dev", "system:authenticated"}},
			[]Impersonated{{Resource: "serviceaccounts", Namespace: "shop", Name: "web"}, {Resource: "groups", Name: "dev"}}},
		{[]string{"Impersonate-User", "system:serviceaccount:Shop:web"}, &User{Name: "system:serviceaccount:Shop:web", Groups: []string{"system:authenticated"}},
			[]Impersonated{{Resource: "users", Name: "system:serviceaccount:Shop:web"}}},
		{[]string{"Impersonate-User", "bob", "Impersonate-UID", "7", "Impersonate-Extra-Scopes", "view", "Impersonate-Extra-Scopes", "edit", "impersonate-extra-example.com%2fteam", "a", "Impersonate-Extra-50%", "b"},
			&User{Name: "bob", UID: "7", Groups: []string{"system:authenticated"}, Extra: map[string][]string{"scopes": {"view", "edit"}, "example.com/team": {"a"}, "50%": {"b"}}},
			[]Impersonated{bob, {Resource: "userextras", Key: "50%", Name: "b"}, {Resource: "userextras", Key: "example.com/team", Name: "a"},
				{Resource: "userextras", Key: "scopes", Name: "view"}, {Resource: "userextras", Key: "scopes", Name: "edit"}, {Resource: "uids", Name: "7"}}},
	} {
		got, err := ReadImpersonation(header(c.headers))
		if err != nil || (got == nil) != (c.user == nil) {
			t.Errorf("%q: %v, %v", c.headers, got, err)
			continue
		}
		if got != nil {
			if diff := cmp.Diff(&Impersonation{c.user, c.parts}, got); diff != "" {
				t.Errorf("%q: %s", c.headers, diff)
			}
		}
	}
	for _, wrong := range [][]string{{"Impersonate-Group", "system:masters"}, {"Impersonate-Group", ""}, {"Impersonate-Uid", "7"}, {"impersonate-extra-example.com%2fteam", "a"},
		{"Impersonate-User", "", "Impersonate-Extra-Scopes", "view"}} {
		var status *api.Error
		if got, err := ReadImpersonation(header(wrong)); !errors.As(err, &status) || status.Code != 400 {
			t.Errorf("%q: %v, %v", wrong, got, err)
		}
	}
}

func header(list []string) http.Header {
	h := http.Header{}
	for i := 0; i < len(list); i += 2 {
		h.Add(list[i], list[i+1])
	}
	return h
}

func BenchmarkReadImpersonation(b *testing.B) {
	h := http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer x"}, "User-Agent": {"kubectl"}, "Accept-Encoding": {"gzip"}, "Content-Type": {"application/json"}}
	b.ReportAllocs()
	for b.Loop() {
		if of, err := ReadImpersonation(h); of != nil || err != nil {
			b.Fatal(err)
		}
	}
}
