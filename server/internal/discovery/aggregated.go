package discovery

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"strings"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Newer clients request everything below /api and /apis in one document, which saves them
// a request for every group version. 1.25 does not have it; a client that does not ask
// for it gets the answer of 1.25.

// AggregatedGroup is the group of the aggregated document.
const AggregatedGroup = "apidiscovery." + profile.GroupSuffix

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

// aggregate lists everything served, of the core group or of all others, in discovery
// order.
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

// Aggregated is everything that a snapshot serves, of the core group or of all
// others, in a version of the kind APIGroupDiscoveryList; tag is its entity tag.
func Aggregated(snapshot *catalog.Snapshot, core bool, apiVersion string) (text []byte, tag string, err error) {
	list := groupDiscoveryList{TypeMeta: v1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apiVersion}, Items: aggregate(snapshot.Served(), core)}
	text, err = json.Marshal(list)
	sum := sha512.Sum512(text)
	return text, `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`, err
}
