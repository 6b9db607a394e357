package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// CellControllerRevisionController names the workload that owns the revision:
// "daemonset.apps/name".
func (Policy) CellControllerRevisionController(obj document.Value) any {
	for _, owner := range obj.At("metadata", "ownerReferences").Elements() {
		if !owner.Get("controller").Bool() {
			continue
		}
		kind := strings.ToLower(owner.Get("kind").Text())
		if group, _, ok := strings.Cut(owner.Get("apiVersion").Text(), "/"); ok {
			kind += "." + group
		}
		return kind + "/" + owner.Get("name").Text()
	}
	return none
}
