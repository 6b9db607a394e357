package authz

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Rules are a list of what somebody may do: what any of them allows is allowed.
// Their order means nothing.
type Rules struct {
	Resources  []ResourceRule
	Paths      []PathRule
	Incomplete bool // more may be allowed than the list says
}

// ResourceRule allows verbs on resources; "*" stands for all of them.
type ResourceRule struct{ Verbs, Groups, Resources, Names []string }

// PathRule allows methods, in lower case, on paths of URLs; a "*" at the end of a
// path stands for all that begins so.
type PathRule struct{ Verbs, Paths []string }

// RuleLister is an Authorizer that can list what it allows.
type RuleLister interface {
	// Rules returns what the user may do in a namespace and with paths. An error
	// says why the rules are not complete.
	Rules(ctx context.Context, user *authn.User, namespace string) (Rules, error)
}

// RulesFor lists what an authorizer allows, as far as it can.
func RulesFor(ctx context.Context, a Authorizer, user *authn.User, namespace string) (Rules, error) {
	if l, ok := a.(RuleLister); ok {
		return l.Rules(ctx, user, namespace)
	}
	return Rules{Incomplete: true}, nil
}

// Rules lists what any of the authorizers allows.
func (u union) Rules(ctx context.Context, user *authn.User, namespace string) (all Rules, err error) {
	for _, authorizer := range u {
		rules, failed := RulesFor(ctx, authorizer, user, namespace)
		all.Resources = append(all.Resources, rules.Resources...)
		all.Paths = append(all.Paths, rules.Paths...)
		all.Incomplete = all.Incomplete || rules.Incomplete
		err = errors.Join(err, failed)
	}
	return all, err
}

// listed is a function that decides and, beside it, the list of what it allows.
type listed struct {
	Func
	list func(user *authn.User) Rules
}

func (l listed) Rules(_ context.Context, user *authn.User, _ string) (Rules, error) {
	return l.list(user), nil
}

// everything allows all.
func everything() Rules {
	any := []string{"*"}
	return Rules{Resources: []ResourceRule{{Verbs: any, Groups: any, Resources: any}}, Paths: []PathRule{{Verbs: any, Paths: any}}}
}
