package catalog

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/version"

	"github.com/capstan-dev/capstan/internal/api"
)

// Remote is a group version that an extension server serves. It never changes.
type Remote struct {
	*api.GroupVersion
	// Documents are those of its server, as last read; nil before.
	Documents *RemoteDocuments
	// Stale reports that the server has not given its documents lately.
	Stale bool
}

// RemoteDocuments are the documents by which an extension server describes a group
// version.
type RemoteDocuments struct {
	Resources []byte          // of discovery: its APIResourceList, JSON
	Names     map[string]bool // of its resources and subresources: "pods", "pods/log"
	OpenAPI2  []byte          // JSON: the members paths and definitions; nil for none
	OpenAPI3  string          // the hash of the document of the group version; "" for none
}

// SetRemotes replaces the group versions of extension servers. Those that are served with
// built-in kinds stay local.
func (c *Catalog) SetRemotes(all []*Remote) {
	c.change(func(s *Snapshot) {
		s.remotes = nil
		for _, r := range all {
			if local := s.ServedVersion(r.APIVersion()); local == nil || local.Custom() {
				s.remotes = append(s.remotes, &Version{GroupVersion: r.GroupVersion, Remote: r, derived: new(sync.Map)})
			}
		}
	})
}

// Custom reports whether a group version has custom resources only.
func (v *Version) Custom() bool {
	return !slices.ContainsFunc(v.Rows, func(row *Row) bool { return row.Definition == nil })
}

// CustomPriority is the priority of all versions of custom resources among those of their
// group.
const CustomPriority = 100

// priority is the version's in its group.
func (v *Version) priority() int {
	if v.Remote == nil && v.Custom() {
		return CustomPriority
	}
	return int(v.VersionPriority)
}

// RemoteAt finds the group version of an extension server to which a path belongs; nil
// for none.
func (s *Snapshot) RemoteAt(path string) *Remote {
	if s.remotes == nil {
		return nil
	}
	rest, named := strings.CutPrefix(path, "/apis/")
	if !named {
		return nil
	}
	for _, v := range s.remotes {
		if after, ok := strings.CutPrefix(rest, v.APIVersion()); ok && (after == "" || after[0] == '/') {
			return v.Remote
		}
	}
	return nil
}

// outline is everything that clients can discover.
type outline struct {
	all    []*Version
	groups map[string][]*Version
}

// Discovered lists the group versions that clients find: those that are served, and those
// of extension servers, which go before local ones of the same name.
func (s *Snapshot) Discovered() []*Version {
	if s.remotes == nil {
		return s.served
	}
	return s.outline().all
}

// DiscoveredIn lists the versions of a group that clients find, the preferred one first.
func (s *Snapshot) DiscoveredIn(group string) []*Version {
	if s.remotes == nil {
		return s.ServedIn(group)
	}
	return s.outline().groups[group]
}

// newOutline merges the remote group versions with the local ones. A group has the
// highest priority that one of its versions gives it.
func newOutline(served, remotes []*Version) *outline {
	o := &outline{groups: map[string][]*Version{}}
	remote := map[string]bool{}
	for _, v := range remotes {
		remote[v.APIVersion()] = true
		o.groups[v.Group] = nil
	}
	var names []string
	for _, v := range slices.Concat(served, remotes) {
		if v.Remote == nil && remote[v.APIVersion()] {
			continue
		}
		if len(o.groups[v.Group]) == 0 {
			names = append(names, v.Group)
		}
		o.groups[v.Group] = append(o.groups[v.Group], v)
	}
	weight := map[string]int{}
	for name, versions := range o.groups {
		for _, v := range versions {
			weight[name] = max(weight[name], int(v.GroupPriority))
		}
	}
	for _, v := range remotes {
		slices.SortStableFunc(o.groups[v.Group], byPriority)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b)) })
	for _, name := range names {
		o.all = append(o.all, o.groups[name]...)
	}
	return o
}

// byPriority orders the versions of a group, the preferred one first.
func byPriority(a, b *Version) int {
	return cmp.Or(cmp.Compare(b.priority(), a.priority()), version.CompareKubeAwareVersionStrings(b.GroupVersion.Version, a.GroupVersion.Version))
}
