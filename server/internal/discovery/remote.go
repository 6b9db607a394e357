package discovery

import (
	"encoding/json"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// aggregateRemote describes a group version of an extension server, by the document in
// which that lists its resources.
func aggregateRemote(v *catalog.Version) versionDiscovery {
	out := versionDiscovery{Version: v.Version, Resources: []resourceDiscovery{}, Freshness: "Current"}
	if v.Remote.Stale || v.Remote.Documents == nil {
		out.Freshness = "Stale"
	}
	var list api.ResourceList
	if v.Remote.Documents == nil || json.Unmarshal(v.Remote.Documents.Resources, &list) != nil {
		return out
	}
	kind := func(r *api.ResourceDescription) groupVersionKind {
		k := groupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
		if k.Group == "" && k.Version == "" {
			k.Group, k.Version = v.Group, v.Version
		}
		return k
	}
	at := map[string]int{}
	for i := range list.Resources {
		r := &list.Resources[i]
		if strings.Contains(r.Name, "/") {
			continue
		}
		at[r.Name] = len(out.Resources)
		d := resourceDiscovery{Resource: r.Name, ResponseKind: kind(r), Scope: "Cluster", SingularResource: r.SingularName, Verbs: r.Verbs,
			ShortNames: r.ShortNames, Categories: r.Categories}
		if r.Namespaced {
			d.Scope = "Namespaced"
		}
		out.Resources = append(out.Resources, d)
	}
	for i := range list.Resources {
		r := &list.Resources[i]
		name, sub, ok := strings.Cut(r.Name, "/")
		if j, known := at[name]; ok && known {
			out.Resources[j].Subresources = append(out.Resources[j].Subresources, subresourceDiscovery{Subresource: sub, ResponseKind: kind(r), Verbs: r.Verbs})
		}
	}
	return out
}
