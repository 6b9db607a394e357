// Package discovery describes a server to its clients: the resources of a catalog
// snapshot, as discovery and OpenAPI documents, the release, and the results of health
// checks.
package discovery

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Documents caches the discovery documents of the last requested snapshot of the catalog.
// They are made on demand.
type Documents struct {
	last atomic.Pointer[snapshotDocuments]
}

// snapshotDocuments are the documents of a snapshot, by path.
type snapshotDocuments struct {
	of     *catalog.Snapshot
	byPath map[string]Document
}

// Document is a document of a kind of meta/v1.
type Document struct {
	Kind string
	JSON []byte
}

// At returns the document of a snapshot at a path that it serves, see Serves.
func (d *Documents) At(snapshot *catalog.Snapshot, path string) (Document, error) {
	have := d.last.Load()
	if have == nil || have.of != snapshot {
		documents, err := newDocuments(snapshot.Served())
		if err != nil {
			return Document{}, err
		}
		have = &snapshotDocuments{snapshot, documents}
		d.last.Store(have)
	}
	return have.byPath[path], nil
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
		return rest != "" && snapshot.ServesGroup(rest)
	case 1:
		return snapshot.ServedVersion(rest) != nil
	}
	return false
}

// Paths are the paths of a snapshot's documents.
func Paths(snapshot *catalog.Snapshot) []string {
	paths := []string{"/api", "/apis"}
	for _, v := range snapshot.Served() {
		paths = append(paths, v.Prefix())
		if v.Group != "" {
			paths = append(paths, "/apis/"+v.Group)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func newDocuments(served []*catalog.Version) (map[string]Document, error) {
	d := map[string]Document{}
	add := func(path, kind string, v any) error {
		b, err := json.Marshal(v)
		d[path] = Document{kind, b}
		return err
	}
	list := v1.APIGroupList{TypeMeta: v1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []v1.APIGroup{}}
	for _, group := range apiGroups(served) {
		list.Groups = append(list.Groups, group)
		group.TypeMeta = v1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		if err := add("/apis/"+group.Name, "APIGroup", group); err != nil {
			return nil, err
		}
	}
	if err := add("/apis", "APIGroupList", list); err != nil {
		return nil, err
	}
	for _, v := range served {
		if err := add(v.Prefix(), "APIResourceList", resourceList(v)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// apiGroups lists the named groups in discovery order, each with its versions.
func apiGroups(served []*catalog.Version) []v1.APIGroup {
	var out []v1.APIGroup
	for _, v := range served {
		if v.Group == "" {
			continue
		}
		version := v1.GroupVersionForDiscovery{GroupVersion: v.APIVersion(), Version: v.Version}
		if n := len(out); n == 0 || out[n-1].Name != v.Group {
			out = append(out, v1.APIGroup{Name: v.Group, PreferredVersion: version})
		}
		last := &out[len(out)-1]
		last.Versions = append(last.Versions, version)
		if v.Preferred {
			last.PreferredVersion = version
		}
	}
	return out
}

func resourceList(v *catalog.Version) v1.APIResourceList {
	list := v1.APIResourceList{TypeMeta: v1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: v.APIVersion(), APIResources: []v1.APIResource{}}
	if v.Group != "" {
		list.APIVersion = "v1"
	}
	for _, row := range v.Rows {
		verbs := row.Verbs.Names()
		if row.Definition != nil {
			verbs = customVerbs
		}
		list.APIResources = append(list.APIResources, v1.APIResource{
			Name: row.Plural, SingularName: row.Singular, Namespaced: row.Namespaced, Kind: row.Kind,
			Verbs: verbs, ShortNames: row.ShortNames, Categories: row.Categories, StorageVersionHash: row.StorageVersionHash,
		})
		for j := range row.Subresources {
			sub := &row.Subresources[j]
			r := v1.APIResource{Name: row.Plural + "/" + sub.Name, Namespaced: row.Namespaced, Kind: sub.Kind, Verbs: sub.Verbs.Names()}
			if sub.Group != v.Group || sub.Version != v.Version {
				r.Group, r.Version = sub.Group, sub.Version
			}
			list.APIResources = append(list.APIResources, r)
		}
	}
	slices.SortStableFunc(list.APIResources, func(a, b v1.APIResource) int {
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
	return json.Marshal(v1.APIVersions{TypeMeta: v1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		ServerAddressByClientCIDRs: []v1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: address}}})
}
