package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
)

// Rights answer questions about the rights of users.
type Rights interface {
	// May reports whether the user has a right, with the authorizer's reason.
	May(ctx context.Context, user *authn.User, right Right) (ok bool, reason string, err error)
	// MayGrant refuses a role or binding that gives rights which its author does not
	// have. Other requests pass.
	MayGrant(ctx context.Context, r *Request) error
}

// Right is a verb on a resource, "*" for all of what it stands for.
type Right struct {
	Verb, Group, Version, Resource, Subresource, Namespace, Name string
}

// Guard has the checks of writes that every server makes, whatever groups and plug-ins are
// on: nobody gives rights that they do not have, certificates are approved and signed by
// users with that right, and each part of a claim's status has its authors. The Guard is a part of the Chain.
type Guard struct {
	Rights Rights
	// ClaimAuthors is set where the parts of the status of a claim on devices take rights of their own.
	ClaimAuthors bool
	// Remote is set where rights are decided outside of the server: then any write may block.
	Remote bool
}

// Admit refuses roles and bindings that give more than their author has.
func (g *Guard) Admit(ctx context.Context, r *Request) error { return g.Rights.MayGrant(ctx, r) }

// Check refuses decisions on certificate signing requests, requests for certificates of
// the group that may do everything, and writes of a claim's status.
func (g *Guard) Check(ctx context.Context, r *Request) error {
	if !r.isSigning() {
		return g.claimAuthor(ctx, r)
	}
	for _, check := range [...]func(context.Context, *Request) error{g.approve, g.sign, g.restrictSubject} {
		if err := check(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Waits reports whether a check may block.
func (g *Guard) Waits(Operation, *api.Resource, string) bool { return g.Remote }
