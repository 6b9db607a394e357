package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// protect gives volumes, claims and classes of attributes a finalizer, which a controller removes when they are
// not in use.
func (c *Chain) protect(_ context.Context, r *Request) error {
	finalizer := ""
	switch {
	case r.Operation != Create:
		return nil
	case r.is("", "persistentvolumeclaims"):
		finalizer = profile.LabelDomain + "/pvc-protection"
	case r.is("", "persistentvolumes"):
		finalizer = profile.LabelDomain + "/pv-protection"
	case r.is("storage."+profile.GroupSuffix, "volumeattributesclasses") && c.config.since("1.33") && c.config.gate("VolumeAttributesClass"):
		finalizer = profile.LabelDomain + "/vac-protection"
	default:
		return nil
	}
	addFinalizer(r.Object, finalizer)
	return nil
}

// addFinalizer gives an object a finalizer that it may have already.
func addFinalizer(object document.Value, finalizer string) {
	list := object.SetObject("metadata").SetArray("finalizers")
	for _, f := range list.Elements() {
		if f.Equals(finalizer) {
			return
		}
	}
	list.AppendString(finalizer)
}
