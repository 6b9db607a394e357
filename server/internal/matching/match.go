package matching

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Constraints are the writes that a webhook or a policy is for. All parts have to match.
type Constraints struct {
	Rules, Excluded     []Rule
	Everything          bool // it is for all resources; Rules are not read
	Namespaces, Objects Selector
	Equivalent          bool // a write in another version than the rules name matches, too
}

// Read reads the constraints of a webhook or a policy, whose rules have these names.
func Read(v document.Value, rules, excluded string) Constraints {
	return Constraints{Rules: readRules(v.Get(rules)), Excluded: readRules(v.Get(excluded)), Namespaces: ReadSelector(v.Get("namespaceSelector")),
		Objects: ReadSelector(v.Get("objectSelector")), Equivalent: v.Get("matchPolicy").Equals("Equivalent")}
}

// Matcher matches writes with constraints.
type Matcher struct {
	Catalog *catalog.Catalog
	// Namespace reads a namespace; the document is valid until release. Errors: 404.
	Namespace  func(ctx context.Context, name string) (obj document.Value, release func(), err error)
	Authorizer authz.Authorizer
}

// versionsOf are the rows of a resource in all versions, which may be in several groups.
func (m *Matcher) versionsOf(resource *api.Resource) []*catalog.Row {
	if row := m.Catalog.Snapshot().Resource(resource.GV.Group, resource.GV.Version, resource.Plural); row != nil {
		return row.Versions.Rows
	}
	return nil
}

// may returns a test of constraints: whether they may match such a write.
func (m *Matcher) may(o admission.Operation, resource *api.Resource, subresource string) func(*Constraints) bool {
	versions := m.versionsOf(resource)
	return func(c *Constraints) bool {
		return c.Everything || len(versions) == 0 || slices.ContainsFunc(c.Rules, func(r Rule) bool {
			return slices.ContainsFunc(versions, func(in *catalog.Row) bool { return r.mayMatch(Words[o], in.Resource, subresource) })
		})
	}
}

// Match is the version in which a webhook or policy sees a write, nil if it is not for it:
// that of the request, or another one that the rules name.
func (m *Matcher) Match(ctx context.Context, c *Constraints, r *admission.Request) (*api.Resource, error) {
	selects := func(obj document.Value) bool { // options of connections have no labels, not even none
		return obj.Exists() && r.Operation != admission.Connect && c.Objects.Matches(obj)
	}
	if len(c.Objects) > 0 && !selects(r.Object) && !selects(r.Old) {
		return nil, nil
	}
	in := r.Asked
	if !c.Everything {
		in = m.version(c.Rules, c.Equivalent, r)
	}
	if in == nil || m.version(c.Excluded, c.Equivalent, r) != nil {
		return nil, nil
	}
	if selected, err := m.inNamespace(ctx, c, r); err != nil || !selected {
		return nil, err
	}
	return in, nil
}

func (m *Matcher) version(rules []Rule, equivalent bool, r *admission.Request) *api.Resource {
	operation := Words[r.Operation]
	for i := range rules {
		if rules[i].matches(operation, r.Asked, r.Subresource, r.Name) {
			return r.Asked
		}
	}
	if !equivalent {
		return nil
	}
	for i := range rules {
		for _, in := range m.versionsOf(r.Asked) {
			if (r.Subresource == "" || in.Subresource(r.Subresource) != nil) && rules[i].matches(operation, in.Resource, r.Subresource, r.Name) {
				return in.Resource
			}
		}
	}
	return nil
}

// inNamespace reports whether the namespace of a write is selected; that of a namespace is
// itself. Other cluster-scoped objects always are.
func (m *Matcher) inNamespace(ctx context.Context, c *Constraints, r *admission.Request) (bool, error) {
	namespaces := isNamespaces(r.Asked)
	switch {
	case len(c.Namespaces) == 0 || r.Namespace == "" && !namespaces:
		return true, nil
	case namespaces && r.Subresource == "" && r.Object.Exists():
		return c.Namespaces.Matches(r.Object), nil
	}
	name := r.Namespace
	if namespaces {
		name = r.Name
	}
	obj, release, err := m.Namespace(ctx, name)
	if err != nil {
		return false, err
	}
	defer release()
	return c.Namespaces.Matches(obj), nil
}

func isNamespaces(of *api.Resource) bool { return of.GV.Group == "" && of.Plural == "namespaces" }
