package authz

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/authn"
)

// AlwaysAllow allows everything.
func AlwaysAllow() Authorizer {
	return listed{
		func(context.Context, *Attributes) (Decision, string, error) { return Allow, "", nil },
		func(*authn.User) Rules { return everything() },
	}
}

// AlwaysDeny denies everything that no authorizer before it allowed.
func AlwaysDeny() Authorizer {
	return listed{
		func(context.Context, *Attributes) (Decision, string, error) {
			return NoOpinion, "Everything is forbidden.", nil
		},
		func(*authn.User) Rules { return Rules{} },
	}
}

// Masters allows the members of the group system:masters everything. It lists no rights:
// the policies have those too.
func Masters() Authorizer {
	return listed{
		func(_ context.Context, a *Attributes) (Decision, string, error) {
			if isIn(a.User, authn.GroupMasters) {
				return Allow, "", nil
			}
			return NoOpinion, "", nil
		},
		func(*authn.User) Rules { return Rules{} },
	}
}

func isIn(user *authn.User, group string) bool {
	return user != nil && slices.Contains(user.Groups, group)
}
