package policy

import (
	"strconv"
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

// volumes checks the volumes of a pod and returns those by name that are right:
// only they can be mounted.
func (c *causes) volumes(volumes document.Value) map[string]document.Value {
	var byName map[string]document.Value
	for _, volume := range volumes.Elements() {
		if byName == nil {
			byName = map[string]document.Value{}
		}
		before, name := len(*c), volume.Get("name")
		if _, taken := byName[name.Text()]; taken {
			c.duplicate(name)
		}
		source := first(volume, volumeSources...)
		c.sharedSource(source, volume.Get(source))
		c.podSource(volume, source)
		if len(*c) == before && len(document.Validate(volume, nil)) == 0 {
			byName[name.Text()] = volume
		}
	}
	return byName
}

// podSource checks sources that only volumes of pods have.
func (c *causes) podSource(volume document.Value, name string) {
	v := volume.Get(name)
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
	case "iscsi":
		if isSet(v.Get("initiatorName")) && len(volume.Get("name").Text())+1+len(v.Get("targetPortal").Text()) > maxPortal {
			c.invalid(volume.Get("name"), "<name>:<targetPortal> must be at most "+strconv.Itoa(maxPortal)+" bytes when initiatorName is specified")
		}
	case "csi":
		c.csiDriver(v)
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
			c.claimTemplateMetadata(template.Get("metadata"))
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
		if _, ok := volumes[name.Text()]; !ok {
			c.notFound(name)
		}
		if deviceNames.has(name.Text()) {
			c.invalid(name, "must not already exist in volumeDevices")
		}
		if !paths.add(path.Text()) {
			c.invalid(path, "must be unique")
		}
		if devicePaths.has(path.Text()) {
			c.invalid(path, "must not already exist as a path in volumeDevices")
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
		switch propagation := mount.Get("mountPropagation"); {
		case !isSet(propagation), propagation.Equals("HostToContainer"), propagation.Equals("None"):
		case !propagation.Equals("Bidirectional"):
			c.notSupportedAt(member(mounts, "mountPropagation"), propagation, "Bidirectional", "HostToContainer", "None")
		case !privileged:
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
		volume, ok := volumes[name.Text()]
		switch {
		case ok && !isBlock(volume):
			c.invalid(name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		case !ok:
			c.notFound(name)
		}
		if !taken.add(name.Text()) {
			c.invalid(name, "must be unique")
		}
		if mounted.has(name.Text()) {
			c.invalid(name, "must not already exist in volumeMounts")
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
