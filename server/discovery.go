package server

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Discovery tells clients what is served. The documents of a snapshot of the catalog are
// made when one is first asked for.

// discovery holds the discovery documents of a snapshot, by path.
type discovery struct {
	of        *catalog.Snapshot
	documents map[string]discoveryDocument
}

type discoveryDocument struct {
	kind string
	json []byte
}

// discoveryOf gives the documents of a snapshot: those made last, when they are of it.
func (s *Server) discoveryOf(snapshot *catalog.Snapshot) (map[string]discoveryDocument, error) {
	if d := s.discovery.Load(); d != nil && d.of == snapshot {
		return d.documents, nil
	}
	documents, err := newDiscovery(snapshot.Served())
	if err != nil {
		return nil, err
	}
	s.discovery.Store(&discovery{snapshot, documents})
	return documents, nil
}

// discoveryAt finds the document at a path; false when there is none.
func (s *Server) discoveryAt(snapshot *catalog.Snapshot, path string) (target, bool) {
	if path == "/api" {
		return target{endpoint: s.versions, place: "/api", aggregated: true}, true
	}
	if !discoveryPath(snapshot, path) {
		return target{}, false
	}
	return target{place: firstStep(path), aggregated: path == "/apis", endpoint: func(r *request) error { return s.serveDiscovery(r, snapshot, path) }}, true
}

// discoveryPath reports whether a path is that of all groups, of a group, or of a group
// version.
func discoveryPath(snapshot *catalog.Snapshot, path string) bool {
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
		return slices.ContainsFunc(snapshot.Served(), func(v *catalog.Version) bool { return v.Group != "" && v.APIVersion() == rest })
	}
	return false
}

// discoveryPaths are the paths of the documents of what is served now.
func (s *Server) discoveryPaths() []string {
	paths := []string{"/api", "/apis"}
	for _, v := range s.catalog.Snapshot().Served() {
		paths = append(paths, v.Prefix())
		if v.Group != "" {
			paths = append(paths, "/apis/"+v.Group)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func newDiscovery(served []*catalog.Version) (map[string]discoveryDocument, error) {
	d := map[string]discoveryDocument{}
	add := func(path, kind string, v any) error {
		b, err := json.Marshal(v)
		d[path] = discoveryDocument{kind, b}
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
		list.APIResources = append(list.APIResources, v1.APIResource{
			Name: row.Plural, SingularName: row.Singular, Namespaced: row.Namespaced, Kind: row.Kind,
			Verbs: row.Verbs.Names(), ShortNames: row.ShortNames, Categories: row.Categories, StorageVersionHash: row.StorageVersionHash,
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
	slices.SortStableFunc(list.APIResources, func(a, b v1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// serveDiscovery answers the document at a path. Those of groups do not look at the
// method, as in 1.25.
func (s *Server) serveDiscovery(r *request, snapshot *catalog.Snapshot, path string) error {
	documents, err := s.discoveryOf(snapshot)
	if err != nil {
		return err
	}
	document := documents[path]
	if document.kind == "APIResourceList" && r.method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if r.accept.As == codec.AsDiscovery {
		return s.respondAggregated(r, snapshot)
	}
	return s.respondDocument(r, document.kind, document.json)
}

// versions answers /api: the versions of the core group and where to reach the
// server.
func (s *Server) versions(r *request) error {
	if r.method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if r.accept.As == codec.AsDiscovery {
		return s.respondAggregated(r, s.catalog.Snapshot())
	}
	address := r.http.Host
	if a, ok := r.http.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		address = a.String()
	}
	b, err := json.Marshal(v1.APIVersions{TypeMeta: v1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		ServerAddressByClientCIDRs: []v1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: address}}})
	if err != nil {
		return err
	}
	return s.respondDocument(r, "APIVersions", b)
}

// respondDocument answers with a document of discovery. The oldest of them have
// no apiVersion, in any representation.
func (s *Server) respondDocument(r *request, kind string, text []byte) error {
	version, _ := document.Find(text, "apiVersion")
	return s.respondBytes(r, http.StatusOK, s.metaKind(kind).of(string(bytes.Trim(version, `"`))), text)
}
