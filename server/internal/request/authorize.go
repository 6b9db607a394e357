package request

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Authorize decides about a request. Reviews of the own user are younger than the roles
// and policies of many clusters, so whoever may review the own rights may review the own
// name too.
func (env *Env) Authorize(r *Request, a *authz.Attributes) (authz.Decision, string, error) {
	begin := r.begin()
	decision, reason, err := env.authz.Authorize(r.Context, a)
	r.stage("authorization", begin)
	if row := r.Target.Row; decision == authz.NoOpinion && row != nil && row.Endpoint == api.EndpointReviewOwnUser {
		rights := *a
		rights.Group, rights.Resource = "authorization."+profile.GroupSuffix, "selfsubjectaccessreviews"
		if also, why, _ := env.authz.Authorize(r.Context, &rights); also == authz.Allow {
			return also, why, nil
		}
	}
	if err != nil && decision != authz.Allow {
		env.log.Error("the request cannot be authorized", "user", a.User.Name, "path", r.HTTP.URL.Path, "error", err)
		return decision, reason, api.Internal("it could not be decided whether the user may do this; the server's log says more")
	}
	return decision, reason, nil
}

// MayCreate refuses a PUT or an apply of a missing object by a user who may change such
// objects, as was decided before, but not create them: 403.
func (env *Env) MayCreate(r *Request) error { return env.MayAlso(r, "create") }

// MayAlso refuses a request by a user who may not do something else with its object too:
// 403.
func (env *Env) MayAlso(r *Request, verb string) error {
	a := r.Attributes()
	a.Verb = verb
	decision, reason, err := env.Authorize(r, &a)
	if err == nil && decision != authz.Allow {
		err = authz.Forbidden(&a, reason)
	}
	return err
}
