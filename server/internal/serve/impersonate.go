package serve

import (
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// impersonate makes the request one of the user that its sender acts as, if it does and
// may (the specification, Impersonation): 400, 403.
func (h *Handler) impersonate(x *exchange) error {
	r := &x.r
	wish, err := authn.ReadImpersonation(r.HTTP.Header)
	if wish == nil {
		return err
	}
	for _, part := range wish.Parts {
		a := authz.Attributes{User: r.User, Verb: "impersonate", Resource: part.Resource, Subresource: part.Key,
			Namespace: part.Namespace, Name: part.Name, ResourceRequest: true}
		if part.Resource == "userextras" || part.Resource == "uids" {
			a.Group, a.Version = "authentication."+profile.GroupSuffix, "v1"
		}
		decision, reason, err := h.cfg.Authz.Authorize(r.Context, &a)
		if err != nil || decision != authz.Allow {
			return authz.Forbidden(&a, reason)
		}
	}
	h.log.Debug("the request acts as another user", "user", r.User.Name, "as", wish.User.Name, "groups", wish.User.Groups)
	r.ActAs(wish.User)
	return nil
}
