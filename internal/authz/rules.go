package authz

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/authn"
)

// Rules list the rights of a user: a request is allowed if any of them allows it. Their
// order means nothing.
type Rules struct {
	Resources  []ResourceRule
	Paths      []PathRule
	Incomplete bool // more may be allowed than is listed
}

// ResourceRule allows verbs on resources; "*" stands for all of them.
type ResourceRule struct{ Verbs, Groups, Resources, Names []string }

// PathRule allows methods, in lower case, on paths of URLs; a "*" at the end of a path
// stands for all paths with that beginning.
type PathRule struct{ Verbs, Paths []string }

// RuleLister is an Authorizer that can list the rights of a user.
type RuleLister interface {
	// Rules returns the rights of a user in a namespace and on paths. An error is the
	// reason why they are incomplete.
	Rules(ctx context.Context, user *authn.User, namespace string) (Rules, error)
}

// RulesFor lists the rights that an authorizer grants, as far as it can.
func RulesFor(ctx context.Context, a Authorizer, user *authn.User, namespace string) (Rules, error) {
	if l, ok := a.(RuleLister); ok {
		return l.Rules(ctx, user, namespace)
	}
	return Rules{Incomplete: true}, nil
}

// Rules lists the rights that any of the authorizers grants.
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

// listed is an authorizer with the list of its rights.
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
