package authz

import (
	"context"
	"errors"
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

// readers is an authorizer by which everybody may read.
var readers = listed{
	func(_ context.Context, a *Attributes) (Decision, string, error) {
		if a.User != nil && a.Verb == "get" {
			return Allow, "all may read", nil
		}
		return NoOpinion, "reading only", nil
	},
	func(user *authn.User) (r Rules) {
		if user != nil {
			r.Resources = []ResourceRule{{Verbs: []string{"get"}, Groups: []string{"*"}, Resources: []string{"*"}}}
			r.Paths = []PathRule{{Verbs: []string{"get"}, Paths: []string{"*"}}}
		}
		return r
	},
}

// build makes the authorizer of modes; those of RBAC are readers, those of ABAC are in a
// file.
func build(t testing.TB, modes string) Authorizer {
	cfg := Config{AuthorizationModes: strings.Split(modes, ",")}
	if strings.Contains(modes, ModeABAC) {
		cfg.AuthorizationPolicyFile = "testdata/policies.jsonl"
	}
	a, err := New(cfg, Policies{RBAC: readers, Node: AlwaysDeny()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		modes   string
		a       *Attributes
		allowed bool
	}{
		{"RBAC", pods(admin, "delete"), true},
		{"RBAC", path(admin, "get", "/metrics"), true},
		{"RBAC", pods(bob, "get"), true},
		{"RBAC", pods(bob, "list"), false},
		{"RBAC", path(nil, "get", "/version"), false},
		{"Node", pods(bob, "get"), false},
		{"AlwaysDeny", path(bob, "get", "/version"), false},
		{"AlwaysDeny", pods(admin, "get"), true},
		{"AlwaysDeny,RBAC", pods(bob, "get"), true},
		{"AlwaysAllow", pods(bob, "delete"), true},
		{"RBAC,AlwaysAllow", pods(anon, "delete"), true},
		{"ABAC", pods(bob, "delete"), true},
		{"ABAC", pods(anon, "get"), false},
	} {
		d, _, err := build(t, c.modes).Authorize(context.Background(), c.a)
		if err != nil || (d == Allow) != c.allowed {
			t.Errorf("%s: %+v %+v: %v, error %v", c.modes, c.a.User, c.a, d, err)
		}
	}
}

func TestWrongModes(t *testing.T) {
	for want, cfg := range map[string]Config{
		"none is set":                   {},
		`"rbac" is unknown`:             {AuthorizationModes: []string{"rbac"}},
		"Webhook needs a file":          {AuthorizationModes: []string{"Webhook", "AlwaysAllow"}, AuthorizationWebhookVersion: "v1"},
		"is neither v1 nor v1beta1":     {AuthorizationModes: []string{"Webhook"}, AuthorizationWebhookConfigFile: "x", AuthorizationWebhookVersion: "v2"},
		"RBAC is given twice":           {AuthorizationModes: []string{"RBAC", "Node", "RBAC"}},
		"ABAC needs a file":             {AuthorizationModes: []string{"ABAC"}},
		"is used by the authorization":  {AuthorizationModes: []string{"RBAC"}, AuthorizationPolicyFile: "x"},
		"missing.jsonl: no such file":   {AuthorizationModes: []string{"ABAC"}, AuthorizationPolicyFile: "testdata/missing.jsonl"},
		"testdata/wrong.jsonl, line 3:": {AuthorizationModes: []string{"ABAC"}, AuthorizationPolicyFile: "testdata/wrong.jsonl"},
	} {
		if _, err := New(cfg, Policies{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", cfg, err, want)
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
	a, r := build(b, "Node,RBAC"), pods(admin, "get")
	b.ReportAllocs()
	for b.Loop() {
		if d, _, _ := a.Authorize(context.Background(), r); d != Allow {
			b.Fatal(d)
		}
	}
}
