// Package matching decides which writes an admission webhook or policy is for, and shows
// them in the version that it knows.
package matching

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Rule is a set of operations on resources. "*" in a list stands for all.
type Rule struct {
	operations, groups, versions []string
	names                        []string    // of objects; none for all
	resources                    [][2]string // with their subresources
	scope                        string      // Cluster, Namespaced, or * for both
}

func readRules(list document.Value) (all []Rule) {
	for _, v := range list.Elements() {
		all = append(all, readRule(v))
	}
	return all
}

func readRule(v document.Value) Rule {
	r := Rule{names: v.Get("resourceNames").Texts(), operations: v.Get("operations").Texts(), groups: v.Get("apiGroups").Texts(),
		versions: v.Get("apiVersions").Texts(), scope: strings.Clone(v.Get("scope").Text())}
	for _, text := range v.Get("resources").Texts() {
		resource, sub, _ := strings.Cut(text, "/")
		r.resources = append(r.resources, [2]string{resource, sub})
	}
	return r
}

func has(list []string, name string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, name)
}

// mayMatch reports whether the rule matches writes of a resource in one of its versions.
func (r *Rule) mayMatch(operation string, of *api.Resource, subresource string) bool {
	if !has(r.operations, operation) || !has(r.groups, of.GV.Group) {
		return false
	}
	return slices.ContainsFunc(r.resources, func(name [2]string) bool {
		return (name[0] == "*" || name[0] == of.Plural) && (name[1] == "*" || name[1] == subresource)
	})
}

// matches reports whether the rule matches writes of an object in a version. Namespaces
// are cluster-scoped, though their reviews have a namespace.
func (r *Rule) matches(operation string, of *api.Resource, subresource, name string) bool {
	switch r.scope {
	case "Namespaced":
		if !of.Namespaced {
			return false
		}
	case "Cluster":
		if of.Namespaced {
			return false
		}
	}
	return has(r.versions, of.GV.Version) && r.mayMatch(operation, of, subresource) && (len(r.names) == 0 || slices.Contains(r.names, name))
}

// Words are the operations in rules and reviews.
var Words = [...]string{admission.Create: "CREATE", admission.Update: "UPDATE", admission.Delete: "DELETE", admission.Connect: "CONNECT"}
