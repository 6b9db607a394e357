package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// volumeSources are the kinds of sources of a pod's volume, in the order in
// which they are checked.
var volumeSources = []string{"emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs",
	"iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
	"flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
	"storageos", "projected", "scaleIO", "csi", "ephemeral"}

// DefaultVolume makes a volume without a source an empty directory.
func (Policy) DefaultVolume(volume document.Value) {
	for name := range volume.Members() {
		if name != "name" {
			return
		}
	}
	volume.SetObject("emptyDir")
}

// volumes checks the volumes of a pod and returns them by name.
func (c *causes) volumes(volumes document.Value) map[string]document.Value {
	var byName map[string]document.Value
	for _, volume := range volumes.Elements() {
		if byName == nil {
			byName = map[string]document.Value{}
		}
		name := volume.Get("name")
		if text := name.Text(); text != "" {
			if _, taken := byName[text]; taken {
				c.duplicate(name)
			}
			byName[text] = volume
		}
		source := c.oneSource(volume, volumeSources)
		c.sharedSource(volume)
		c.podSource(source, volume.Get(source))
	}
	return byName
}

// oneSource checks that a volume has not more than one source, and returns the
// first one's name.
func (c *causes) oneSource(volume document.Value, sources []string) string {
	first := ""
	for name, v := range volume.Members() {
		if !isSet(v) || !contains(sources, name) {
			continue
		}
		if first == "" {
			first = name
			continue
		}
		c.extraSources(volume, sources)
		break
	}
	return first
}

// extraSources reports all sources but the first.
func (c *causes) extraSources(volume document.Value, sources []string) {
	found := false
	for _, name := range sources {
		v := volume.Get(name)
		if isSet(v) && found {
			c.forbidden(v.Path(), "may not specify more than 1 volume type")
		}
		found = found || isSet(v)
	}
}

// podSource checks sources that only volumes of pods have.
func (c *causes) podSource(name string, v document.Value) {
	switch name {
	case "gitRepo":
		c.descending(v.Get("directory"))
	case "emptyDir":
		if limit := v.Get("sizeLimit"); isSet(limit) && strings.HasPrefix(limit.Text(), "-") {
			c.forbidden(limit.Path(), "SizeLimit field must be a valid resource quantity")
		}
	case "secret", "configMap":
		c.items(v.Get("items"))
	case "downwardAPI":
		for _, file := range v.Get("items").Elements() {
			c.downwardFile(v.Path(), file)
		}
	case "projected":
		c.projected(v)
	case "csi":
		ref := v.Get("nodePublishSecretRef")
		switch secret := ref.Get("name"); {
		case !isSet(ref):
		case secret.Text() == "":
			c.required(member(ref, "name"), "")
		default:
			for _, problem := range document.CheckFormat("dns1123-subdomain", secret.Text()) {
				c.invalidAt(member(v, "name"), secret, problem)
			}
		}
	case "ephemeral":
		if template := v.Get("volumeClaimTemplate"); isSet(template) {
			c.claimSpec(template.Get("spec"))
		}
	}
}

// isBlock reports whether a volume may be used as a block device.
func isBlock(volume document.Value) bool {
	return isSet(volume.Get("persistentVolumeClaim")) || isSet(volume.Get("ephemeral"))
}

// mounts checks the volumes and devices that a container uses. Some causes do not
// say which mount is wrong.
func (c *causes) mounts(container document.Value, volumes map[string]document.Value) {
	mounts, devices := container.Get("volumeMounts"), container.Get("volumeDevices")
	var mounted, paths, deviceNames, devicePaths names
	for _, device := range devices.Elements() {
		deviceNames.add(device.Get("name").Text())
		devicePaths.add(device.Get("devicePath").Text())
	}
	privileged := container.At("securityContext", "privileged").Bool()
	for _, mount := range mounts.Elements() {
		name, path := mount.Get("name"), mount.Get("mountPath")
		mounted.add(name.Text())
		if text := name.Text(); text != "" {
			if _, ok := volumes[text]; !ok {
				c.notFound(name)
			}
			if deviceNames.has(text) {
				c.invalid(name, "must not already exist in volumeDevices")
			}
		}
		if text := path.Text(); text != "" {
			if !paths.add(text) {
				c.invalid(path, "must be unique")
			}
			if devicePaths.has(text) {
				c.invalid(path, "must not already exist as a path in volumeDevices")
			}
		}
		sub, expr := mount.Get("subPath"), mount.Get("subPathExpr")
		if sub.Text() != "" {
			c.descendingAt(member(mounts, "subPath"), sub)
		}
		if expr.Text() != "" {
			c.descendingAt(member(mounts, "subPathExpr"), expr)
		}
		if sub.Text() != "" && expr.Text() != "" {
			c.invalid(expr, "subPathExpr and subPath are mutually exclusive")
		}
		if propagation := mount.Get("mountPropagation"); propagation.Equals("Bidirectional") && !privileged {
			c.forbidden(member(mounts, "mountPropagation"), "Bidirectional mount propagation is available only to privileged containers")
		}
	}
	c.devices(devices, volumes, mounted, paths)
}

// devices checks the block devices of a container.
func (c *causes) devices(devices document.Value, volumes map[string]document.Value, mounted, mountPaths names) {
	var taken, paths names
	for _, device := range devices.Elements() {
		name, path := device.Get("name"), device.Get("devicePath")
		if text := name.Text(); text != "" {
			volume, ok := volumes[text]
			switch {
			case !ok:
				c.notFound(name)
			case !isBlock(volume):
				c.invalid(name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
			}
			if !taken.add(text) {
				c.invalid(name, "must be unique")
			}
			if mounted.has(text) {
				c.invalid(name, "must not already exist in volumeMounts")
			}
		}
		if text := path.Text(); text != "" {
			if !paths.add(text) {
				c.invalid(path, "must be unique")
			}
			if hasBackstep(text) {
				c.invalid(path, "can not contain backsteps ('..')")
			}
			if mountPaths.has(text) {
				c.invalid(path, "must not already exist as a path in volumeMounts")
			}
		}
	}
}
