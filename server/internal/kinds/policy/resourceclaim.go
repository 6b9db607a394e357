package policy

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// adminAccess is the label of namespaces in which claims may watch over devices that others use.
const adminAccess = "resource." + labelDomain + "/admin-access"

// ValidateResourceClaimTemplateSpec checks the metadata of the claims that are made of a template.
func (Policy) ValidateResourceClaimTemplateSpec(v document.Value) []schema.Cause {
	var c causes
	c.claimTemplateMetadata(v.Get("metadata"))
	return c.Causes
}

// CheckResourceClaim checks that the namespace allows the access of administrators that a new claim asks for, or that a
// new allocation has.
func (Policy) CheckResourceClaim(view api.View, obj, old document.Value) []schema.Cause {
	if !old.Exists() {
		return adminsOnly(view, obj, "spec.devices.requests", obj.At("spec", "devices", "requests"))
	}
	if _, granted := watchesOver(old.At("status", "allocation", "devices", "results")); granted {
		return nil
	}
	const results = "status.allocation.devices.results"
	return adminsOnly(view, obj, results, obj.At("status", "allocation", "devices", "results"))
}

// CheckResourceClaimTemplate checks that the namespace allows the access of administrators that a new template asks for.
// The path is that of the claims.
func (Policy) CheckResourceClaimTemplate(view api.View, obj, old document.Value) []schema.Cause {
	if old.Exists() {
		return nil
	}
	return adminsOnly(view, obj, "spec.devices.requests", obj.At("spec", "spec", "devices", "requests"))
}

// adminsOnly refuses a list with access of administrators in a namespace without the label for it.
func adminsOnly(view api.View, obj document.Value, path string, list document.Value) []schema.Cause {
	i, asked := watchesOver(list)
	if !asked {
		return nil
	}
	namespace := view.Get("Namespace", "", obj.At("metadata", "namespace").Text())
	if namespace.At("metadata", "labels", adminAccess).Equals("true") {
		return nil
	}
	var c causes
	c.Forbidden(element(path, i)+".adminAccess", "admin access to devices requires the `"+adminAccess+": true` label on the containing namespace")
	return c.Causes
}

// watchesOver is the first element of a list of requests, or of allocated devices, that has the access of administrators.
func watchesOver(list document.Value) (index int, found bool) {
	for i, e := range list.Elements() {
		if e.Get("adminAccess").Bool() || e.At("exactly", "adminAccess").Bool() {
			return i, true
		}
	}
	return 0, false
}

// StatusResourceClaim keeps the metadata of a claim, which a sender of the status may own all the same.
func (p Policy) StatusResourceClaim(obj, old document.Value) {
	if p.since("1.30") {
		keepMetadata(obj, old)
	}
	if p.since("1.32") {
		dropFreed(obj.Get("status"), old.Get("status"))
	}
}

// dropFreed drops what drivers have reported about devices that are not allocated any longer, so that a scheduler need not know of it.
func dropFreed(status, old document.Value) {
	freed := map[kinds.Device]bool{}
	for _, d := range old.At("allocation", "devices", "results").Elements() {
		freed[kinds.DeviceOf(d)] = true
	}
	for _, d := range status.At("allocation", "devices", "results").Elements() {
		delete(freed, kinds.DeviceOf(d))
	}
	devices := status.Get("devices")
	devices.RemoveFunc(func(d document.Value) bool { return freed[kinds.DeviceOf(d)] })
	if devices.Exists() && devices.Len() == 0 {
		status.Remove("devices")
	}
}

// StatusPodSchedulingContext keeps the metadata of a context, which a sender of the status may own all the same.
func (p Policy) StatusPodSchedulingContext(obj, old document.Value) {
	if p.since("1.30") {
		keepMetadata(obj, old)
	}
}

// keepMetadata keeps what users write of the metadata in a write of the status.
func keepMetadata(obj, old document.Value) {
	now, before := obj.SetObject("metadata"), old.Get("metadata")
	for _, name := range [...]string{"labels", "annotations", "finalizers", "ownerReferences"} {
		keep(now, before, name)
	}
}

// SkipDeviceRequest leaves a request with both of its forms unchecked, of which one has to go.
func (Policy) SkipDeviceRequest(v document.Value) []string {
	if isSet(v.Get("exactly")) && !isEmpty(v.Get("firstAvailable")) {
		return []string{"exactly", "firstAvailable"}
	}
	return nil
}
