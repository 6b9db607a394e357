package authz

import (
	"context"
	"errors"
	"strings"
)

// Union asks authorizers in order: the first that allows or denies decides. When none
// does, the reasons and the errors of all are joined.
func Union(list ...Authorizer) Authorizer { return union(list) }

type union []Authorizer

func (u union) Authorize(ctx context.Context, a *Attributes) (Decision, string, error) {
	var reasons []string
	var errs []error
	for _, authorizer := range u {
		decision, reason, err := authorizer.Authorize(ctx, a)
		if decision != NoOpinion {
			return decision, reason, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return NoOpinion, strings.Join(reasons, "\n"), errors.Join(errs...)
}
