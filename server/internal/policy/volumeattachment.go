package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxAttachmentMetadata is the size of names and values of what a driver wants
// to be told again, in bytes.
const maxAttachmentMetadata = 256 << 10

// DefaultVolumeAttachmentSource takes back what only volumes with an object of
// their own have by default.
func (Policy) DefaultVolumeAttachmentSource(source document.Value) {
	inline := source.Get("inlineVolumeSpec")
	if !isSet(inline) {
		return
	}
	for name, value := range map[string]string{"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"} {
		if inline.Get(name).Equals(value) {
			inline.Remove(name)
		}
	}
}

// ValidateVolumeAttachment checks that one volume is named.
func (Policy) ValidateVolumeAttachment(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	if node := spec.Get("nodeName"); isEmpty(node) {
		c.formatText(member(spec, "nodeName"), "", "dns1123-subdomain")
	}
	source := spec.Get("source")
	name, inline := source.Get("persistentVolumeName"), source.Get("inlineVolumeSpec")
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case !isSet(name) && !isSet(inline):
		c.required(member(spec, "source"), one)
	case isSet(name) && isSet(inline):
		c.forbidden(source.Path(), one)
	case isSet(inline):
		c.inlineVolume(inline)
	case name.Text() == "":
		c.required(name.Path(), "must specify non empty persistentVolumeName")
	}
	size, metadata := 0, obj.At("status", "attachmentMetadata")
	for name, v := range metadata.Members() {
		size += len(name) + len(v.Text())
	}
	if size > maxAttachmentMetadata {
		c.tooLong(metadata.Path(), maxAttachmentMetadata)
	}
	if !old.Exists() {
		c.newAttachment(spec)
	}
	return c
}

// newAttachment checks the names in an attachment that is created, after all else.
func (c *causes) newAttachment(spec document.Value) {
	before := len(*c)
	c.driverName(member(spec, "attacher"), spec.Get("attacher").Text())
	if name := spec.At("source", "persistentVolumeName"); isSet(name) {
		c.formatText(name.Path(), name.Text(), "dns1123-subdomain")
	}
	c.tellAt(before, spec.Path())
}

// inlineVolume checks a volume that has no object of its own, and so none of
// what belongs to one.
func (c *causes) inlineVolume(spec document.Value) {
	*c = append(*c, document.Validate(spec, nil)...)
	for _, name := range [...]string{"claimRef", "capacity", "persistentVolumeReclaimPolicy", "nodeAffinity", "storageClassName", "volumeMode"} {
		if v := spec.Get(name); !isEmpty(v) {
			c.forbidden(v.Path(), "may not be specified in the context of inline volumes")
		}
	}
	if before := len(*c); !isSet(spec.Get("csi")) {
		c.required(member(spec, "csi"), "has to be specified in the context of inline volumes")
		c.tellAt(before, member(spec, "capacity"))
	}
	c.volumeSpec("", spec)
}
