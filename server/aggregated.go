package server

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Newer clients ask /api and /apis for everything below in one document, which
// saves them a request for every group version. 1.25 does not have it; a client
// that does not ask is answered as by 1.25.

const discoveryGroup = "apidiscovery." + profile.GroupSuffix

type groupDiscoveryList struct {
	v1.TypeMeta `json:",inline"`
	Metadata    struct{}         `json:"metadata"`
	Items       []groupDiscovery `json:"items"`
}

type groupDiscovery struct {
	Metadata groupName          `json:"metadata"`
	Versions []versionDiscovery `json:"versions"`
}

type groupName struct {
	Name              string `json:"name,omitempty"`
	CreationTimestamp any    `json:"creationTimestamp"`
}

type versionDiscovery struct {
	Version   string              `json:"version"`
	Resources []resourceDiscovery `json:"resources"`
	Freshness string              `json:"freshness"`
}

type resourceDiscovery struct {
	Resource         string                 `json:"resource"`
	ResponseKind     v1.GroupVersionKind    `json:"responseKind"`
	Scope            string                 `json:"scope"`
	SingularResource string                 `json:"singularResource"`
	Verbs            []string               `json:"verbs"`
	ShortNames       []string               `json:"shortNames,omitempty"`
	Categories       []string               `json:"categories,omitempty"`
	Subresources     []subresourceDiscovery `json:"subresources,omitempty"`
}

type subresourceDiscovery struct {
	Subresource  string              `json:"subresource"`
	ResponseKind v1.GroupVersionKind `json:"responseKind"`
	Verbs        []string            `json:"verbs"`
}

// aggregate lists everything that is served, of the core group or of all others,
// in discovery order.
func aggregate(served []*catalog.Version, core bool) []groupDiscovery {
	list := []groupDiscovery{}
	for _, v := range served {
		if (v.Group == "") != core {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Metadata.Name != v.Group {
			list = append(list, groupDiscovery{Metadata: groupName{Name: v.Group}})
		}
		last := &list[len(list)-1]
		last.Versions = append(last.Versions, aggregateVersion(v))
	}
	return list
}

func aggregateVersion(v *catalog.Version) versionDiscovery {
	out := versionDiscovery{Version: v.Version, Resources: []resourceDiscovery{}, Freshness: "Current"}
	for _, res := range v.Rows {
		r := resourceDiscovery{Resource: res.Plural, ResponseKind: v1.GroupVersionKind{Group: v.Group, Version: v.Version, Kind: res.Kind}, Scope: "Cluster",
			SingularResource: res.Singular, Verbs: res.Verbs.Names(), ShortNames: res.ShortNames, Categories: res.Categories}
		if r.SingularResource == "" {
			r.SingularResource = strings.ToLower(res.Kind)
		}
		if res.Namespaced {
			r.Scope = "Namespaced"
		}
		for j := range res.Subresources {
			sub := &res.Subresources[j]
			r.Subresources = append(r.Subresources, subresourceDiscovery{Subresource: sub.Name,
				ResponseKind: v1.GroupVersionKind{Group: sub.Group, Version: sub.Version, Kind: sub.Kind}, Verbs: sub.Verbs.Names()})
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// respondAggregated answers with the document, or with 304 to a client that has
// it already (RFC 9110 section 13.1.2).
func (s *Server) respondAggregated(r *request, snapshot *catalog.Snapshot) error {
	core := !strings.HasPrefix(r.http.URL.Path, "/apis")
	list := groupDiscoveryList{TypeMeta: v1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: r.accept.APIVersion}, Items: aggregate(snapshot.Served(), core)}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	sum := sha512.Sum512(text)
	tag := `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`
	h := r.w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "public")
	h.Add("Vary", "Accept")
	if r.http.Header.Get("If-None-Match") == tag {
		r.head(http.StatusNotModified, r.accept.ContentType())
		return nil
	}
	return r.send(http.StatusOK, r.accept.ContentType(), text)
}
