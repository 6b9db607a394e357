package server

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// describing are the members of metadata that people and controllers write.
var describing = [...]string{"labels", "annotations", "finalizers", "ownerReferences"}

// statusKeeps lists the members of metadata that the status endpoint of a resource
// leaves alone, as in 1.25: there is no rule behind it but history. Of most
// resources it writes all that an update may write.
func statusKeeps(res *api.Resource) []string {
	switch res.Plural {
	case "pods": // node agents of long ago spoilt them
		return describing[3:]
	case "deployments":
		return describing[:1]
	case "flowschemas", "prioritylevelconfigurations", "volumeattachments", "apiservices", "storageversions", "customresourcedefinitions":
		return describing[:]
	}
	return nil
}

// statusResets are the same as paths of managed fields.
func statusResets(res *api.Resource) [][]string {
	kept := statusKeeps(res)
	if len(kept) == len(describing) {
		return [][]string{{"metadata"}}
	}
	paths := [][]string{{"metadata", "deletionTimestamp"}}
	for _, name := range kept {
		paths = append(paths, []string{"metadata", name})
	}
	return paths
}

// keepMetadata keeps what the status endpoint may not change in metadata.
func keepMetadata(res *api.Resource, meta, old document.Value) {
	for _, field := range statusKeeps(res) {
		if v := old.Get(field); v.Exists() {
			meta.Put(field, v)
		} else {
			meta.Remove(field)
		}
	}
}
