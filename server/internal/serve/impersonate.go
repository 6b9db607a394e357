package serve

import (
	"cmp"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

const authenticationGroup = "authentication." + profile.GroupSuffix

// impersonate makes the request one of the user that its sender acts as, if it does and
// may (the specification, Impersonation): 400, 403.
func (h *Handler) impersonate(x *exchange) error {
	r := &x.r
	wish, err := authn.ReadImpersonation(r.HTTP.Header)
	if wish == nil {
		return err
	}
	as, constraint, begun := wish.User, "", time.Now()
	if r.Features.On("ConstrainedImpersonation") {
		as, constraint, err = h.impersonateInMode(x, wish)
	} else {
		err = h.impersonateParts(x, wish.Parts)
	}
	mode := ""
	if err == nil {
		mode = modeOf(cmp.Or(constraint, everyRequest))
	}
	h.cfg.Impersonation.Tried(mode, time.Since(begun))
	if err != nil {
		return err
	}
	h.log.Debug("the request acts as another user", "user", r.User.Name, "as", as.Name, "groups", as.Groups)
	r.ActAs(as, constraint)
	return nil
}

// everyRequest is the verb of the right to act as another user in each request.
const everyRequest = "impersonate"

// modeOf is the mode of a verb of impersonation, as metrics have it.
func modeOf(verb string) string {
	if verb == everyRequest {
		return "legacy"
	}
	return strings.Split(verb, ":")[1]
}

// impersonateParts requires the right to impersonate each part of a user, in any request.
func (h *Handler) impersonateParts(x *exchange, parts []authn.Impersonated) error {
	for _, part := range parts {
		a := authz.Attributes{User: x.r.User, Verb: everyRequest, Resource: part.Resource, Subresource: part.Key,
			Namespace: part.Namespace, Name: part.Name, ResourceRequest: true}
		if part.Resource == "userextras" || part.Resource == "uids" {
			a.Group, a.Version = authenticationGroup, "v1"
		}
		if err := h.permit(x, a); err != nil {
			return err
		}
	}
	return nil
}

// permit refuses what the authorizers do not allow.
func (h *Handler) permit(x *exchange, a authz.Attributes) error {
	begun := time.Now()
	decision, reason, err := h.cfg.Authz.Authorize(x.r.Context, &a)
	h.cfg.Impersonation.Asked(modeOf(a.Verb), decision == authz.Allow, time.Since(begun))
	if err != nil || decision != authz.Allow {
		return authz.Forbidden(&a, reason)
	}
	return nil
}
