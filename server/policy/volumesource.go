package policy

import (
	"net"
	"regexp"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// The names that a SCSI initiator or target may have.
var (
	iscsiQualified = regexp.MustCompile(`^iqn\.[0-9]{4}-[0-9]{2}\.[[:alnum:].-]+(:[^,;*&$|\s]+)$`)
	iscsiEUI       = regexp.MustCompile(`^eui\.[[:alnum:]]{16}$`)
	iscsiNAA       = regexp.MustCompile(`^naa\.[[:alnum:]]{32}$`)
)

// sharedSource checks the sources that pods' volumes and persistent volumes both
// have. of is the volume, or the spec of a persistent volume.
func (c *causes) sharedSource(of document.Value) {
	for name, v := range of.Members() {
		if v.Kind() != document.Object {
			continue
		}
		switch name {
		case "hostPath":
			c.noBacksteps(v.Get("path"))
		case "iscsi":
			c.iscsi(v)
		case "fc":
			c.fibreChannel(v)
		case "flocker":
			c.flocker(v)
		case "quobyte":
			c.quobyte(v)
		case "azureDisk":
			c.azureDisk(v)
		case "cinder":
			if ref := v.Get("secretRef"); isSet(ref) && isEmpty(ref.Get("name")) {
				c.required(member(ref, "name"), "")
			}
		}
	}
}

func (c *causes) iscsi(v document.Value) {
	c.iscsiName(v.Get("iqn"), true)
	if initiator := v.Get("initiatorName"); isSet(initiator) {
		c.iscsiName(initiator, false)
	}
	if (v.Get("chapAuthDiscovery").Bool() || v.Get("chapAuthSession").Bool()) && !isSet(v.Get("secretRef")) {
		c.required(member(v, "secretRef"), "")
	}
}

// iscsiName checks the name of a target, or of an initiator.
func (c *causes) iscsiName(v document.Value, target bool) {
	name, ok := v.Text(), false
	switch {
	case name == "":
		return
	case strings.HasPrefix(name, "iqn."):
		ok = iscsiQualified.MatchString(name)
	case strings.HasPrefix(name, "eui."):
		ok = iscsiEUI.MatchString(name)
	case strings.HasPrefix(name, "naa."):
		ok = iscsiNAA.MatchString(name)
	case target:
		c.invalid(v, "must be valid format starting with iqn, eui, or naa")
		return
	}
	if !ok {
		c.invalid(v, "must be valid format")
	}
}

func (c *causes) fibreChannel(v document.Value) {
	names, ids := v.Get("targetWWNs"), v.Get("wwids")
	switch {
	case isEmpty(names) && isEmpty(ids):
		c.required(member(v, "targetWWNs"), "must specify either targetWWNs or wwids, but not both")
	case !isEmpty(names) && !isEmpty(ids):
		c.invalid(names, "targetWWNs and wwids can not be specified simultaneously")
	}
	if !isEmpty(names) && !isSet(v.Get("lun")) {
		c.required(member(v, "lun"), "lun is required if targetWWNs is specified")
	}
}

func (c *causes) flocker(v document.Value) {
	name, id := v.Get("datasetName"), v.Get("datasetUUID")
	switch {
	case isEmpty(name) && isEmpty(id):
		c.required(v.Path(), "one of datasetName and datasetUUID is required")
	case !isEmpty(name) && !isEmpty(id):
		c.invalidText(v.Path(), "resource", "datasetName and datasetUUID can not be specified simultaneously")
	case strings.Contains(name.Text(), "/"):
		c.invalid(name, "must not contain '/'")
	}
}

// maxTenant is the limit of a Quobyte registry's or tenant's name, in bytes.
const maxTenant = 64

func (c *causes) quobyte(v document.Value) {
	registry, tenant := v.Get("registry"), v.Get("tenant")
	if text := registry.Text(); text != "" {
		ok := true
		for pair := range strings.SplitSeq(text, ",") {
			_, _, err := net.SplitHostPort(pair)
			ok = ok && err == nil
		}
		if !ok {
			c.invalid(registry, "must be a host:port pair or multiple pairs separated by commas")
		}
	}
	if len(tenant.Text()) > maxTenant {
		c.tooLong(tenant.Path(), maxTenant)
	}
}

// What the addresses of disks look like, managed ones and blobs.
const (
	azureManaged = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	azureBlob    = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
)

func (c *causes) azureDisk(v document.Value) {
	uri := v.Get("diskURI")
	text := uri.Text()
	if text == "" {
		return
	}
	managed := v.Get("kind").Equals("Managed")
	switch {
	case managed && !strings.HasPrefix(text, "/subscriptions/"):
		c.notSupported(uri, azureManaged)
	case !managed && !strings.HasPrefix(text, "https://"):
		c.notSupported(uri, azureBlob)
	}
}
