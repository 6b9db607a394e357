package policy

import (
	"path"
	"slices"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// persistentSources are the kinds of sources of a persistent volume, in the
// order in which they are checked.
var persistentSources = []string{"hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd",
	"quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk",
	"portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"}

// CreatePersistentVolume lets the phase of a new volume begin.
func (p Policy) CreatePersistentVolume(obj document.Value) {
	if p.on("PersistentVolumeLastPhaseTransitionTime") {
		obj.SetObject("status").SetString(phaseSince, p.now())
	}
}

// StatusPersistentVolume keeps the time of the last change of phase, and sets it when the phase changes.
func (p Policy) StatusPersistentVolume(obj, old document.Value) {
	if !p.on("PersistentVolumeLastPhaseTransitionTime") {
		return
	}
	status, before := obj.SetObject("status"), old.Get("status")
	same := document.Equal(status.Get("phase"), before.Get("phase"))
	switch given := status.Get(phaseSince); {
	case same && !isSet(given):
		keep(status, before, phaseSince)
	case !same && (!isSet(given) || document.Equal(given, before.Get(phaseSince))):
		status.SetString(phaseSince, p.now())
	}
}

// oldMountOptions is the annotation that the field mountOptions has replaced.
const oldMountOptions = "volume.beta." + labelDomain + "/mount-options"

// phaseSince is the member of a volume's status with the time of its last change of phase.
const phaseSince = "lastPhaseTransitionTime"

// ValidatePersistentVolume checks a volume's source, and that it stays.
func (p Policy) ValidatePersistentVolume(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	c.accessModes(spec.Get("accessModes"))
	p.persistentSource(&c, obj.At("metadata", "name").Text(), spec)
	c.mountOptions(obj.At("metadata", "annotations"), spec)
	if !old.Exists() {
		return c.Causes
	}
	before := old.Get("spec")
	for _, name := range persistentSources {
		if !sameSource(name, spec.Get(name), before.Get(name)) {
			c.Forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
			break
		}
	}
	c.fixed("volumeMode", spec.Get("volumeMode"), before.Get("volumeMode"))
	if affinity := before.Get("nodeAffinity"); isSet(affinity) {
		c.fixed("nodeAffinity", spec.Get("nodeAffinity"), affinity)
	}
	p.attributesClass(&c, spec, before)
	if isSet(before.Get(attributesClass)) && !isSet(spec.Get(attributesClass)) && p.since("1.29") {
		c.Forbidden(member(spec, attributesClass), "update from non-nil value to nil is forbidden")
	}
	return c.Causes
}

// attributesClass is the member of a volume or a claim with the class of its attributes.
const attributesClass = "volumeAttributesClassName"

// attributesClass keeps the class of attributes in releases whose feature for it is off.
func (p Policy) attributesClass(c *causes, spec, before document.Value) {
	if p.since("1.29") && !p.on("VolumeAttributesClass") && !document.Equal(spec.Get(attributesClass), before.Get(attributesClass)) {
		c.Forbidden(member(spec, attributesClass), "update is forbidden when the VolumeAttributesClass feature gate is disabled")
	}
}

// sameSource reports whether the source of a volume is unchanged. The secret for its
// expansion can be added.
func sameSource(name string, now, before document.Value) bool {
	const secret = "controllerExpandSecretRef"
	if name == "csi" && isSet(before) && !isSet(before.Get(secret)) && isSet(now) {
		return sameBut(now, before, secret)
	}
	return document.Equal(now, before)
}

// fixed checks that a value has not changed.
func (c *causes) fixed(field string, now, before document.Value) {
	if !document.Equal(now, before) {
		c.InvalidAt(field, now, "field is immutable")
	}
}

// accessModes checks that a mode for a single pod is the only one.
func (c *causes) accessModes(modes document.Value) {
	var single, other bool
	for _, mode := range modes.Elements() {
		if mode.Equals("ReadWriteOncePod") {
			single = true
		} else {
			other = true
		}
	}
	if single && other {
		c.Forbidden(modes.Path(), "may not use ReadWriteOncePod with other access modes")
	}
}

// mountedWithOptions are the sources for which the annotation with mount options counts.
var mountedWithOptions = []string{"gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder",
	"cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"}

// mountOptions refuses the annotation with mount options where the source has none.
func (c *causes) mountOptions(annotations, spec document.Value) {
	if source, _ := spec.Chosen(); annotations.Get(oldMountOptions).Exists() && !slices.Contains(mountedWithOptions, source) {
		c.Forbidden("metadata.annotations."+oldMountOptions, "may not specify mount options for this volume type")
	}
}

// persistentSource checks the rules for sources of persistent volumes only.
func (p Policy) persistentSource(c *causes, volume string, spec document.Value) {
	name, v := spec.Chosen()
	switch name {
	case "hostPath":
		policy := spec.Get("persistentVolumeReclaimPolicy")
		if path.Clean(v.Get("path").Text()) == "/" && policy.Equals("Recycle") {
			c.Forbidden(policy.Path(), "may not be 'recycle' for a hostPath mount of '/'")
		}
	case "local":
		if !isSet(spec.Get("nodeAffinity")) {
			c.Required(member(spec, "nodeAffinity"), "Local volume requires node affinity")
		}
	case "csi":
		for _, ref := range [...]string{"controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"} {
			p.secretReference(c, v.Get(ref))
		}
	case "iscsi":
		if isSet(v.Get("initiatorName")) && len(volume)+1+len(v.Get("targetPortal").Text()) > maxPortal {
			c.InvalidAt(member(v, "targetportal"), v.Get("targetPortal"),
				"<volume name>:<targetPortal> must be at most "+strconv.Itoa(maxPortal)+" bytes when initiatorName is specified")
		}
	}
}

// maxPortal bounds a volume's name and its target portal, in bytes.
const maxPortal = 64

// secretReference checks that a secret is named with its namespace. Its name may have dots from 1.27 on.
func (p Policy) secretReference(c *causes, ref document.Value) {
	if !isSet(ref) {
		return
	}
	for _, name := range [...]string{"name", "namespace"} {
		v := ref.Get(name)
		switch {
		case v.Text() == "":
			c.Required(member(ref, name), "")
		case name == "name" && p.since("1.27"):
			c.Format(v, "dns1123-subdomain")
		default:
			c.Format(v, "dns1123-label")
		}
	}
}

// oldVolumePlugins are the sources of persistent volumes that nobody serves any more, which 1.28 begins to warn of.
var oldVolumePlugins = [...]struct{ name, shown, text string }{
	{"cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
	{"photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
	{"scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
	{"storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
	{"glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
	{"rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"},
}

// WarnPersistentVolume warns of annotations that fields have replaced, of a policy and of sources that are given up, and of old
// labels in the terms of a volume.
func (p Policy) WarnPersistentVolume(obj, _ document.Value) []string {
	var w warnings
	spec, annotations := obj.Get("spec"), obj.At("metadata", "annotations")
	w.oldClass(p, obj)
	if p.since("1.31") && annotations.Get(oldMountOptions).Exists() {
		w.add("metadata.annotations["+oldMountOptions+"]", `deprecated since v1.31; use "mountOptions" attribute instead`)
	}
	if p.since("1.30") && spec.Get("persistentVolumeReclaimPolicy").Equals("Recycle") {
		w.add("spec.persistentVolumeReclaimPolicy", "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	for _, term := range spec.At("nodeAffinity", "required", "nodeSelectorTerms").Elements() {
		w.nodeTerm(term, false)
	}
	for _, old := range oldVolumePlugins {
		if p.since("1.28") && isSet(spec.Get(old.name)) {
			w.add("spec."+old.shown, old.text)
		}
	}
	return w
}
