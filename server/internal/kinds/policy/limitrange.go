package policy

import (
	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/document"
)

// DefaultLimitRangeItem completes the defaults for containers: the limit is the
// maximum, the request is the limit, or else the minimum.
func (Policy) DefaultLimitRangeItem(item document.Value) {
	if !item.Get("type").Equals("Container") {
		return
	}
	addMissing(item, "default", item.Get("max"))
	addMissing(item, "defaultRequest", item.Get("default"))
	addMissing(item, "defaultRequest", item.Get("min"))
}

// CreateLimitRange names a limit range that was sent without a name.
func (Policy) CreateLimitRange(obj document.Value) {
	if meta := obj.SetObject("metadata"); isEmpty(meta.Get("name")) {
		meta.SetString("name", uuid.NewString())
	}
}

// addMissing adds to a map the entries of another that it does not have.
func addMissing(of document.Value, name string, from document.Value) {
	if isEmpty(from) {
		return
	}
	to := of.SetObject(name)
	for entry, v := range from.Members() {
		if !to.Get(entry).Exists() {
			to.Put(entry, v)
		}
	}
}
