package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Rights are the policy with the authorizer of the server, whose modes may be others. They
// are those that admission asks.
type Rights struct {
	Policy     *Policy
	Authorizer authz.Authorizer
}

var _ admission.Rights = Rights{}

// May implements admission.Rights.
func (r Rights) May(ctx context.Context, user *authn.User, w admission.Right) (bool, string, error) {
	decision, reason, err := r.Authorizer.Authorize(ctx, &authz.Attributes{User: user, Verb: w.Verb, Group: w.Group, Version: w.Version,
		Resource: w.Resource, Subresource: w.Subresource, Namespace: w.Namespace, Name: w.Name, ResourceRequest: true})
	return decision == authz.Allow, reason, err
}

// MayGrant implements admission.Rights.
func (r Rights) MayGrant(ctx context.Context, w *admission.Request) error {
	return r.Policy.MayGrant(ctx, r.Authorizer, w)
}

// MayGrant refuses a role or binding by which a user would give rights that the user does
// not have: 403. Users in system:masters may give all rights. A user with the verb escalate on
// a role may write any rules into that role; a user with the verb bind on a role may bind
// that role. A binding of a missing role is refused with 404. Requests for other objects pass.
func (p *Policy) MayGrant(ctx context.Context, authorizer authz.Authorizer, r *admission.Request) error {
	if r.Resource.GV.Group != Group || r.Subresource != "" || r.Operation == admission.Delete || r.User == nil ||
		slices.Contains(r.User.Groups, authn.GroupMasters) {
		return nil
	}
	var err error
	switch r.Resource.Plural {
	case "roles", "clusterroles":
		err = p.mayDefine(ctx, authorizer, r)
	case "rolebindings", "clusterrolebindings":
		err = p.mayBind(ctx, authorizer, r)
	}
	var known *api.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return api.Forbidden(r.Resource.GroupResource(), r.Object.At("metadata", "name").Text(), err.Error())
}

// everything is all rights.
var everything = []rule{newRule([]string{all}, []string{all}, []string{all}, nil, nil), newRule([]string{all}, nil, nil, nil, []string{all})}

// mayDefine decides on a role.
func (p *Policy) mayDefine(ctx context.Context, authorizer authz.Authorizer, r *admission.Request) error {
	name := ""
	if r.Operation == admission.Update {
		name = r.Object.At("metadata", "name").Text()
	}
	if may(ctx, authorizer, r, "escalate", r.Resource.Plural, name) || r.OnlyCollected() {
		return nil
	}
	if err := p.confirm(r, readRules(r.Object)); err != nil {
		return err
	}
	if aggregates(r.Object) || r.Old.Exists() && aggregates(r.Old) {
		if p.confirm(r, everything) != nil {
			return errors.New("must have cluster-admin privileges to use the aggregationRule")
		}
	}
	return nil
}

func aggregates(role document.Value) bool {
	return role.At("aggregationRule", "clusterRoleSelectors").Len() > 0
}

// mayBind decides on a binding.
func (p *Policy) mayBind(ctx context.Context, authorizer authz.Authorizer, r *admission.Request) error {
	ref := readBinding(r.Object, r.Namespace).ref
	plural := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[ref.kind]
	if plural == "" || r.OnlyCollected() || may(ctx, authorizer, r, "bind", plural, ref.name) {
		return nil // another kind is refused later
	}
	rules, ok := p.rulesAt(ref)
	if !ok {
		return ref.missing("s")
	}
	return p.confirm(r, rules)
}

// rulesAt are the rules of a role, if it exists.
func (p *Policy) rulesAt(ref roleRef) ([]rule, bool) {
	key := p.prefix.clusterRoles + ref.name
	if ref.kind == "Role" {
		key = p.prefix.roles + ref.namespace + "/" + ref.name
	}
	if o := p.objects.View().Get(key); o != nil {
		return *o.rules, true
	}
	return nil, false
}

func may(ctx context.Context, authorizer authz.Authorizer, r *admission.Request, verb, plural, name string) bool {
	decision, _, _ := authorizer.Authorize(ctx, &authz.Attributes{User: r.User, Verb: verb, Group: Group, Version: all,
		Resource: plural, Namespace: r.Namespace, Name: name, ResourceRequest: true})
	return decision == authz.Allow
}

// confirm reports the rights that the user does not have.
func (p *Policy) confirm(r *admission.Request, rules []rule) error {
	own, failed := p.rulesOf(r.User, r.Namespace)
	missing, err := missingRights(own, rules)
	if err != nil || len(missing) == 0 {
		return err
	}
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", r.User.Name, r.User.Groups, describeRights(missing))
	if failed != nil {
		text += fmt.Sprintf("; resolution errors: [%v]", failed)
	}
	return errors.New(text)
}
