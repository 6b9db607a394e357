package matching

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Constraints are the writes that a webhook or a policy is for. All parts have to match.
type Constraints struct {
	Rules, Excluded     []Rule
	Everything          bool // it is for all resources; Rules are not read
	Namespaces, Objects selector.Requirements
	Equivalent          bool // a write in another version than the rules name matches, too
}

// Read reads the constraints of a webhook or a policy, whose rules have these names.
func Read(v document.Value, rules, excluded string) Constraints {
	return Constraints{Rules: readRules(v.Get(rules)), Excluded: readRules(v.Get(excluded)), Namespaces: selector.ReadRequirements(v.Get("namespaceSelector")),
		Objects: selector.ReadRequirements(v.Get("objectSelector")), Equivalent: v.Get("matchPolicy").Equals("Equivalent")}
}

// Matcher matches writes with constraints.
type Matcher struct {
	Catalog *catalog.Catalog
	// Namespace reads a namespace; the document is valid until release. Errors: 404.
	Namespace  func(ctx context.Context, name string) (obj document.Value, release func(), err error)
	Authorizer authz.Authorizer
	Selectors  bool              // the authorizer sees the selectors of checks
	Metrics    *metrics.Policies // nil for none
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

// Subject is a write that is matched with many constraints: the labels that they look at
// are read once.
type Subject struct {
	*admission.Request
	matcher   *Matcher
	objects   []selector.Labels // of the new object and the old one
	namespace selector.Labels
	read      struct{ objects, namespace bool }
}

// Subject makes the subject of a write.
func (m *Matcher) Subject(r *admission.Request) *Subject { return &Subject{Request: r, matcher: m} }

// Changed says that the new object has changed.
func (s *Subject) Changed() {
	s.objects, s.read.objects = s.objects[:0], false
	s.read.namespace = s.read.namespace && !isNamespaces(s.Asked)
}

// Match is the version in which a webhook or policy sees the write, nil if it is not for it:
// that of the request, or another one that the rules name.
func (s *Subject) Match(ctx context.Context, c *Constraints) (*api.Resource, error) {
	if len(c.Objects) > 0 && !s.selected(c.Objects) || s.read.namespace && !c.Namespaces.Match(s.namespace) {
		return nil, nil
	}
	m, in := s.matcher, s.Asked
	if !c.Everything {
		in = m.version(c.Rules, c.Equivalent, s.Request)
	}
	if in == nil || m.version(c.Excluded, c.Equivalent, s.Request) != nil {
		return nil, nil
	}
	if selected, err := s.inNamespace(ctx, c.Namespaces); err != nil || !selected {
		return nil, err
	}
	return in, nil
}

// selected reports whether the new object or the old one has the labels. Options of
// connections have no labels, not even none.
func (s *Subject) selected(by selector.Requirements) bool {
	if !s.read.objects {
		s.read.objects = true
		for _, obj := range [...]document.Value{s.Object, s.Old} {
			if obj.Exists() && s.Operation != admission.Connect {
				s.objects = append(s.objects, labelsOf(obj))
			}
		}
	}
	return slices.ContainsFunc(s.objects, by.Match)
}

func labelsOf(obj document.Value) selector.Labels {
	return selector.ReadLabels(obj.At("metadata", "labels"))
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

// inNamespace reports whether the namespace of the write is selected; that of a namespace is
// itself. Other cluster-scoped objects always are.
func (s *Subject) inNamespace(ctx context.Context, by selector.Requirements) (bool, error) {
	if len(by) == 0 || s.Namespace == "" && !isNamespaces(s.Asked) {
		return true, nil
	}
	if !s.read.namespace {
		var err error
		if s.namespace, err = s.readNamespace(ctx); err != nil {
			return false, err
		}
		s.read.namespace = true
	}
	return by.Match(s.namespace), nil
}

// readNamespace reads the labels of the write's namespace.
func (s *Subject) readNamespace(ctx context.Context) (selector.Labels, error) {
	name := s.Request.Namespace
	if isNamespaces(s.Asked) {
		if name = s.Name; s.Subresource == "" && s.Object.Exists() {
			return labelsOf(s.Object), nil
		}
	}
	obj, release, err := s.matcher.Namespace(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	return labelsOf(obj), nil
}

func isNamespaces(of *api.Resource) bool { return of.GV.Group == "" && of.Plural == "namespaces" }
