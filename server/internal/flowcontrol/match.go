package flowcontrol

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
)

// all stands for all users, verbs, groups, resources, namespaces or paths.
const all = "*"

// names is a list of names; nil for all.
type names []string

func (n names) has(name string) bool { return n == nil || slices.Contains(n, name) }

func readNames(list document.Value) names {
	n := names{}
	for _, text := range list.Texts() {
		if text == all {
			return nil
		}
		n = append(n, strings.Clone(text))
	}
	return n
}

// rule matches requests of some users for something.
type rule struct {
	users, groups names // an absent kind of subjects is empty
	// accounts are the beginnings of the names of all service accounts in some namespaces.
	accounts  []string
	resources []resourceRule
	paths     []pathRule
}

// resourceRule matches requests for resources.
type resourceRule struct {
	verbs, groups, resources, namespaces names
	cluster                              bool // also requests without a namespace
}

// pathRule matches requests for paths that are not resources.
type pathRule struct{ verbs, paths names }

func readRule(v document.Value) rule {
	r := rule{users: names{}, groups: names{}}
	for _, s := range v.Get("subjects").Elements() {
		switch s.Get("kind").Text() {
		case "User":
			r.users = r.users.with(s.At("user", "name").Text())
		case "Group":
			r.groups = r.groups.with(s.At("group", "name").Text())
		case "ServiceAccount":
			account := s.Get("serviceAccount")
			prefix := authn.ServiceAccountPrefix + account.Get("namespace").Text() + ":"
			if name := account.Get("name").Text(); name == all {
				r.accounts = append(r.accounts, prefix)
			} else if r.users != nil {
				r.users = append(r.users, prefix+name)
			}
		}
	}
	for _, x := range v.Get("resourceRules").Elements() {
		r.resources = append(r.resources, resourceRule{readNames(x.Get("verbs")), readNames(x.Get("apiGroups")), readNames(x.Get("resources")),
			readNames(x.Get("namespaces")), x.Get("clusterScope").Bool()})
	}
	for _, x := range v.Get("nonResourceRules").Elements() {
		r.paths = append(r.paths, pathRule{readNames(x.Get("verbs")), readNames(x.Get("nonResourceURLs"))})
	}
	return r
}

func (n names) with(name string) names {
	if n == nil || name == all {
		return nil
	}
	return append(n, strings.Clone(name))
}

// everything matches all requests of some groups.
func everything(groups ...string) []rule {
	return []rule{{users: names{}, groups: groups, resources: []resourceRule{{cluster: true}}, paths: []pathRule{{}}}}
}

func (s *schema) matches(a *authz.Attributes) bool {
	for i := range s.rules {
		r := &s.rules[i]
		if (a.ResourceRequest && r.matchesResource(a) || !a.ResourceRequest && r.matchesPath(a)) && r.matchesUser(a.User) {
			return true
		}
	}
	return false
}

func (r *rule) matchesUser(u *authn.User) bool {
	if r.users.has(u.Name) || r.groups == nil {
		return true
	}
	for _, g := range u.Groups {
		if slices.Contains(r.groups, g) {
			return true
		}
	}
	for _, prefix := range r.accounts {
		if strings.HasPrefix(u.Name, prefix) {
			return true
		}
	}
	return false
}

func (r *rule) matchesResource(a *authz.Attributes) bool {
	for i := range r.resources {
		x := &r.resources[i]
		if (a.Namespace == "" && x.cluster || a.Namespace != "" && x.namespaces.has(a.Namespace)) &&
			x.verbs.has(a.Verb) && x.groups.has(a.Group) && x.hasResource(a.Resource, a.Subresource) {
			return true
		}
	}
	return false
}

func (x *resourceRule) hasResource(resource, sub string) bool {
	if sub == "" || x.resources == nil {
		return x.resources.has(resource)
	}
	for _, name := range x.resources {
		if before, after, _ := strings.Cut(name, "/"); before == resource && after == sub {
			return true
		}
	}
	return false
}

func (r *rule) matchesPath(a *authz.Attributes) bool {
	for i := range r.paths {
		x := &r.paths[i]
		if x.verbs.has(a.Verb) && (x.paths == nil || slices.ContainsFunc(x.paths, func(path string) bool {
			return path == a.Path || strings.HasPrefix(a.Path, strings.TrimRight(strings.TrimSuffix(path, "*"), "/")+"/")
		})) {
			return true
		}
	}
	return false
}
