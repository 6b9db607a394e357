package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
)

// ValidatePodTemplateSpec checks the metadata for the pods.
func (p Policy) ValidatePodTemplateSpec(template document.Value) []schema.Cause {
	var c causes
	c.templateMetadata(template)
	spec, annotations := template.Get("spec"), template.At("metadata", "annotations")
	if annotations.Len() > 0 {
		c.podAnnotations(member(template, "annotations"), annotations, spec)
		c.seccompAgrees(annotations, spec)
		if p.on("AppArmorFields") {
			c.appArmorAgrees(annotations, spec)
		}
	}
	if list := spec.Get("ephemeralContainers"); !isEmpty(list) {
		c.Forbidden(list.Path(), "ephemeral containers not allowed in pod template")
	}
	return c.Causes
}

// templateMetadata checks the labels and annotations for the pods. The causes leave
// metadata out of the path.
func (c *causes) templateMetadata(template document.Value) {
	meta := template.Get("metadata")
	for name, v := range meta.Get("labels").Members() {
		for _, problem := range document.CheckFormat("qualified-name", name) {
			c.InvalidText(member(template, "labels"), name, problem)
		}
		for _, problem := range document.CheckFormat("label-value", v.Text()) {
			c.InvalidAt(member(template, "labels"), v, problem)
		}
	}
	c.annotationsAt(member(template, "annotations"), meta.Get("annotations"))
}

func (c *causes) annotations(annotations document.Value) {
	c.annotationsAt(annotations.Path(), annotations)
}

func (c *causes) annotationsAt(field string, annotations document.Value) {
	for name := range annotations.Members() {
		for _, problem := range document.CheckFormat("qualified-name", strings.ToLower(name)) {
			c.InvalidText(field, name, problem)
		}
	}
}

// alwaysRestarts checks the requirements of a template for pods that a controller of that
// kind keeps running.
func (c *causes) alwaysRestarts(template document.Value, kind string) {
	spec, before := template.Get("spec"), len(c.Causes)
	if policy := spec.Get("restartPolicy"); !policy.Equals("Always") {
		c.NotSupported(policy, "Always")
	}
	if deadline := spec.Get("activeDeadlineSeconds"); isSet(deadline) {
		c.Forbidden(deadline.Path(), "activeDeadlineSeconds in "+kind+" is not Supported")
	}
	c.PlaceAt(before, member(template, "spec"))
}

// selected checks that a controller selects something, and the pods of its own template,
// and reports whether the selector is valid. A missing one selects nothing.
func (c *causes) selected(chosen, template document.Value, kind string) bool {
	labels := template.At("metadata", "labels")
	switch {
	case !isSet(chosen):
		c.notSelected(template, labels)
	case isNothing(chosen):
		c.Invalid(chosen, "empty selector is invalid for "+kind)
	case !selector.Suitable(chosen):
		return false
	case !selector.ReadRequirements(chosen).Match(selector.ReadLabels(labels)):
		c.notSelected(template, labels)
	}
	return true
}

// unselective refuses an invalid selector, without which its template is not validated.
func (c *causes) unselective(selector, template document.Value) {
	c.Invalid(selector, "invalid label selector")
	c.Hide(template.Path())
}

func (c *causes) notSelected(template, labels document.Value) {
	c.InvalidAt(member(template, "metadata", "labels"), labels, "`selector` does not match template `labels`")
}

// sharedDisks checks that disks that can be attached once for writing are not used by
// several pods. From 1.28 on a controller that had one keeps all, and the gate turns the
// check off, which 1.31 lacks.
func (p Policy) sharedDisks(c *causes, template, before document.Value) {
	if p.since("1.31") || p.on("SkipReadOnlyValidationGCE") {
		return
	}
	writable := func(disk document.Value) bool { return isSet(disk) && !disk.Get("readOnly").Bool() }
	if p.since("1.28") {
		for _, volume := range before.At("spec", "volumes").Elements() {
			if writable(volume.Get("gcePersistentDisk")) {
				return
			}
		}
	}
	for _, volume := range template.At("spec", "volumes").Elements() {
		if disk := volume.Get("gcePersistentDisk"); writable(disk) {
			c.InvalidAt(member(volume, "gcePersistentDisk", "readOnly"), disk.Get("readOnly"),
				"must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only")
		}
	}
}
