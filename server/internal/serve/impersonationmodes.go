package serve

import (
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// mode is a way in which a sender may act as another user for single verbs. It takes two rights: one for the verb of the request
// (impersonate-on:MODE:VERB), and one for each part of the user (impersonate:MODE).
type mode struct {
	name string
	// fits reports whether the mode is for such a user.
	fits func(sender *authn.User, wish *authn.Impersonation) bool
}

// modes are all modes, in the order in which they are tried. What none allows may still be allowed for all verbs (impersonate).
var modes = [...]mode{
	{associatedNode, func(sender *authn.User, wish *authn.Impersonation) bool {
		node := wish.Node()
		return node != "" && wish.Bare() && authn.NodeOfAccount(sender) == node
	}},
	{"arbitrary-node", func(_ *authn.User, wish *authn.Impersonation) bool { return wish.Node() != "" && wish.Bare() }},
	{"serviceaccount", func(_ *authn.User, wish *authn.Impersonation) bool { return wish.IsAccount() && wish.Bare() }},
	{"user-info", func(_ *authn.User, wish *authn.Impersonation) bool { return wish.Node() == "" && !wish.IsAccount() }},
}

// associatedNode is the mode of a service account that acts as the agent of the node on which it runs. The account has the right
// for all nodes, since authorizers do not learn which one it is.
const associatedNode = "associated-node"

// manyParts is the number of groups or extra values from which on the right to all of them is asked for first.
const manyParts = 4

// impersonateInMode returns the user that the sender may act as, by the first mode that allows it. constraint is the verb of that mode,
// "" for one of all requests. An error is that of the first mode that fits.
func (h *Handler) impersonateInMode(x *exchange, wish *authn.Impersonation) (as *authn.User, constraint string, err error) {
	inMode := wish.InMode()
	for _, m := range modes {
		if !m.fits(x.r.User, wish) {
			continue
		}
		refused := h.mayInMode(x, m.name, inMode.Parts)
		if refused == nil {
			return inMode.User, "impersonate:" + m.name, nil
		}
		if err == nil {
			err = refused
		}
	}
	// Later releases ask for the uid before the groups.
	parts := slices.Concat(partsOf(wish.Parts, "users", "serviceaccounts", "uids"), partsOf(wish.Parts, "groups", "userextras"))
	refused := h.impersonateParts(x, parts)
	if refused == nil {
		return wish.User, "", nil
	}
	if err == nil {
		err = refused
	}
	return nil, "", err
}

// mayInMode requires the rights of a mode for the parts of a user.
func (h *Handler) mayInMode(x *exchange, name string, parts []authn.Impersonated) error {
	on, a := x.r.Attributes(), authz.Attributes{User: x.r.User, Verb: "impersonate:" + name, Group: authenticationGroup, Version: "v1", ResourceRequest: true}
	if name == associatedNode {
		a.User = withoutExtra(x.r.User)
		parts = []authn.Impersonated{{Resource: "nodes", Name: "*"}}
	}
	on.User, on.Verb = a.User, "impersonate-on:"+name+":"+on.Verb
	if err := h.permit(x, on); err != nil {
		return err
	}
	for _, resource := range [...]string{"users", "nodes", "serviceaccounts", "uids", "groups", "userextras"} {
		a.Resource = resource
		if err := h.mayParts(x, a, partsOf(parts, resource)); err != nil {
			return err
		}
	}
	return nil
}

// mayParts requires the rights of a mode for the parts of a user that have one resource.
func (h *Handler) mayParts(x *exchange, a authz.Attributes, parts []authn.Impersonated) error {
	if name, why := neverInMode(parts); why != "" {
		a.Name = name
		return authz.Forbidden(&a, why)
	}
	if len(parts) >= manyParts {
		all := a
		if all.Name = "*"; all.Resource == "userextras" {
			all.Subresource = "*"
		}
		if h.permit(x, all) == nil {
			return nil
		}
	}
	for _, part := range parts {
		a.Subresource, a.Namespace, a.Name = part.Key, part.Namespace, part.Name
		if err := h.permit(x, a); err != nil {
			return err
		}
	}
	return nil
}

// partsOf are the parts of a user that have one of some resources.
func partsOf(parts []authn.Impersonated, resources ...string) (some []authn.Impersonated) {
	for _, part := range parts {
		if slices.Contains(resources, part.Resource) {
			some = append(some, part)
		}
	}
	return some
}

// withoutExtra is a service account as authorizers see it that acts as the agent of its node: the same on each node.
func withoutExtra(of *authn.User) *authn.User {
	account := *of
	account.Extra = map[string][]string{"authentication." + profile.LabelDomain + "/associated-node-keys": slices.Sorted(maps.Keys(of.Extra))}
	return &account
}

// neverInMode says why no mode allows some parts, all groups or all extra values; "" if one may. name is that of the part, if it counts.
func neverInMode(parts []authn.Impersonated) (name, why string) {
	for _, part := range parts {
		if part.Resource == "groups" && part.Name == "" {
			return "", "impersonating the empty string group is not allowed"
		}
	}
	for _, part := range parts {
		switch {
		case part.Resource == "groups" && part.Name == authn.GroupMasters:
			return part.Name, "impersonating the system:masters group is not allowed"
		case part.Resource == "userextras" && part.MistakeOfExtra() != "":
			return "", part.MistakeOfExtra()
		}
	}
	return "", ""
}
