// Package rbac decides by the stored roles and bindings: it authorizes requests, lists
// rights, and refuses roles and bindings that would give more than their author has.
package rbac

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Group is the group of roles and bindings.
const Group = "rbac.authorization." + profile.GroupSuffix

// Config holds the dependencies of a Policy.
type Config struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Logger  *slog.Logger
}

// Policy is all roles and bindings. It is an authz.Authorizer that allows or has no
// opinion, and an authz.RuleLister. A change counts before its write is acknowledged.
type Policy struct {
	objects *live.Collection[*object]
	index   *index
	prefix  struct{ roles, clusterRoles, bindings, clusterBindings string }
}

// Open reads all roles and bindings, and follows them until Close.
func Open(ctx context.Context, cfg Config) (*Policy, error) {
	p := &Policy{index: newIndex()}
	rows := map[string]*catalog.Row{} // by prefix
	prefix := func(plural string) string {
		row := cfg.Catalog.Snapshot().Stored(Group, plural)
		rows[row.Prefix("")] = row
		return row.Prefix("")
	}
	p.prefix.roles, p.prefix.clusterRoles = prefix("roles"), prefix("clusterroles")
	p.prefix.bindings, p.prefix.clusterBindings = prefix("rolebindings"), prefix("clusterrolebindings")
	decode := func(e *store.Entry) (*object, error) {
		at := p.prefixOf(e.Key)
		return live.Read(rows[at], func(obj document.Value) *object { return p.read(at, e.Key, obj) })(e)
	}
	var err error
	p.objects, err = live.Open(ctx, live.Config[*object]{Store: cfg.Store, Logger: cfg.Logger, Decode: decode,
		Prefixes: []string{p.prefix.roles, p.prefix.clusterRoles, p.prefix.bindings, p.prefix.clusterBindings}})
	if err != nil {
		return nil, err
	}
	live.Derive(p.objects, func(_ *index, changes []live.Change[*object]) *index {
		p.index.apply(changes, p.refOf)
		return p.index
	})
	return p, nil
}

// Close ends following.
func (p *Policy) Close() { p.objects.Close() }

func (p *Policy) prefixOf(key string) string {
	for _, prefix := range [...]string{p.prefix.roles, p.prefix.clusterRoles, p.prefix.bindings} {
		if strings.HasPrefix(key, prefix) {
			return prefix
		}
	}
	return p.prefix.clusterBindings
}

func (p *Policy) read(prefix, key string, obj document.Value) *object {
	switch prefix {
	case p.prefix.roles, p.prefix.clusterRoles:
		rules := readRules(obj)
		return &object{rules: &rules}
	case p.prefix.bindings:
		namespace, _, _ := strings.Cut(key[len(prefix):], "/")
		return &object{binding: readBinding(obj, strings.Clone(namespace))}
	}
	return &object{binding: readBinding(obj, "")}
}

// refOf is the reference to the role of a key.
func (p *Policy) refOf(key string) roleRef {
	if name, ok := strings.CutPrefix(key, p.prefix.clusterRoles); ok {
		return roleRef{kind: "ClusterRole", name: name}
	}
	namespace, name, _ := strings.Cut(strings.TrimPrefix(key, p.prefix.roles), "/")
	return roleRef{namespace: namespace, kind: "Role", name: name}
}

// each visits the grants that a user has everywhere and in a namespace ("" for none) until
// visit returns false.
func (p *Policy) each(user *authn.User, namespace string, visit func(g *grant) bool) {
	grants := p.index.subjects.Load()
	of := func(s subject) bool {
		list := grants.of(s)
		for i := range list {
			if !visit(&list[i]) {
				return false
			}
		}
		return true
	}
	in := func(namespace string) bool {
		if !of(subject{name: user.Name, namespace: namespace}) {
			return false
		}
		for _, group := range user.Groups {
			if !of(subject{group: true, name: group, namespace: namespace}) {
				return false
			}
		}
		return true
	}
	if in("") && namespace != "" {
		in(namespace)
	}
}

// Authorize implements authz.Authorizer. The reason names the binding that allows, or the
// roles that are missing.
func (p *Policy) Authorize(_ context.Context, a *authz.Attributes) (authz.Decision, string, error) {
	if a.User == nil {
		return authz.NoOpinion, "", nil
	}
	bit, reason, missing := verbBit(a.Verb), "", false
	p.each(a.User, a.Namespace, func(g *grant) bool {
		rules := g.role.rules.Load()
		if rules == nil {
			missing = true
			return true
		}
		for i := range *rules {
			if (*rules)[i].allows(a, bit) {
				reason = g.reason
				return false
			}
		}
		return true
	})
	switch {
	case reason != "":
		return authz.Allow, reason, nil
	case missing:
		_, err := p.rulesOf(a.User, a.Namespace)
		if err != nil {
			return authz.NoOpinion, "RBAC: " + err.Error(), nil
		}
	}
	return authz.NoOpinion, "", nil
}

// rulesOf are the rules of a user; the error names roles that are missing.
func (p *Policy) rulesOf(user *authn.User, namespace string) (rules []rule, err error) {
	var missing []string
	p.each(user, namespace, func(g *grant) bool {
		if of := g.role.rules.Load(); of != nil {
			rules = append(rules, *of...)
		} else if len(missing) < maxMissing {
			missing = append(missing, g.ref.missing("").Error())
		}
		return true
	})
	switch len(missing) {
	case 0:
		return rules, nil
	case 1:
		return rules, errors.New(missing[0])
	}
	return rules, errors.New("[" + strings.Join(missing, ", ") + "]")
}

// maxMissing bounds the roles that an error names.
const maxMissing = 32

// missing is the error for a role that does not exist; plural is "s", or "" for the name
// in reasons.
func (r roleRef) missing(plural string) error {
	switch r.kind {
	case "Role", "ClusterRole":
		return api.NotFound(api.GroupResource{Group: Group, Resource: strings.ToLower(r.kind) + plural}, r.name)
	}
	return fmt.Errorf("unsupported role reference kind: %q", r.kind)
}

// Rules implements authz.RuleLister.
func (p *Policy) Rules(_ context.Context, user *authn.User, namespace string) (all authz.Rules, err error) {
	rules, err := p.rulesOf(user, namespace)
	for _, r := range rules {
		if len(r.resources) > 0 {
			all.Resources = append(all.Resources, authz.ResourceRule{Verbs: r.verbs, Groups: r.groups, Resources: r.resources, Names: r.names})
		}
		if len(r.paths) > 0 {
			all.Paths = append(all.Paths, authz.PathRule{Verbs: r.verbs, Paths: r.paths})
		}
	}
	return all, err
}
