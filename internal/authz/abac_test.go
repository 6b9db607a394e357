package authz

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/authn"
)

func TestAttributePolicies(t *testing.T) {
	user := func(name string, groups ...string) *authn.User { return &authn.User{Name: name, Groups: groups} }
	in := func(u *authn.User, verb, namespace, group, resource string) *Attributes {
		return &Attributes{User: u, Verb: verb, Namespace: namespace, Group: group, Resource: resource, ResourceRequest: true}
	}
	a := build(t, "ABAC")
	for _, c := range []struct {
		a       *Attributes
		allowed bool
	}{
		{in(user("bob"), "delete", "shop", "apps", "deployments"), true},
		{path(user("bob"), "post", "/metrics"), true},
		{in(user("eve", "readers"), "watch", "shop", "", "pods"), true},
		{in(user("eve", "readers"), "delete", "shop", "", "pods"), false},
		{in(user("eve", "readers"), "get", "other", "", "pods"), false},
		{in(user("eve", "readers"), "get", "shop", "metrics.k8s.io", "pods"), false},
		{path(user("eve", "readers"), "get", "/healthz"), false},
		{path(user("eve", "probes"), "get", "/healthz/ping"), true},
		{path(user("eve", "probes"), "post", "/healthz"), false},
		{in(user("eve"), "get", "shop", "", "secrets"), false}, // a policy about nobody
		{in(user("old"), "delete", "shop", "apps", "deployments"), true},
		{in(user("old"), "get", "other", "", "pods"), false},
		{path(user("old"), "get", "/healthz"), false},
		{in(nil, "get", "shop", "", "pods"), false},
	} {
		d, reason, err := a.Authorize(context.Background(), c.a)
		if (d == Allow) != c.allowed || err != nil || (reason == "") != c.allowed {
			t.Errorf("%+v of %+v: %v %q %v", c.a, c.a.User, d, reason, err)
		}
	}
}

// TestPolicyOfAnybody: "*" is every authenticated user, as in 1.25, whatever form the line
// has, and nobody else.
func TestPolicyOfAnybody(t *testing.T) {
	const head = `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"namespace":"*","resource":"*","apiGroup":"*","nonResourcePath":"*",`
	anonymous := authn.Anonymous()
	ann := &authn.User{Name: "ann", Groups: []string{authn.GroupAuthenticated}}
	bob := &authn.User{Name: "bob", Groups: []string{authn.GroupAuthenticated, "admins"}}
	unknown := &authn.User{Name: "ann"} // of a review that names no groups
	for _, c := range []struct {
		line  string
		users []*authn.User
	}{
		{head + `"user":"*"}}`, []*authn.User{ann, bob}},
		{head + `"group":"*"}}`, []*authn.User{ann, bob}},
		{head + `"user":"*","group":"*"}}`, []*authn.User{ann, bob}},
		{head + `"user":"*","group":"admins"}}`, []*authn.User{ann, bob}},
		{head + `"user":"bob","group":"*"}}`, []*authn.User{ann, bob}},
		{head + `"user":"bob","group":"admins"}}`, []*authn.User{bob}},
		{head + `"user":"ann","group":"admins"}}`, nil},
		{head + `"user":"ann"}}`, []*authn.User{ann, unknown}},
		{head + `"group":"system:unauthenticated"}}`, []*authn.User{anonymous}},
		{head + `"user":"system:anonymous"}}`, []*authn.User{anonymous}},
		{head + `"user":"","group":""}}`, nil},
		{`{}`, []*authn.User{ann, bob}},
		{`{"user":"*"}`, []*authn.User{ann, bob}},
		{`{"group":"*"}`, []*authn.User{ann, bob}},
		{`{"user":"bob","group":"*"}`, []*authn.User{ann, bob}},
		{`{"user":"bob"}`, []*authn.User{bob}},
		{`{"group":"system:unauthenticated"}`, []*authn.User{anonymous}},
	} {
		policy, err := readPolicy([]byte(c.line))
		if err != nil {
			t.Fatal(err)
		}
		for _, user := range []*authn.User{anonymous, ann, bob, unknown} {
			for _, a := range []*Attributes{pods(user, "delete"), path(user, "post", "/metrics")} {
				d, _, err := attributePolicies{policy}.Authorize(t.Context(), a)
				if err != nil || (d == Allow) != slices.Contains(c.users, user) {
					t.Errorf("%s: %+v %+v: %v %v", c.line, user, a, d, err)
				}
			}
			if rules, _ := (attributePolicies{policy}).Rules(t.Context(), user, "default"); (len(rules.Resources) == 1) != slices.Contains(c.users, user) {
				t.Errorf("%s lists for %+v: %+v", c.line, user, rules)
			}
		}
	}
}

// TestPolicyPaths: readonly and patterns of paths, as in 1.25.
func TestPolicyPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, verb, path string
		allowed             bool
	}{
		{"*", "get", "/a", true}, {"/a", "get", "/a", true}, {"/a", "get", "/a/b", false}, {"/a*", "get", "/ab/c", true}, {"/a/*", "get", "/a", false},
		{"/a/**", "get", "/a/b", true}, {"/*/a", "get", "/b/a", false}, {"", "get", "/a", false}, {"*", "head", "/a", false}, {"*", "post", "/a", false},
		{"*", "watch", "/a", true}, {"*", "list", "/a", true},
	} {
		p := attributePolicies{{User: "bob", Readonly: true, NonResourcePath: c.pattern}}
		if d, _, _ := p.Authorize(t.Context(), path(bob, c.verb, c.path)); (d == Allow) != c.allowed {
			t.Errorf("%q on %s %s: %v", c.pattern, c.verb, c.path, d)
		}
		if d, _, _ := p.Authorize(t.Context(), pods(bob, "get")); d == Allow {
			t.Errorf("%q allows a resource", c.pattern)
		}
	}
}

func TestPolicyLines(t *testing.T) {
	for line, want := range map[string]string{
		`{`:   "not a JSON object",
		`[]`:  "not a JSON object",
		`"x"`: "not a JSON object",
		`{"apiVersion":"abac.authorization.kubernetes.io/v1","kind":"Policy"}`:                   "is not known",
		`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Role"}`:                "is not known",
		`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","user":"bob"}`: "unknown field",
		`{"user":"bob","verb":"get"}`:   "unknown field",
		`{"user":"bob"} {"user":"eve"}`: "invalid character",
		`{"user":7}`:                    "cannot unmarshal",
		`{}`:                            "",
		`{"group":"*","resource":"pods","readonly":true}`: "",
	} {
		_, err := readPolicy([]byte(line))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"user":"bob","namespace":"shop"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, err := readPolicy(line)
		if err == nil && attributePolicies([]attributePolicy{p})[0].allows(pods(&authn.User{Name: ""}, "get")) {
			t.Errorf("%s allows a user without a name", line)
		}
	})
}
