package policy

import (
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The names that a SCSI initiator or target may have.
var (
	iscsiQualified = regexp.MustCompile(`^iqn\.[0-9]{4}-[0-9]{2}\.[[:alnum:].-]+(:[^,;*&$|\s]+)$`)
	iscsiEUI       = regexp.MustCompile(`^eui\.[[:alnum:]]{16}$`)
	iscsiNAA       = regexp.MustCompile(`^naa\.[[:alnum:]]{32}$`)
)

// sharedSource checks the sources that pods' volumes and persistent volumes both
// have.
func (c *causes) sharedSource(name string, v document.Value) {
	switch name {
	case "nfs":
		if isEmpty(v.Get("path")) { // and required, as the schema says
			c.invalidText(member(v, "path"), "", "must be an absolute path")
		}
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
	case "flexVolume":
		c.driverOptions(v.Get("options"))
	case "cinder", "storageos":
		if ref := v.Get("secretRef"); isSet(ref) && isEmpty(ref.Get("name")) {
			c.required(member(ref, "name"), "")
		}
	}
}

// driverOptions refuses options of flexible drivers that are the system's own.
func (c *causes) driverOptions(options document.Value) {
	for name := range options.Members() {
		domain, _, _ := strings.Cut(name, "/")
		if domain = "." + strings.ToLower(domain); strings.HasSuffix(domain, "."+labelDomain) || strings.HasSuffix(domain, "."+profile.GroupSuffix) {
			c.invalidText(key(options, name), name, "the namespaces of the system are reserved")
		}
	}
}

// csiDriver checks the name of a storage driver.
func (c *causes) csiDriver(v document.Value) {
	driver := v.Get("driver").Text()
	for _, problem := range document.CheckFormat("dns1123-subdomain", strings.ToLower(driver)) {
		c.invalidText(member(v, "driver"), driver, problem)
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
	case name == "" && target:
		return
	case strings.HasPrefix(name, "iqn"):
		ok = iscsiQualified.MatchString(name)
	case strings.HasPrefix(name, "eui"):
		ok = iscsiEUI.MatchString(name)
	case strings.HasPrefix(name, "naa"):
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
	}
	if strings.Contains(name.Text(), "/") {
		c.invalid(name, "must not contain '/'")
	}
}

// maxTenant is the limit of a Quobyte registry's or tenant's name, in bytes.
const maxTenant = 64

func (c *causes) quobyte(v document.Value) {
	registry, tenant := v.Get("registry"), v.Get("tenant")
	switch {
	case registry.Text() == "":
		return // required by the schema
	case len(tenant.Text()) > maxTenant:
		c.required(tenant.Path(), "must be a UUID of at most "+strconv.Itoa(maxTenant)+" bytes")
		return
	}
	for pair := range strings.SplitSeq(registry.Text(), ",") {
		if _, _, err := net.SplitHostPort(pair); err != nil {
			c.invalid(registry, "must be a host:port pair or multiple pairs separated by commas")
		}
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
	managed := v.Get("kind").Equals("Managed")
	switch {
	case managed && !strings.HasPrefix(text, "/subscriptions/"):
		c.notSupportedAt(member(v, "diskURI"), uri, azureManaged)
	case !managed && !strings.HasPrefix(text, "https://"):
		c.notSupportedAt(member(v, "diskURI"), uri, azureBlob)
	}
}
