package rbac

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
)

// all stands for every verb, group or resource in a rule.
const all = "*"

// rule allows verbs on resources or on paths of URLs: the PolicyRule of the rbac group.
type rule struct {
	verbs, groups, resources, names, paths []string

	mask                  uint32 // of verbs: one bit for each of the known, otherVerbs for the rest
	anyGroup, anyResource bool
}

// knownVerbs have a bit of their own in masks.
var knownVerbs = [...]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
	"use", "bind", "escalate", "impersonate", "approve", "sign", "proxy", "post", "put"}

const otherVerbs = 1 << 31

// verbBit is the bit of a verb in masks.
func verbBit(verb string) uint32 {
	for i := range knownVerbs {
		if knownVerbs[i] == verb {
			return 1 << i
		}
	}
	return otherVerbs
}

func newRule(verbs, groups, resources, names, paths []string) rule {
	r := rule{verbs: verbs, groups: groups, resources: resources, names: names, paths: paths,
		anyGroup: slices.Contains(groups, all), anyResource: slices.Contains(resources, all)}
	for _, verb := range verbs {
		if r.mask |= verbBit(verb); verb == all {
			r.mask = ^uint32(0)
		}
	}
	return r
}

// readRules reads the rules of a stored role.
func readRules(obj document.Value) []rule {
	var rules []rule
	for _, v := range obj.Get("rules").Elements() {
		rules = append(rules, newRule(v.Get("verbs").Texts(), v.Get("apiGroups").Texts(), v.Get("resources").Texts(), v.Get("resourceNames").Texts(),
			v.Get("nonResourceURLs").Texts()))
	}
	return rules
}

func (r *rule) hasVerb(verb string, bit uint32) bool {
	return r.mask&bit != 0 && (bit != otherVerbs || r.mask == ^uint32(0) || slices.Contains(r.verbs, verb))
}

func (r *rule) hasGroup(group string) bool { return r.anyGroup || slices.Contains(r.groups, group) }

// hasResource reports whether the rule is about a resource, or a subresource of it:
// "pods/log" and "*/log" name one.
func (r *rule) hasResource(resource, sub string) bool {
	if r.anyResource {
		return true
	}
	for _, name := range r.resources {
		rest, below := strings.CutSuffix(name, sub)
		switch {
		case sub == "":
			if name == resource {
				return true
			}
		case below && strings.HasSuffix(rest, "/") && (rest[:len(rest)-1] == resource || rest == all+"/"):
			return true
		}
	}
	return false
}

func (r *rule) hasPath(path string) bool {
	return slices.ContainsFunc(r.paths, func(pattern string) bool { return pathCovers(pattern, path) })
}

// pathCovers reports whether a pattern of paths covers a path, or another pattern.
func pathCovers(pattern, path string) bool {
	return pattern == path || strings.HasSuffix(pattern, all) && strings.HasPrefix(path, strings.TrimRight(pattern, all))
}

// allows reports whether the rule allows a request; bit is that of its verb.
func (r *rule) allows(a *authz.Attributes, bit uint32) bool {
	if !r.hasVerb(a.Verb, bit) {
		return false
	}
	if !a.ResourceRequest {
		return r.hasPath(a.Path)
	}
	return r.hasGroup(a.Group) && r.hasResource(a.Resource, a.Subresource) && (len(r.names) == 0 || slices.Contains(r.names, a.Name))
}

// Rules are the rules of a role.
type Rules []rule

// ReadRules reads the rules of a role.
func ReadRules(role document.Value) Rules { return readRules(role) }

// Allow reports whether a rule allows a request.
func (r Rules) Allow(a *authz.Attributes) bool {
	bit := verbBit(a.Verb)
	for i := range r {
		if r[i].allows(a, bit) {
			return true
		}
	}
	return false
}
