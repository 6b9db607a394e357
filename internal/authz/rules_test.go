package authz

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/authn"
)

// The listed rights are the allowed ones: each listed path and resource is authorized.
func TestRulesAreWhatIsAllowed(t *testing.T) {
	for _, modes := range []string{"RBAC", "AlwaysDeny", "AlwaysAllow", "Node,RBAC", "ABAC"} {
		a := build(t, modes)
		for _, user := range []*authn.User{bob, anon, nil} {
			rules, err := RulesFor(context.Background(), a, user, "default")
			if err != nil || rules.Incomplete {
				t.Fatalf("%+v, %v", rules, err)
			}
			allowed := func(a2 *Attributes) bool {
				d, _, err := a.Authorize(context.Background(), a2)
				return err == nil && d == Allow
			}
			for _, r := range rules.Paths {
				for _, p := range r.Paths {
					for _, verb := range r.Verbs {
						if !allowed(path(user, strings.Replace(verb, "*", "post", 1), strings.Replace(p, "*", "x", 1))) {
							t.Errorf("%s: %+v may not %s %s", modes, user, verb, p)
						}
					}
				}
			}
			for _, r := range rules.Resources {
				for _, resource := range r.Resources {
					at := Attributes{User: user, ResourceRequest: true, Verb: r.Verbs[0], Group: r.Groups[0], Resource: resource, Namespace: "default"}
					if !allowed(&at) {
						t.Errorf("%s: %+v may not %+v", modes, user, at)
					}
				}
			}
			for _, verb := range []string{"get", "post"} {
				listed := false
				for _, r := range rules.Paths {
					listed = listed || slices.Contains(r.Paths, "*") && (slices.Contains(r.Verbs, verb) || slices.Contains(r.Verbs, "*"))
				}
				if allowed(path(user, verb, "/metrics")) != listed {
					t.Errorf("%s: %+v: %s is listed: %v", modes, user, verb, listed)
				}
			}
		}
	}
}

// An authorizer that cannot list, or fails, makes the list incomplete.
func TestIncompleteRules(t *testing.T) {
	silent := Func(func(context.Context, *Attributes) (Decision, string, error) { return NoOpinion, "", nil })
	rules, err := RulesFor(context.Background(), Union(silent, AlwaysAllow()), bob, "default")
	if err != nil || !rules.Incomplete || len(rules.Resources) != 1 {
		t.Errorf("%+v, %v", rules, err)
	}
	if _, err := RulesFor(context.Background(), Union(failing{}, AlwaysAllow()), bob, "default"); err == nil {
		t.Error("no error")
	}
}

type failing struct{ Authorizer }

func (failing) Rules(context.Context, *authn.User, string) (Rules, error) {
	return Rules{Incomplete: true}, errors.New("down")
}
