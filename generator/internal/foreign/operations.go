package foreign

import (
	"regexp"
	"slices"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// resourcePath is a path of the resources of a control plane: group, version, plural, and
// whether there are a namespace, a name and a subresource.
var resourcePath = regexp.MustCompile(`^/(?:api|apis/([^/]+))/(v[0-9][a-z0-9]*)/(namespaces/\{namespace\}/)?([-a-z0-9]+)(/\{name\}(?:/([-a-z0-9]+))?)?$`)

// operationVerbs are the verbs of methods, for a collection and for one object.
var operationVerbs = map[string][2]string{"get": {"list", "get"}, "post": {"create", "create"}, "put": {"", "update"}, "patch": {"", "patch"},
	"delete": {"deletecollection", "delete"}}

// Operations are those of one path of a resource.
type Operations struct {
	Group, Version, Plural, Subresource string // Subresource is "" for the resource itself
	Kind                                string // of bodies and answers; "" for an unknown one
	Namespaced                          bool
	Verbs                               []string
}

// OperationsOf reads a path of an OpenAPI document; false if its form is not that of the
// paths of resources.
func OperationsOf(path string, item Place) (Operations, bool) {
	parts := resourcePath.FindStringSubmatch(path)
	if parts == nil {
		return Operations{}, false
	}
	op := Operations{Group: parts[1], Version: parts[2], Plural: parts[4], Subresource: parts[6], Namespaced: parts[3] != ""}
	one := 0
	if parts[5] != "" {
		one = 1
	}
	for method, verb := range operationVerbs {
		at := item.At(method)
		if !at.Here() {
			continue
		}
		if verb[one] != "" {
			op.Verbs = append(op.Verbs, verb[one])
		}
		if kind := at.Extension("group-version-kind").At("kind").Text(); kind != "" {
			op.Kind = kind
		}
	}
	slices.Sort(op.Verbs)
	return op, true
}

// AddTo adds the operations to a resource, a new subresource at the end.
func (op Operations) AddTo(r *model.Resource, pos schema.Position) {
	r.Namespaced = r.Namespaced || op.Namespaced
	if op.Subresource != "" {
		r.HasStatus = r.HasStatus || op.Subresource == "status"
		r.Subresources = append(r.Subresources, model.Subresource{Pos: pos, Name: op.Subresource, Verbs: op.Verbs})
		return
	}
	if r.Verbs = append(r.Verbs, op.Verbs...); slices.Contains(r.Verbs, "list") {
		r.Verbs = append(r.Verbs, "watch") // a parameter of lists, not an operation
	}
	slices.Sort(r.Verbs)
	r.Verbs = slices.Compact(r.Verbs)
}
