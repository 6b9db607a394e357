package policies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// mayRead refuses a policy or a binding whose author may not read the parameters: its
// messages could show them.
func (p *Policies) mayRead(ctx context.Context, r *admission.Request) error {
	if r.Resource.GV.Group != group || r.Subresource != "" || !r.Object.Exists() || r.User == nil || slices.Contains(r.User.Groups, authn.GroupMasters) {
		return nil
	}
	spec, before := r.Object.Get("spec"), r.Old.Get("spec")
	kind, ref := spec.Get("paramKind"), spec.Get("paramRef")
	a := authz.Attributes{User: r.User, ResourceRequest: true, Verb: "get", Group: "*", Version: "*", Resource: "*"}
	field, why := "spec.paramKind", ""
	switch {
	case kind.Exists() && !unchanged(kind, before.Get("paramKind")):
		of := paramKind{kind.Get("apiVersion").Text(), kind.Get("kind").Text()}
		p.narrow(&a, &of)
		a.Name, a.Namespace = "*", "*"
		why = fmt.Sprintf("user %q must have \"get\" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)",
			r.User.Name, of.kind, of.apiVersion)
	case ref.Exists() && !(unchanged(ref, before.Get("paramRef")) && unchanged(spec.Get("policyName"), before.Get("policyName"))):
		from := p.validating
		if strings.HasPrefix(r.Resource.Plural, "mutating") {
			from = p.mutating
		}
		p.narrow(&a, from.paramKind(spec.Get("policyName").Text()))
		if a.Name, a.Namespace = ref.Get("name").Text(), ref.Get("namespace").Text(); a.Name == "" {
			a.Verb = "list"
		}
		field = "spec.paramRef"
		why = fmt.Sprintf("user %q does not have %q permission on the objects that paramRef names", r.User.Name, a.Verb)
	default:
		return nil
	}
	decision, _, err := p.cfg.Matcher.Authorizer.Authorize(ctx, &a)
	if err != nil {
		why = err.Error()
	}
	if err == nil && decision == authz.Allow {
		return nil
	}
	return r.Resource.Invalid(r.Object.At("metadata", "name").Text(), []schema.Cause{{Reason: schema.CauseForbidden, Field: field, Message: "Forbidden: " + why}})
}

func unchanged(now, before document.Value) bool {
	return before.Exists() && document.Equal(now, before)
}

// narrow restricts a question to a kind of parameters, as far as it is known.
func (p *Policies) narrow(a *authz.Attributes, kind *paramKind) {
	if kind == nil {
		return
	}
	group, version, found := strings.Cut(kind.apiVersion, "/")
	if !found {
		group, version = "", group
	}
	a.Group, a.Version = group, version
	if row := p.cfg.Matcher.Catalog.Snapshot().Kind(kind.apiVersion, kind.kind); row != nil {
		a.Resource = row.Plural
	}
}

// paramKind is the kind of a policy's parameters; nil if it has none, or does not exist.
func (b *bound) paramKind(name string) *paramKind {
	for _, p := range b.policies.View().Under("") {
		if p.name == name {
			return p.params
		}
	}
	return nil
}
