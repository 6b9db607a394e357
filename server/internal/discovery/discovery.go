package discovery

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Documents makes the discovery documents of snapshots of the catalog, on demand. What
// describes a group version is kept with it, so that a change costs no more than the
// change is large; the documents of everything are kept for the last requested snapshot.
type Documents struct {
	// Since reports whether the release of the built-in kinds is a named one or a later one. Nil: the oldest one.
	Since func(release string) bool

	last atomic.Pointer[wholeDocuments]
}

func (d *Documents) since(release string) bool { return d.Since != nil && d.Since(release) }

// wholeDocuments are the documents of everything that a snapshot serves, by path; an
// aggregated one is at the path and its apiVersion.
type wholeDocuments struct {
	of     *catalog.Snapshot
	byPath sync.Map
}

// Document is a document of a kind of meta/v1.
type Document struct {
	Kind string
	JSON []byte
	Tag  string // its entity tag, of aggregated documents only
}

// whole is a document of everything, made when it is first requested.
func (d *Documents) whole(snapshot *catalog.Snapshot, path string, make func() (Document, error)) (Document, error) {
	have := d.last.Load()
	if have == nil || have.of != snapshot {
		have = &wholeDocuments{of: snapshot}
		d.last.Store(have)
	}
	if made, ok := have.byPath.Load(path); ok {
		return made.(Document), nil
	}
	made, err := make()
	if err == nil {
		have.byPath.Store(path, made)
	}
	return made, err
}

// At returns the document of a snapshot at a path that it serves, see Serves.
func (d *Documents) At(snapshot *catalog.Snapshot, path string) (Document, error) {
	rest, named := strings.CutPrefix(path, "/apis/")
	switch {
	case path == "/apis":
		return d.whole(snapshot, path, func() (Document, error) { return groupList(snapshot) })
	case named && !strings.Contains(rest, "/"):
		group := apiGroup(snapshot.DiscoveredIn(rest))
		group.TypeMeta = api.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		text, err := json.Marshal(group)
		return Document{Kind: "APIGroup", JSON: text}, err
	case !named:
		rest = "v1"
	}
	text, err := kept(snapshot.ServedVersion(rest), resourceListKey{}, func(v *catalog.Version) any { return resourceList(v) })
	return Document{Kind: "APIResourceList", JSON: text}, err
}

// resourceListKey is the key of the list of resources that is kept with a group version.
type resourceListKey struct{}

// kept is the JSON of a description of a group version, kept with it.
func kept(v *catalog.Version, key any, describe func(v *catalog.Version) any) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	made := catalog.Derived(v, key, func() result {
		text, err := json.Marshal(describe(v))
		return result{text, err}
	})
	return made.text, made.err
}

// Serves reports whether a path is that of all groups, of a group, or of a group
// version.
func Serves(snapshot *catalog.Snapshot, path string) bool {
	if path == "/api/v1" {
		return snapshot.ServesGroup("")
	}
	rest, ok := strings.CutPrefix(path, "/apis")
	if !ok || rest == "" {
		return ok
	}
	switch rest = rest[1:]; strings.Count(rest, "/") {
	case 0:
		return rest != "" && len(snapshot.DiscoveredIn(rest)) > 0
	case 1:
		return snapshot.ServedVersion(rest) != nil
	}
	return false
}

// OfVersion reports whether a path is that of a group version, if it is one of a document.
func OfVersion(path string) bool {
	rest, named := strings.CutPrefix(path, "/apis/")
	return named && strings.Contains(rest, "/") || path == "/api/v1"
}

// Paths are the paths of a snapshot's documents.
func Paths(snapshot *catalog.Snapshot) []string {
	paths := []string{"/api", "/apis"}
	for _, v := range snapshot.Discovered() {
		paths = append(paths, v.Prefix())
		if v.Group != "" {
			paths = append(paths, "/apis/"+v.Group)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// byGroup visits the served versions of each group, in the order of discovery.
func byGroup(snapshot *catalog.Snapshot) iter.Seq[[]*catalog.Version] {
	return func(yield func([]*catalog.Version) bool) {
		last := ""
		for i, v := range snapshot.Discovered() {
			if (i == 0 || v.Group != last) && !yield(snapshot.DiscoveredIn(v.Group)) {
				return
			}
			last = v.Group
		}
	}
}

// groupKey is the key of the entry of a group, which is kept with its first version:
// the versions of the group.
type groupKey struct{ versions string }

// groupList is the list of the named groups in the order of discovery.
func groupList(snapshot *catalog.Snapshot) (Document, error) {
	var entries [][]byte
	for versions := range byGroup(snapshot) {
		if versions[0].Group == "" {
			continue
		}
		names := ""
		for _, v := range versions {
			names += v.Version + " "
		}
		entry, err := kept(versions[0], groupKey{names}, func(*catalog.Version) any { return apiGroup(versions) })
		if err != nil {
			return Document{}, err
		}
		entries = append(entries, entry)
	}
	text := append([]byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[`), bytes.Join(entries, []byte{','})...)
	return Document{Kind: "APIGroupList", JSON: append(text, "]}"...)}, nil
}

// apiGroup describes a group by its served versions.
func apiGroup(versions []*catalog.Version) (group api.GroupDescription) {
	for i, v := range versions {
		version := api.VersionDescription{GroupVersion: v.APIVersion(), Version: v.Version}
		group.Name = v.Group
		group.Versions = append(group.Versions, version)
		if i == 0 || v.Preferred {
			group.PreferredVersion = version
		}
	}
	return group
}

func resourceList(v *catalog.Version) api.ResourceList {
	list := api.ResourceList{TypeMeta: api.TypeMeta{Kind: "APIResourceList"}, GroupVersion: v.APIVersion(), Resources: []api.ResourceDescription{}}
	if v.Group != "" {
		list.APIVersion = "v1"
	}
	for _, row := range v.Rows {
		verbs := row.Action.Rights(row.Verbs)
		if row.Definition != nil {
			verbs = customVerbs
		}
		list.Resources = append(list.Resources, api.ResourceDescription{
			Name: row.Plural, SingularName: row.Singular, Namespaced: row.Namespaced, Kind: row.Kind,
			Verbs: verbs, ShortNames: row.ShortNames, Categories: row.Categories, StorageVersionHash: row.StorageVersionHash,
		})
		for j := range row.Subresources {
			sub := &row.Subresources[j]
			r := api.ResourceDescription{Name: row.Plural + "/" + sub.Name, Namespaced: row.Namespaced, Kind: sub.Kind, Verbs: sub.Action.Rights(sub.Verbs)}
			if sub.Group != v.Group || sub.Version != v.Version {
				r.Group, r.Version = sub.Group, sub.Version
			}
			list.Resources = append(list.Resources, r)
		}
	}
	slices.SortStableFunc(list.Resources, func(a, b api.ResourceDescription) int {
		if v.Rows[0].Definition != nil { // the object, its status, its scale
			return strings.Compare(typeName(a.Name), typeName(b.Name))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// customVerbs are the verbs of custom resources in the order of 1.25.
var customVerbs = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// typeName is the resource type in the name of a resource or subresource.
func typeName(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// CoreVersions are the versions of the core group and the address of the server: the
// document at /api, of the kind APIVersions.
func CoreVersions(address string) ([]byte, error) {
	type reachable struct {
		ClientCIDR    string `json:"clientCIDR"`
		ServerAddress string `json:"serverAddress"`
	}
	return json.Marshal(struct {
		api.TypeMeta
		Versions  []string    `json:"versions"`
		Reachable []reachable `json:"serverAddressByClientCIDRs"`
	}{api.TypeMeta{Kind: "APIVersions"}, []string{"v1"}, []reachable{{"0.0.0.0/0", address}}})
}
