package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultVolume makes a volume without a source an empty directory, and says when an image is pulled.
func (Policy) DefaultVolume(volume document.Value) {
	if image := volume.Get("image"); isSet(image) {
		pullPolicyOf(image, "pullPolicy", image.Get("reference").Text())
		return
	}
	for name := range volume.Members() {
		if name != "name" {
			return
		}
	}
	volume.SetObject("emptyDir")
}

// volumes checks the names of the volumes of a pod and returns the valid ones: only they
// can be mounted.
func (c *causes) volumes(volumes document.Value) map[string]document.Value {
	var byName map[string]document.Value
	for _, volume := range volumes.Elements() {
		if byName == nil {
			byName = map[string]document.Value{}
		}
		name := volume.Get("name")
		if _, taken := byName[name.Text()]; taken {
			c.Duplicate(name)
		} else if !volume.Wrong() {
			byName[name.Text()] = volume
		}
	}
	return byName
}

// ValidateVolume checks the rules of pods for the sources of volumes.
func (Policy) ValidateVolume(volume document.Value) []schema.Cause {
	var c causes
	source, v := volume.Chosen()
	switch source {
	case "emptyDir":
		if limit := v.Get("sizeLimit"); isNegative(limit) {
			c.Forbidden(limit.Path(), "SizeLimit field must be a valid resource quantity")
		}
	case "iscsi":
		if isSet(v.Get("initiatorName")) && len(volume.Get("name").Text())+1+len(v.Get("targetPortal").Text()) > maxPortal {
			c.Invalid(volume.Get("name"), "<name>:<targetPortal> must be at most "+strconv.Itoa(maxPortal)+" bytes when initiatorName is specified")
		}
	case "ephemeral":
		if template := v.Get("volumeClaimTemplate"); isSet(template) {
			c.claimTemplateMetadata(template.Get("metadata"))
			c.claimSpec(template.Get("spec"))
		}
	}
	return c.Causes
}

// isBlock reports whether a volume may be used as a block device.
func isBlock(volume document.Value) bool {
	return isSet(volume.Get("persistentVolumeClaim")) || isSet(volume.Get("ephemeral"))
}

// mounts checks the volumes and devices that a container uses. Some causes do not name
// the mount.
func (c *causes) mounts(container document.Value, volumes map[string]document.Value) {
	mounts, devices := container.Get("volumeMounts"), container.Get("volumeDevices")
	var mounted, paths, deviceNames, devicePaths document.Texts
	for _, device := range devices.Elements() {
		deviceNames.Add(device.Get("name").Text())
		devicePaths.Add(device.Get("devicePath").Text())
	}
	privileged := container.At("securityContext", "privileged").Bool()
	for _, mount := range mounts.Elements() {
		name, path := mount.Get("name"), mount.Get("mountPath")
		mounted.Add(name.Text())
		if _, ok := volumes[name.Text()]; !ok {
			c.NotFound(name)
		}
		if deviceNames.Has(name.Text()) {
			c.Invalid(name, "must not already exist in volumeDevices")
		}
		if !paths.Add(path.Text()) {
			c.Invalid(path, "must be unique")
		}
		if devicePaths.Has(path.Text()) {
			c.Invalid(path, "must not already exist as a path in volumeDevices")
		}
		sub, expr := mount.Get("subPath"), mount.Get("subPathExpr")
		if sub.Text() != "" {
			c.FormatText(member(mounts, "subPath"), sub.Text(), "relative-path")
		}
		if expr.Text() != "" {
			c.FormatText(member(mounts, "subPathExpr"), expr.Text(), "relative-path")
		}
		if sub.Text() != "" && expr.Text() != "" {
			c.Invalid(expr, "subPathExpr and subPath are mutually exclusive")
		}
		switch propagation := mount.Get("mountPropagation"); {
		case !isSet(propagation), propagation.Equals("HostToContainer"), propagation.Equals("None"):
		case !propagation.Equals("Bidirectional"):
			c.NotSupportedAt(member(mounts, "mountPropagation"), propagation, "Bidirectional", "HostToContainer", "None")
		case !privileged:
			c.Forbidden(member(mounts, "mountPropagation"), "Bidirectional mount propagation is available only to privileged containers")
		}
		if recursive := mount.Get("recursiveReadOnly"); isSet(recursive) {
			c.recursive(mount, recursive, member(mounts, "recursiveReadOnly"))
		}
	}
	c.devices(devices, volumes, mounted, paths)
}

// recursive checks that a mount whose mounts below are read-only is so itself, and spreads no mounts.
func (c *causes) recursive(mount, recursive document.Value, path string) {
	if recursive.Equals("Disabled") {
		return
	}
	if !recursive.Equals("Enabled") && !recursive.Equals("IfPossible") {
		c.NotSupportedAt(path, recursive, "Disabled", "Enabled", "IfPossible")
		return
	}
	if !mount.Get("readOnly").Bool() {
		c.Forbidden(path, "may only be specified when readOnly is true")
	}
	if propagation := mount.Get("mountPropagation"); isSet(propagation) && !propagation.Equals("None") {
		c.Forbidden(path, "may only be specified when mountPropagation is None or not specified")
	}
}

// devices checks the block devices of a container.
func (c *causes) devices(devices document.Value, volumes map[string]document.Value, mounted, mountPaths document.Texts) {
	var taken, paths document.Texts
	for _, device := range devices.Elements() {
		name, path := device.Get("name"), device.Get("devicePath")
		volume, ok := volumes[name.Text()]
		switch {
		case ok && !isBlock(volume):
			c.Invalid(name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		case !ok:
			c.NotFound(name)
		}
		if !taken.Add(name.Text()) {
			c.Invalid(name, "must be unique")
		}
		if mounted.Has(name.Text()) {
			c.Invalid(name, "must not already exist in volumeMounts")
		}
		if text := path.Text(); text != "" {
			if !paths.Add(text) {
				c.Invalid(path, "must be unique")
			}
			if len(document.CheckFormat("no-backsteps", text)) > 0 {
				c.Invalid(path, "can not contain backsteps ('..')")
			}
			if mountPaths.Has(text) {
				c.Invalid(path, "must not already exist as a path in volumeMounts")
			}
		}
	}
}
