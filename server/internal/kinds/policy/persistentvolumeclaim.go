package policy

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
)

// CreatePersistentVolumeClaim makes the two data sources equal.
func (Policy) CreatePersistentVolumeClaim(obj document.Value) {
	settleDataSources(obj.Get("spec"), document.Value{})
}

// UpdatePersistentVolumeClaim keeps the two data sources equal.
func (Policy) UpdatePersistentVolumeClaim(obj, old document.Value) {
	settleDataSources(obj.Get("spec"), old.Get("spec"))
}

// settleDataSources makes the two fields for the source of a claim's data agree. A claim
// without a source cannot get one of an unknown kind by the older field alone.
func settleDataSources(spec, before document.Value) {
	had := isSet(before.Get("dataSource")) || isSet(before.Get("dataSourceRef"))
	if !had && !isSet(spec.Get("dataSourceRef")) && !isKnownDataSource(spec.Get("dataSource")) {
		spec.Remove("dataSource")
	}
	copyDataSource(spec)
}

// isKnownDataSource reports whether the older of the two fields may hold a
// source: another claim or a snapshot.
func isKnownDataSource(source document.Value) bool {
	group, kind := source.Get("apiGroup").Text(), source.Get("kind").Text()
	return group == "" && kind == "PersistentVolumeClaim" || group == "snapshot.storage."+profile.GroupSuffix && kind == "VolumeSnapshot"
}

// copyDataSource gives the two fields for the source of a claim's content the same value
// when only one is set.
func copyDataSource(spec document.Value) {
	source, ref := spec.Get("dataSource"), spec.Get("dataSourceRef")
	switch {
	case isSet(source) && !isSet(ref):
		spec.Put("dataSourceRef", source)
	case isSet(ref) && !isSet(source):
		spec.Put("dataSource", ref)
	}
}

// ValidatePersistentVolumeClaim checks the requests of a claim, and that only the
// requested size grows once it exists.
func (p Policy) ValidatePersistentVolumeClaim(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	c.claimSpec(spec)
	if !old.Exists() {
		return c.Causes
	}
	before := old.Get("spec")
	p.claimStatus(&c, obj.Get("status"), old.Get("status"))
	c.changedClass(obj, old)
	mutable := []string{"resources"}
	if isEmpty(before.Get("volumeName")) {
		mutable = append(mutable, "volumeName")
	}
	if obj.At("status", "phase").Equals("Bound") {
		mutable = append(mutable, attributesClass)
	}
	if fromAnnotation(obj, old) || p.classLater(old, spec) {
		mutable = append(mutable, "storageClassName")
	}
	if !sameBut(spec, before, mutable...) || !sameResources(obj, spec.Get("resources"), before.Get("resources")) {
		but := "resources.requests"
		if p.since("1.29") {
			but += " and volumeAttributesClassName"
		}
		c.Forbidden(spec.Path(), "spec is immutable after creation except "+but+" for bound claims")
	}
	if size, was := spec.At("resources", "requests", "storage"), before.At("resources", "requests", "storage"); compare(size, was) < 0 {
		if !p.on("RecoverVolumeExpansionFailure") {
			c.Forbidden(member(spec, "resources", "requests", "storage"), "field can not be less than previous value")
		} else if compare(size, old.At("status", "capacity", "storage")) <= 0 {
			c.Forbidden(member(spec, "resources", "requests", "storage"), "field can not be less than status.capacity")
		}
	}
	c.fixed("volumeMode", spec.Get("volumeMode"), before.Get("volumeMode"))
	p.attributesClass(&c, spec, before)
	if isSet(obj.At("status", "currentVolumeAttributesClassName")) && before.Get(attributesClass).Exists() &&
		spec.Get(attributesClass).Text() == "" {
		c.Forbidden(member(spec, attributesClass), "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")
	}
	return c.Causes
}

// resizeStages are the stages of an expansion of a claim.
var resizeStages = []string{"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"}

// claimStatus checks what a changed status says of an expansion, from 1.28 on.
func (p Policy) claimStatus(c *causes, status, before document.Value) {
	if !p.since("1.28") || !p.on("RecoverVolumeExpansionFailure") || document.Equal(status, before) {
		return
	}
	stages := member(status, "allocatedResourceStatuses")
	for name, stage := range status.Get("allocatedResourceStatuses").Members() {
		c.claimResource(stages, name)
		if !slices.Contains(resizeStages, stage.Text()) {
			c.NotSupportedText(stages, name, resizeStages...)
		}
	}
	sizes := member(status, "allocatedResources")
	for name, size := range status.Get("allocatedResources").Members() {
		if c.claimResource(sizes, name) {
			c.resourceAmount(sizes+"["+name+"]", "storage", size)
		}
	}
}

// claimResource checks the name of a resource of a claim, and reports whether it may be used. Of the native ones there is the storage.
func (c *causes) claimResource(field, name string) bool {
	mark := len(c.Causes)
	c.FormatText(field, name, "qualified-name")
	if len(c.Causes) == mark && isNative(name) && name != "storage" {
		c.NotSupportedText(field, name, "storage")
	}
	return len(c.Causes) == mark
}

// fromAnnotation reports whether an update moves the class of a claim from the annotation
// to the field.
func fromAnnotation(obj, old document.Value) bool {
	was := old.At("metadata", "annotations", oldClassAnnotation)
	now, class := obj.At("metadata", "annotations", oldClassAnnotation), obj.At("spec", "storageClassName")
	return was.Exists() && !isSet(old.At("spec", "storageClassName")) && isSet(class) && class.Equals(was.Text()) && (!now.Exists() || document.Equal(now, was))
}

// classLater reports whether a claim without a class may get that of its new specification. A claim that an annotation gives
// a class may get the same one.
func (p Policy) classLater(old, spec document.Value) bool {
	if !p.since("1.28") && !p.on("RetroactiveDefaultStorageClass") {
		return false
	}
	was, class := old.At("metadata", "annotations", oldClassAnnotation), spec.Get("storageClassName")
	return !isSet(old.At("spec", "storageClassName")) && isSet(class) && (!was.Exists() || class.Equals(was.Text()))
}

// changedClass checks that the annotation that names a class stays.
func (c *causes) changedClass(obj, old document.Value) {
	now, was := obj.At("metadata", "annotations", oldClassAnnotation), old.At("metadata", "annotations", oldClassAnnotation)
	if now.Text() != was.Text() && !fromAnnotation(obj, old) {
		c.InvalidAt("metadata.annotations."+oldClassAnnotation, now, "field is immutable")
	}
}

// sameResources reports whether a claim's requests are unchanged; a bound one may request
// another size.
func sameResources(obj, now, before document.Value) bool {
	if document.Equal(now, before) {
		return true
	}
	return obj.At("status", "phase").Equals("Bound") && isSet(now.Get("requests")) &&
		sameBut(now, before, "requests") && sameBut(now.Get("requests"), before.Get("requests"), "storage")
}

// WarnPersistentVolumeClaim warns of the annotation that a field has replaced, and of fractional bytes.
func (p Policy) WarnPersistentVolumeClaim(obj, _ document.Value) []string {
	var w warnings
	w.oldClass(p, obj)
	if p.since("1.26") {
		w.claimSpec("spec", obj.Get("spec"))
	}
	return w
}

// claimSpec checks the requests of a claim or of a template of claims.
func (c *causes) claimSpec(spec document.Value) {
	if before := len(c.Causes); isEmpty(spec.Get("accessModes")) {
		c.Required(member(spec, "accessModes"), "at least 1 access mode is required")
		c.PlaceAt(before, member(spec, "volumeName")) // before the selector, which comes before the modes themselves
	}
	c.accessModes(spec.Get("accessModes"))
	field := member(spec, "resources") + "[storage]"
	if size := spec.At("resources", "requests", "storage"); size.Exists() {
		c.positive(field, size)
	} else {
		c.Required(field, "")
	}
	if class := spec.Get("storageClassName"); class.Text() != "" {
		c.Format(class, "dns1123-subdomain")
	}
	source, ref := spec.Get("dataSource"), spec.Get("dataSourceRef")
	for _, v := range [...]document.Value{source, ref} {
		if isSet(v) && isEmpty(v.Get("apiGroup")) && !v.Get("kind").Equals("PersistentVolumeClaim") {
			c.InvalidAt(v.Path(), v.Get("kind"), "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
	}
	if isSet(source) && isSet(ref) && !document.Equal(source, ref) {
		c.InvalidText(spec.Path(), source.Path(), "must match dataSourceRef")
	}
}

// claimTemplateMetadata checks the metadata of a template of claims: labels and
// annotations only.
func (c *causes) claimTemplateMetadata(meta document.Value) {
	c.annotations(meta.Get("annotations"))
	c.labels(meta.Get("labels"))
	for name, v := range meta.Members() {
		if name != "labels" && name != "annotations" && !isEmpty(v) {
			if name == "uid" {
				name = "uID" // 1.25 derives the name from that in Go
			}
			c.Forbidden(member(meta, name), "cannot be set for an ephemeral volume")
		}
	}
}
