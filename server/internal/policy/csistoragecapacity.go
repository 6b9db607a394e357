package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateCSIStorageCapacity checks the class, the nodes and the size.
func (Policy) ValidateCSIStorageCapacity(obj, _ document.Value) []schema.Cause {
	var c causes
	if class := obj.Get("storageClassName"); isEmpty(class) {
		c.formatText("storageClassName", "", "dns1123-subdomain")
	}
	if v := obj.Get("capacity"); isSet(v) {
		if q := amount(v); q.Sign() < 0 {
			c.invalid(v, "must be greater than or equal to 0")
		}
	}
	return c
}
