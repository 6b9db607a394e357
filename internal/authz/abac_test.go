package authz

import (
	"context"
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
		if err == nil && attributePolicies([]attributePolicy{p})[0].allows(pods(&authn.User{Name: ""}, "get")) && p.User != "*" && p.Group != "*" {
			t.Errorf("%s allows a user without a name", line)
		}
	})
}
