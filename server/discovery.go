package server

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"sort"

	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
)

// Discovery tells clients what is served. The documents are made once, from the
// catalog.

// discovery holds every discovery document by its path.
type discovery map[string]discoveryDocument

type discoveryDocument struct {
	kind string
	json []byte
}

func newDiscovery(groups []*api.GroupVersion) (discovery, error) {
	d := discovery{}
	add := func(path, kind string, v any) error {
		b, err := json.Marshal(v)
		d[path] = discoveryDocument{kind, b}
		return err
	}
	list := v1.APIGroupList{TypeMeta: v1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []v1.APIGroup{}}
	for _, group := range apiGroups(groups) {
		list.Groups = append(list.Groups, group)
		group.TypeMeta = v1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		if err := add("/apis/"+group.Name, "APIGroup", group); err != nil {
			return nil, err
		}
	}
	if err := add("/apis", "APIGroupList", list); err != nil {
		return nil, err
	}
	for _, gv := range groups {
		if err := add(gv.Prefix(), "APIResourceList", resourceList(gv)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// apiGroups lists the named groups in discovery order, each with its versions.
func apiGroups(groups []*api.GroupVersion) []v1.APIGroup {
	sorted := append([]*api.GroupVersion(nil), groups...)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		if a.GroupPriority != b.GroupPriority {
			return a.GroupPriority > b.GroupPriority
		}
		if a.Group != b.Group {
			return a.Group < b.Group
		}
		return a.VersionPriority > b.VersionPriority
	})
	var out []v1.APIGroup
	for _, gv := range sorted {
		if gv.Group == "" {
			continue
		}
		version := v1.GroupVersionForDiscovery{GroupVersion: gv.APIVersion(), Version: gv.Version}
		if n := len(out); n == 0 || out[n-1].Name != gv.Group {
			out = append(out, v1.APIGroup{Name: gv.Group, PreferredVersion: version})
		}
		last := &out[len(out)-1]
		last.Versions = append(last.Versions, version)
		if gv.Preferred {
			last.PreferredVersion = version
		}
	}
	return out
}

func resourceList(gv *api.GroupVersion) v1.APIResourceList {
	list := v1.APIResourceList{TypeMeta: v1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: gv.APIVersion(), APIResources: []v1.APIResource{}}
	if gv.Group != "" {
		list.APIVersion = "v1"
	}
	for i := range gv.Resources {
		res := &gv.Resources[i]
		list.APIResources = append(list.APIResources, v1.APIResource{
			Name: res.Plural, SingularName: res.Singular, Namespaced: res.Namespaced, Kind: res.Kind,
			Verbs: res.Verbs.Names(), ShortNames: res.ShortNames, Categories: res.Categories, StorageVersionHash: res.StorageVersionHash,
		})
		for j := range res.Subresources {
			sub := &res.Subresources[j]
			r := v1.APIResource{Name: res.Plural + "/" + sub.Name, Namespaced: res.Namespaced, Kind: sub.Kind, Verbs: sub.Verbs.Names()}
			if sub.Group != gv.Group || sub.Version != gv.Version {
				r.Group, r.Version = sub.Group, sub.Version
			}
			list.APIResources = append(list.APIResources, r)
		}
	}
	sort.SliceStable(list.APIResources, func(i, j int) bool { return list.APIResources[i].Name < list.APIResources[j].Name })
	return list
}

// serve answers the document at a path. What is about groups does not look at the
// method, as in 1.25.
func (d discovery) serve(s *Server, path string) func(*request) error {
	return func(r *request) error {
		if d[path].kind == "APIResourceList" && r.method() != http.MethodGet {
			return api.MethodNotAllowed([]string{http.MethodGet})
		}
		if r.accept.As == codec.AsDiscovery {
			return s.respondAggregated(r)
		}
		return s.respondDocument(r, d[path].kind, d[path].json)
	}
}

// versions answers /api: the versions of the core group and where to reach the
// server.
func (s *Server) versions(r *request) error {
	if r.method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if r.accept.As == codec.AsDiscovery {
		return s.respondAggregated(r)
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
	return s.respondBytes(r, http.StatusOK, metaKind(kind).of(string(bytes.Trim(version, `"`))), text)
}
