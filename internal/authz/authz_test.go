package authz

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/authn"
)

var (
	admin = &authn.User{Name: "admin", Groups: []string{authn.GroupMasters, authn.GroupAuthenticated}}
	bob   = &authn.User{Name: "bob", Groups: []string{authn.GroupAuthenticated}}
	anon  = authn.Anonymous()
)

// path is a request for a path that is not a resource.
func path(u *authn.User, verb, path string) *Attributes {
	return &Attributes{User: u, Verb: verb, Path: path}
}

// pods is a request for pods.
func pods(u *authn.User, verb string) *Attributes {
	return &Attributes{User: u, Verb: verb, Version: "v1", Resource: "pods", Namespace: "default", Path: "/api/v1/namespaces/default/pods", ResourceRequest: true}
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		modes   string
		a       *Attributes
		allowed bool
	}{
		{"RBAC", pods(admin, "delete"), true},
		{"RBAC", path(admin, "get", "/metrics"), true},
		{"RBAC", pods(bob, "get"), false},
		{"RBAC", pods(bob, "list"), false},
		{"RBAC", path(bob, "get", "/version"), true},
		{"RBAC", path(bob, "get", "/healthz"), true},
		{"RBAC", path(bob, "get", "/livez"), true},
		{"RBAC", path(bob, "get", "/readyz"), true},
		{"RBAC", path(bob, "get", "/readyz/ping"), false},
		{"RBAC", path(bob, "get", "/metrics"), false},
		{"RBAC", path(bob, "get", "/debug/pprof/"), false},
		{"RBAC", path(bob, "post", "/version"), false},
		{"RBAC", path(bob, "get", "/api"), true},
		{"RBAC", path(bob, "get", "/api/v1"), true},
		{"RBAC", path(bob, "get", "/apis/"), true},
		{"RBAC", path(bob, "get", "/apis/apps/v1"), true},
		{"RBAC", path(bob, "get", "/openapi/v3/apis/apps/v1"), true},
		{"RBAC", path(bob, "get", "/apiserver"), false},
		{"RBAC", path(bob, "get", "/"), false},
		{"RBAC", path(anon, "get", "/version"), true},
		{"RBAC", path(anon, "get", "/readyz"), true},
		{"RBAC", path(anon, "get", "/livez/ping"), false},
		{"RBAC", path(anon, "get", "/api"), false},
		{"RBAC", path(anon, "get", "/openapi/v2"), false},
		{"RBAC", path(nil, "get", "/version"), false},
		{"Node,RBAC,ABAC", path(bob, "get", "/apis"), true},
		{"Node,RBAC,ABAC", pods(bob, "get"), false},
		{"AlwaysDeny", path(bob, "get", "/version"), false},
		{"AlwaysDeny", pods(admin, "get"), true},
		{"AlwaysDeny,RBAC", path(bob, "get", "/version"), true},
		{"AlwaysAllow", pods(bob, "delete"), true},
		{"RBAC,AlwaysAllow", pods(anon, "delete"), true},
	} {
		a, _, err := New(Config{AuthorizationModes: strings.Split(c.modes, ",")})
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := a.Authorize(context.Background(), c.a)
		if err != nil || (d == Allow) != c.allowed {
			t.Errorf("%s: %+v %+v: %v, error %v", c.modes, c.a.User, c.a, d, err)
		}
	}
}

func TestPartialModes(t *testing.T) {
	_, partial, err := New(Config{AuthorizationModes: []string{"Node", "AlwaysDeny", "RBAC"}})
	if err != nil || !slices.Equal(partial, []string{"Node", "RBAC"}) {
		t.Errorf("partial %v, error %v", partial, err)
	}
	for want, modes := range map[string][]string{
		"none is set":         nil,
		`"rbac" is unknown`:   {"rbac"},
		"asks no webhook":     {"Webhook", "AlwaysAllow"},
		"RBAC is given twice": {"RBAC", "Node", "RBAC"},
	} {
		if _, _, err := New(Config{AuthorizationModes: modes}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", modes, err, want)
		}
	}
}

func TestUnion(t *testing.T) {
	answer := func(d Decision, reason string, err error) Authorizer {
		return Func(func(context.Context, *Attributes) (Decision, string, error) { return d, reason, err })
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		list   []Authorizer
		want   Decision
		reason string
		err    error
	}{
		{"nobody", nil, NoOpinion, "", nil},
		{"first allow", []Authorizer{answer(NoOpinion, "a", broken), answer(Allow, "", nil), answer(Deny, "c", nil)}, Allow, "", nil},
		{"first deny", []Authorizer{answer(NoOpinion, "a", nil), answer(Deny, "b", nil), answer(Allow, "", nil)}, Deny, "b", nil},
		{"no opinion", []Authorizer{answer(NoOpinion, "a", nil), answer(NoOpinion, "", broken), answer(NoOpinion, "c", nil)}, NoOpinion, "a\nc", broken},
	} {
		d, reason, err := Union(c.list...).Authorize(context.Background(), pods(bob, "get"))
		if d != c.want || reason != c.reason || !errors.Is(err, c.err) {
			t.Errorf("%s: %v %q %v", c.name, d, reason, err)
		}
	}
}

func BenchmarkAuthorize(b *testing.B) {
	a, _, err := New(Config{AuthorizationModes: []string{"Node", "RBAC"}})
	if err != nil {
		b.Fatal(err)
	}
	r := pods(admin, "get")
	b.ReportAllocs()
	for b.Loop() {
		if d, _, _ := a.Authorize(context.Background(), r); d != Allow {
			b.Fatal(d)
		}
	}
}
