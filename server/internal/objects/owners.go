package objects

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// dropRepeatedOwners drops repeated owner references of an object, and warns the author
// of the write; when is a part of the warning.
func (e *Evaluation) dropRepeatedOwners(meta document.Value, when string) {
	owners := meta.Get("ownerReferences")
	if owners.Len() < 2 {
		return
	}
	seen := make(map[string]bool, owners.Len())
	var kept []document.Value
	var uids []string
	for _, owner := range owners.Elements() {
		text := string(owner.AppendJSON(nil))
		if seen[text] {
			uids = append(uids, owner.Get("uid").Text())
			continue
		}
		seen[text] = true
		kept = append(kept, owner)
	}
	if len(uids) == 0 {
		return
	}
	meta.Remove("ownerReferences")
	list := meta.SetArray("ownerReferences")
	for _, owner := range kept {
		list.AppendValue(owner)
	}
	if e.Opts.Author != nil {
		e.Warn(".metadata.ownerReferences contains duplicate entries" + when +
			"; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
			strings.Join(uids, ", "))
	}
}
