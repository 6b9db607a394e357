package discovery

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Newer clients request everything below /api and /apis in one document, which saves them
// a request for every group version. 1.25 does not have it; a client that does not ask
// for it gets the answer of 1.25.

// AggregatedGroup is the group of the aggregated document.
const AggregatedGroup = "apidiscovery." + profile.GroupSuffix

type groupMeta struct {
	Name              string          `json:"name,omitempty"`
	CreationTimestamp json.RawMessage `json:"creationTimestamp,omitempty"` // null up to 1.33
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type versionDiscovery struct {
	Version   string              `json:"version"`
	Resources []resourceDiscovery `json:"resources"`
	Freshness string              `json:"freshness"`
}

type resourceDiscovery struct {
	Resource         string                 `json:"resource"`
	ResponseKind     groupVersionKind       `json:"responseKind"`
	Scope            string                 `json:"scope"`
	SingularResource string                 `json:"singularResource"`
	Verbs            []string               `json:"verbs"`
	ShortNames       []string               `json:"shortNames,omitempty"`
	Categories       []string               `json:"categories,omitempty"`
	Subresources     []subresourceDiscovery `json:"subresources,omitempty"`
}

type subresourceDiscovery struct {
	Subresource  string           `json:"subresource"`
	ResponseKind groupVersionKind `json:"responseKind"`
	Verbs        []string         `json:"verbs"`
}

func aggregateVersion(v *catalog.Version) versionDiscovery {
	if v.Remote != nil {
		return aggregateRemote(v)
	}
	out := versionDiscovery{Version: v.Version, Resources: []resourceDiscovery{}, Freshness: "Current"}
	for _, res := range v.Rows {
		r := resourceDiscovery{Resource: res.Plural, ResponseKind: groupVersionKind{Group: v.Group, Version: v.Version, Kind: res.Kind}, Scope: "Cluster",
			SingularResource: res.Singular, Verbs: res.Action.Rights(res.Verbs), ShortNames: res.ShortNames, Categories: res.Categories}
		if r.SingularResource == "" {
			r.SingularResource = strings.ToLower(res.Kind)
		}
		if res.Namespaced {
			r.Scope = "Namespaced"
		}
		for j := range res.Subresources {
			sub := &res.Subresources[j]
			r.Subresources = append(r.Subresources, subresourceDiscovery{Subresource: sub.Name,
				ResponseKind: groupVersionKind{Group: sub.Group, Version: sub.Version, Kind: sub.Kind}, Verbs: sub.Action.Rights(sub.Verbs)})
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// aggregatedKey is the key of the part of the aggregated document that is kept with a
// group version.
type aggregatedKey struct{}

// Aggregated is everything that a snapshot serves, of the core group or of all others, in
// a version of the kind APIGroupDiscoveryList.
func (d *Documents) Aggregated(snapshot *catalog.Snapshot, core bool, apiVersion string) (Document, error) {
	path := "/apis " + apiVersion
	if core {
		path = "/api " + apiVersion
	}
	return d.whole(snapshot, path, func() (Document, error) { return d.aggregate(snapshot, core, apiVersion) })
}

// aggregate joins the parts of the group versions.
func (d *Documents) aggregate(snapshot *catalog.Snapshot, core bool, apiVersion string) (Document, error) {
	var groups [][]byte
	for versions := range byGroup(snapshot) {
		if (versions[0].Group == "") == core {
			group, err := d.aggregateGroup(versions)
			if err != nil {
				return Document{}, err
			}
			groups = append(groups, group)
		}
	}
	text := append([]byte(`{"kind":"APIGroupDiscoveryList","apiVersion":`), strconv.Quote(apiVersion)...)
	text = append(append(text, `,"metadata":{},"items":[`...), bytes.Join(groups, []byte{','})...)
	text = append(text, "]}"...)
	sum := sha512.Sum512(text)
	return Document{JSON: text, Tag: `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`}, nil
}

func (d *Documents) aggregateGroup(versions []*catalog.Version) (_ []byte, err error) {
	meta := groupMeta{Name: versions[0].Group}
	if !d.since("1.34") {
		meta.CreationTimestamp = json.RawMessage("null")
	}
	head, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, len(versions))
	for i, v := range versions {
		if parts[i], err = kept(v, aggregatedKey{}, func(v *catalog.Version) any { return aggregateVersion(v) }); err != nil {
			return nil, err
		}
	}
	text := append(append([]byte(`{"metadata":`), head...), `,"versions":[`...)
	return append(append(text, bytes.Join(parts, []byte{','})...), "]}"...), nil
}
