package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultVolumeAttachmentSource removes defaults of volumes that have an object of their
// own.
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

// ValidateVolumeAttachment checks a volume without an object of its own.
func (p Policy) ValidateVolumeAttachment(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	source := spec.Get("source")
	if attacher := spec.Get("attacher"); p.since("1.36") && !isEmpty(attacher) {
		p.driverName(&c, attacher.Path(), attacher.Text())
	}
	if inline := source.Get("inlineVolumeSpec"); isSet(inline) && !isSet(source.Get("persistentVolumeName")) {
		p.inlineVolume(&c, inline)
	}
	if p.since("1.36") || !old.Exists() {
		p.attachmentNames(&c, spec)
	}
	return c.Causes
}

// attachmentNames checks the names in an attachment, after everything else: before 1.36 of a new one.
func (p Policy) attachmentNames(c *causes, spec document.Value) {
	before := len(c.Causes)
	if !p.since("1.36") {
		p.driverName(c, member(spec, "attacher"), spec.Get("attacher").Text())
	}
	if name := spec.At("source", "persistentVolumeName"); isSet(name) {
		c.FormatText(name.Path(), name.Text(), "dns1123-subdomain")
	}
	c.PlaceAt(before, spec.Path())
}

// inlineVolume checks a volume without an object of its own, and so without that object's
// fields.
func (p Policy) inlineVolume(c *causes, spec document.Value) {
	affinity := member(spec, "nodeAffinity")
	for _, cause := range document.Validate(spec, nil) {
		if !strings.HasPrefix(cause.Field, affinity) { // forbidden as a whole, below
			c.Causes = append(c.Causes, cause)
		}
	}
	for _, name := range [...]string{"claimRef", "capacity", "persistentVolumeReclaimPolicy", "nodeAffinity", "storageClassName", "volumeMode"} {
		if v := spec.Get(name); !isEmpty(v) {
			c.Forbidden(v.Path(), "may not be specified in the context of inline volumes")
		}
	}
	if before := len(c.Causes); !isSet(spec.Get("csi")) {
		c.Required(member(spec, "csi"), "has to be specified in the context of inline volumes")
		c.PlaceAt(before, member(spec, "capacity"))
	}
	p.persistentSource(c, "", spec)
	// The validation of the schema alone does not run the hooks of types.
	hooks := map[string]func(document.Value) []schema.Cause{"azureDisk": p.ValidateAzureDiskVolumeSource,
		"flexVolume": p.ValidateFlexPersistentVolumeSource, "quobyte": p.ValidateQuobyteVolumeSource}
	if source, v := spec.Chosen(); hooks[source] != nil {
		c.Causes = append(c.Causes, hooks[source](v)...)
	}
}
