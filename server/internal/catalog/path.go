package catalog

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
)

// Address is the resource that a path names by its form, served or not:
//
//	/api/v1/namespaces/NS/pods/NAME/status      core group, namespaced
//	/apis/apps/v1/deployments                   all namespaces
//	/api/v1/namespaces/NS                       the namespace NS itself
//	/apis/apps/v1/watch/namespaces/NS/pods      the old form of watch
type Address struct {
	Group, Version, Resource     string
	Namespace, Name, Subresource string // of the namespace itself both its name and its namespace
	Itself                       bool   // the path is that of the namespace, or of one of its own subresources
	Rest                         string // the part after the subresource: "metrics/cpu"
	Old                          string // "watch" or "proxy" for paths of their old form
}

// steps bounds the parts of a path: apis, group, version, watch, namespaces, the
// namespace, resource, name, subresource, and the rest as one.
const steps = 10

// ParsePath splits a path. It returns false for a path that does not name a resource: one
// that is too short, or has an empty step before the rest. Slashes around the path do not
// count.
func ParsePath(path string) (a Address, ok bool) {
	var all [steps]string
	whole := split(all[:0], strings.Trim(path, "/"))
	parts := whole
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[1:]
	case len(parts) >= 4 && parts[0] == "apis":
		a.Group, parts = parts[1], parts[2:]
	default:
		return Address{}, false
	}
	a.Version, parts = parts[0], parts[1:]
	if len(parts) > 1 && (parts[0] == "watch" || parts[0] == "proxy") {
		a.Old, parts = parts[0], parts[1:]
	}
	if len(parts) > 1 && parts[0] == "namespaces" {
		a.Namespace = parts[1]
		// A third step is a resource in the namespace, unless it is one of the
		// namespace's own subresources.
		if a.Itself = len(parts) == 2 || parts[2] == "status" || parts[2] == "finalize"; !a.Itself {
			parts = parts[2:]
		}
	}
	named := parts[:min(3, len(parts))]
	if slices.Contains(whole[:len(whole)-len(parts)+len(named)], "") {
		return Address{}, false
	}
	a.Resource = named[0]
	if len(named) > 1 {
		a.Name = named[1]
	}
	if len(named) > 2 {
		a.Subresource = named[2]
	}
	a.Rest = strings.Join(parts[len(named):], "/")
	return a, true
}

// split appends the steps of a path to parts, up to its capacity: the last holds the
// rest.
func split(parts []string, path string) []string {
	for more := true; more; {
		if len(parts) == cap(parts)-1 {
			return append(parts, path)
		}
		var step string
		step, path, more = strings.Cut(path, "/")
		parts = append(parts, step)
	}
	return parts
}

// Target is the row, subresource and names that a path resolves to in a snapshot.
type Target struct {
	Row       *Row
	Sub       *api.Subresource // nil for the object itself, or the collection
	Namespace string           // "" for cluster-scoped types and for all namespaces
	Name      string           // "" for collections
	Watch     bool             // the path has the old form of watches
}

// Resolve finds the target of an address; false when nothing is served there.
func (s *Snapshot) Resolve(a *Address) (t Target, ok bool) {
	row := s.resources.get(Resource{a.Group, a.Version, a.Resource})
	if row == nil || row.Off {
		return t, false
	}
	t = Target{Row: row, Namespace: a.Namespace, Name: a.Name, Watch: a.Old == "watch"}
	switch {
	case !row.Namespaced && a.Itself:
		t.Namespace = ""
	case !row.Namespaced && t.Namespace != "", row.Namespaced && (t.Namespace == "" && t.Name != "" || a.Itself):
		return t, false
	}
	if a.Old != "" {
		return t, t.Watch && a.Subresource == "" && row.Verbs.Has(api.VerbWatch)
	}
	if a.Subresource != "" {
		t.Sub = row.Subresource(a.Subresource)
		return t, t.Sub != nil && (a.Rest == "" || t.Sub.Endpoint.Proxies())
	}
	return t, true
}
